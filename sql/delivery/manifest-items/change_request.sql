-- The request that gives orders of manifest items another destination.

-- {item_ids, destination_branch_id | destination_address_id, delivery_service_id?, dry_run?, orders_max, idempotency_key?}
-- With no more than orders_max items, or as a dry run, everything happens here and the answer is complete. Otherwise
-- {pending, destination, since, asker} tell the caller what to change in batches (delivery.manifest_orders_change) before
-- delivery.manifest_changes_outcome. A dry run remembers no key.
-- Fails: what delivery.manifest_place and delivery.require_manifest_service fail with, idempotency_conflict.
create or replace function delivery.manifest_change_destination(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_key text := case when not v_dry_run then input ->> 'idempotency_key' end;
  v_service uuid := (input ->> 'delivery_service_id')::uuid;
  v_destination jsonb;
  v_answer jsonb;
begin
  if v_key is not null then
    v_answer := private.idempotency_claim(app.request_setting('operation'), v_key,
      jsonb_strip_nulls(input - 'idempotency_key'), 'idempotency_conflict');
    if v_answer is not null then
      return jsonb_build_object('replayed', true, 'answer', v_answer);
    end if;
  end if;
  v_destination := delivery.manifest_place(input) || jsonb_build_object('service_id', v_service);
  if v_service is not null then
    perform delivery.require_manifest_service(v_service);
  end if;
  if not v_dry_run and jsonb_array_length(input -> 'item_ids') > (input ->> 'orders_max')::integer then
    return jsonb_build_object('pending', input -> 'item_ids', 'destination', v_destination,
      'since', coalesce(private.idempotency_since(app.request_setting('operation'), v_key), now()),
      'asker', jsonb_build_object('userId', app.user_id(), 'tenantId', app.tenant_id()));
  end if;
  return delivery.manifest_changes_outcome(jsonb_build_object('idempotency_key', v_key, 'item_ids', input -> 'item_ids')
    || delivery.manifest_orders_change(jsonb_build_object('item_ids', input -> 'item_ids', 'destination', v_destination, 'dry_run', v_dry_run)));
end $$;

-- The outcome of a request, in the order the items were sent.
-- {item_ids, changed: [{item_id, price_difference}], failures: [{item_id, code, params?}], since?, idempotency_key?}
-- -> {changed: [{item_id, delivery, price_difference}], failed: [{item_id, code, params}]}
-- Of an item whose batch got lost the history says whether the caller changed it since; else it is order_change_interrupted. One that was changed
-- by an earlier run of the same batch, whose answer got lost, goes there already: the history has what that cost.
create or replace function delivery.manifest_changes_outcome(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_key text := input ->> 'idempotency_key';
  v_since timestamptz := (input ->> 'since')::timestamptz;
  v_answer jsonb;
begin
  with said as materialized (
    select c.item_id, c.price_difference, null::text as code, null::jsonb as params
    from jsonb_to_recordset(input -> 'changed') c (item_id uuid, price_difference numeric)
    union all
    select f.item_id, null, f.code, f.params from jsonb_to_recordset(input -> 'failures') f (item_id uuid, code text, params jsonb)
  ), asked as (
    select a.place, a.id, coalesce(nullif(s.price_difference, 0), e.price_difference, s.price_difference) as price_difference, s.params,
      case when s.item_id is null and e.price_difference is null then 'order_change_interrupted' else s.code end as code,
      d.id as delivery_id, d.delivery_code, d.status
    from unnest(app.uuids(input -> 'item_ids')) with ordinality a (id, place)
    left join said s on s.item_id = a.id
    left join lateral (
      select (h.payload ->> 'price_difference')::numeric as price_difference from delivery.transfer_manifest_events h
      where s.code is null and h.tenant_id = app.tenant_id() and h.manifest_item_id = a.id and h.event_type = 'destination_changed'
        and h.created_at >= v_since and h.actor_id is not distinct from app.user_id()
      order by h.id desc limit 1) e on true
    left join delivery.transfer_manifest_items i on i.id = a.id
    left join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
  )
  select jsonb_build_object(
    'changed', coalesce(jsonb_agg(jsonb_build_object('item_id', a.id, 'price_difference', a.price_difference,
      'delivery', jsonb_build_object('id', a.delivery_id, 'delivery_code', a.delivery_code, 'status', a.status)) order by a.place)
      filter (where a.code is null), '[]'),
    'failed', coalesce(jsonb_agg(jsonb_build_object('item_id', a.id, 'code', a.code, 'params', a.params) order by a.place)
      filter (where a.code is not null), '[]'))
  into v_answer from asked a;
  -- As in delivery.manifest_orders_outcome: what is not whole, or nothing, is not remembered.
  if v_key is not null and v_answer -> 'changed' = '[]' then
    perform private.idempotency_forget(app.request_setting('operation'), v_key);
  elsif v_key is not null and not v_answer -> 'failed' @> '[{"code": "order_change_interrupted"}]' then
    v_answer := private.idempotency_store(app.request_setting('operation'), v_key, v_answer);
  end if;
  return jsonb_build_object('answer', v_answer);
end $$;
