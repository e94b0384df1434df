-- Seen by the office, which starts a search again; everything else is done by triggers and the search itself.
select app.tenant_table('delivery.driver_searches', own => '{}', operations => 'insert, update', audit => false);
select app.touched('delivery.driver_searches');
