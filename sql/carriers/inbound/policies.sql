select app.tenant_table('integration.carrier_events', own => '{}', writes => '', audit => false);
select app.append_only('integration.carrier_events');
