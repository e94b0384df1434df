drop view if exists delivery.recipient_answers_list cascade;

-- Answers of recipients as they are shown. The driver of a leg sees the leg and not the parcel, whose code and status these are.
create view delivery.recipient_answers_list with (security_invoker = true) as
select r.id, r.tenant_id, r.delivery_id, p.delivery_code, p.status as delivery_status,
  r.wanted_day, r.note, r.latitude, r.longitude, r.answered_at, r.times
from delivery.recipient_answers r
left join lateral (
  select t.* from delivery.deliveries d cross join lateral delivery.parcel_terms(d) t
  where d.tenant_id = r.tenant_id and (d.id = r.delivery_id or d.parent_id = r.delivery_id) limit 1) p on true;

grant select on delivery.recipient_answers_list to barid_caller;
