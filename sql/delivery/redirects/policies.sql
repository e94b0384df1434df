-- Written and read by SECURITY DEFINER functions: a driver who puts a redirect back neither redirects nor sees who did.
select app.tenant_table('delivery.redirects', own => '{}', operations => '');
