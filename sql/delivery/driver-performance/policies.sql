-- Figures of drivers are made by delivery.performance_refresh() alone.
select app.tenant_table('delivery.performance_changes', own => '{}', writes => '', audit => false);

select app.tenant_table('delivery.performance_deliveries', own => '{}', writes => '', audit => false);
select app.tenant_table('delivery.driver_performance', own => '{}', writes => '', audit => false);
select app.tenant_table('delivery.performance_state', own => '{}', writes => '', audit => false);
