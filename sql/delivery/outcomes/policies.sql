-- Outcomes are written by SECURITY DEFINER functions: a driver undoes one of a delivery that is no longer on the driver's list.
select app.tenant_table('delivery.outcomes', own => '{driver_id}', operations => '');
