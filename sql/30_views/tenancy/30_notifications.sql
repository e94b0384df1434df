drop view if exists tenancy.notifications_list cascade;

-- What the caller was told: in the tenant he calls for, and as an administrator of the system.
create view tenancy.notifications_list with (security_invoker = true) as
select n.id, n.tenant_id, n.type, n.payload, n.created_at
from tenancy.notifications n
where n.user_id = (select app.user_id());

grant select on tenancy.notifications_list to barid_caller;
