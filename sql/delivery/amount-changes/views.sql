drop view if exists delivery.amount_changes_list cascade;

-- Changes of amounts as they are shown.
create view delivery.amount_changes_list with (security_invoker = true) as
select c.id, c.tenant_id, c.delivery_id, c.old_cod_amount, c.new_cod_amount, c.currency, c.reason, c.kept_items, c.status,
  case when c.requested_by is not null then jsonb_build_object('id', c.requested_by, 'full_name', delivery.person_name(c.requested_by)) end
    as requested_by,
  c.requested_at,
  case when c.decided_by is not null then jsonb_build_object('id', c.decided_by, 'full_name', delivery.person_name(c.decided_by)) end as decided_by,
  c.decided_at, c.decline_reason
from delivery.amount_changes c;

grant select on delivery.amount_changes_list to barid_caller;
