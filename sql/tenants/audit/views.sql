drop view if exists tenancy.audit_list cascade;

-- The audit log of the tenant, row by row: entity_type is the table, before and after what changed of a row. Older lines
-- of subscriptions have the note of those who manage the system in them, which is theirs alone.
create view tenancy.audit_list with (security_invoker = true) as
select l.id, l.entity as entity_type, l.entity_id, l.action,
  case l.entity when 'tenancy.subscriptions' then l.before - 'note_internal' else l.before end as before,
  case l.entity when 'tenancy.subscriptions' then l.after - 'note_internal' else l.after end as after, l.operation, l.request_id, l.client_request_id,
  l.actor_id, (select p.full_name from tenancy.profiles p where p.id = l.actor_id) as actor_name,
  l.actor_key_id, (select k.name from tenancy.api_keys k where k.id = l.actor_key_id) as actor_key_name,
  l.created_at
from app.audit_log l;

grant select on tenancy.audit_list to barid_caller;
