-- A driver reaches their own rows. Both are written by every second message of an app, so the audit log keeps neither:
-- changes of duty are events.
select app.tenant_table('delivery.driver_presence', own => '{driver_id}', operations => 'insert, update', audit => false, write_condition => 'true');
select app.tenant_table('delivery.driver_positions', own => '{driver_id}', operations => 'insert', audit => false, write_condition => 'true');
