drop view if exists tenancy.notifications_list cascade;

-- The caller's notifications, of the present tenant and of the platform: their own only, also for those who see
-- the whole tenant.
create view tenancy.notifications_list with (security_invoker = true) as
select n.id, n.tenant_id, n.type, n.payload, n.read_at, n.created_at
from tenancy.notifications n
where n.user_id = (select app.user_id());

grant select on tenancy.notifications_list to barid_caller;
