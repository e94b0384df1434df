-- The parcels in notifications, which their readers may not be able to read any more.

-- The numbers of deliveries for a notification, the first twenty: {delivery_codes, and of one: delivery_id, delivery_code}.
create or replace function delivery.codes_noted(tenant uuid, delivery_ids uuid[]) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_codes jsonb := coalesce((
    select jsonb_agg(c.delivery_code order by c.delivery_code) from (
      select d.delivery_code from delivery.deliveries d where d.tenant_id = tenant and d.id = any (codes_noted.delivery_ids)
      order by d.delivery_code limit 20) c), '[]');
begin
  return jsonb_build_object('delivery_codes', v_codes) || case when cardinality(delivery_ids) = 1
    then jsonb_build_object('delivery_id', delivery_ids[1], 'delivery_code', v_codes -> 0) else '{}' end;
end $$;

-- The notification that an assignment was withdrawn: {assignment_id, delivery_id, delivery_code, delivery_codes, reason?}; the reason is the
-- words of the office, or redirected, driver_inactive, driver_off_duty, unanswered.
create or replace function delivery.return_noted(tenant uuid, assignment uuid, delivery uuid, reason text) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return delivery.codes_noted(tenant, array[delivery]) || jsonb_strip_nulls(jsonb_build_object('assignment_id', assignment, 'reason', reason));
end $$;
