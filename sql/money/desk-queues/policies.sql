-- Written with their journals by SECURITY DEFINER functions; seen by staff.
select app.tenant_table('money.desk_parts', own => '{}', operations => '', audit => false);
select app.tenant_table('money.desk_part_moves', own => '{}', operations => '', audit => false);
select app.append_only('money.desk_part_moves');
