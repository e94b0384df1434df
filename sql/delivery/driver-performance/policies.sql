-- Figures of drivers are made by delivery.performance_refresh() alone.
select app.tenant_table('delivery.performance_changes', own => '{}', operations => '', audit => false);

select app.tenant_table('delivery.performance_deliveries', own => '{}', operations => '', audit => false);
select app.tenant_table('delivery.driver_performance', own => '{}', operations => '', audit => false);
select app.tenant_table('delivery.performance_state', own => '{}', operations => '', audit => false);
