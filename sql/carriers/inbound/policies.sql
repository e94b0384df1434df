select app.tenant_table('integration.carrier_events', own => '{}', operations => '', audit => false);
select app.append_only('integration.carrier_events');
