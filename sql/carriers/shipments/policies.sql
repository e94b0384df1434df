select app.tenant_table('integration.carrier_shipments', own => '{}', operations => 'insert, update', hidden => 'claim_token,claimed_at',
  write_condition => $$app.has_permission('manage:operations:tenant')$$);

-- A booking that came to nothing leaves nothing.
grant delete on integration.carrier_shipments to barid_caller;

select app.touched('integration.carrier_shipments');
