select app.tenant_table('money.carrier_collections', own => '{}', operations => '', audit => false);
select app.tenant_table('money.carrier_remittances', own => '{}', operations => '', audit => false);
select app.tenant_table('money.carrier_remittance_items', own => '{}', operations => '', audit => false);
select app.append_only('money.carrier_remittances', '{reversed_at,reversed_by,reversal_reason}');
select app.append_only('money.carrier_remittance_items');
select app.counted('carrier_collections', 'money.carrier_collections', '{carrier_code,status,currency,reversed_at}', 'amount');
