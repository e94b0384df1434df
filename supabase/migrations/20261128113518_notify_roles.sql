-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, OUT code text, OUT params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel_id uuid := delivery.parcel_of(d);
  v_brought_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  perform app.require_tenant(o.tenant_id);
  select x.code, x.params into code, params from (values
    -- A carrier's reports leave no outcome.
    (1, 'carrier_reports_outcome', d.carrier_type = 'external' and (o.id is not null or d.status in ('delivered', 'failed', 'returned')), '{}'),
    (2, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until)),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or on its way to another driver's, or was lost; or another one was ordered since,
    -- and is not cancelled, or was fetched before that.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.created_at >= o.created_at and (r.status <> 'cancelled' or r.created_at = o.created_at or r.picked_up_at is not null)
      and ((r.created_at, r.status) is distinct from (o.created_at, 'picked_up')
        or not exists (select from delivery.assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.id
          and a.status in ('assigned', 'accepted') and a.driver_id = o.driver_id))),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel_id))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- It gave something back, and its customer has ordered another return of that parcel.
    (9, 'outcome_went_on', d.status = 'delivered' and exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id
      and r.original_delivery_id = delivery.gave_back_of(d.id) and r.created_at >= o.created_at
      and (r.status <> 'cancelled' or r.picked_up_at is not null)), '{}'),
    -- Its fee was given back since.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at), '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION delivery.pickup_undo(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  c money.cod_collections := delivery.lock_pickup_cash(d);
  v_cash jsonb;
begin
  perform delivery.require_pickup_undoable(d, delivery.pickup_of(d.id), c);
  perform delivery.pickup_withdraw(d, input ->> 'reason');
  v_cash := money.cash_uncollected(v_parcel.id, c.collected_at, input ->> 'reason');
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.pickup_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, a.driver_id, 'pickup_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code)
  where a.driver_id <> app.user_id();
  if c.id is not null then
    perform money.handover_uncovered(c.driver_id, c.currency);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_disabled_event_emit(tenant_id uuid, subscription_id uuid, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(tenant_id);
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select s.tenant_id, 'webhook_subscription.disabled', 'webhooks', 'webhook_subscription', s.id,
    jsonb_build_object('subscription_id', s.id, 'reason', reason)
  from integration.webhook_subscriptions s
  where s.id = subscription_disabled_event_emit.subscription_id and s.tenant_id = subscription_disabled_event_emit.tenant_id and not s.is_active;
  perform tenancy.notify_roles(s.tenant_id, '{tenant_admin}', 'webhook_disabled',
    jsonb_build_object('subscription_id', s.id, 'url', s.url, 'reason', reason))
  from integration.webhook_subscriptions s
  where s.id = subscription_disabled_event_emit.subscription_id and s.tenant_id = subscription_disabled_event_emit.tenant_id and not s.is_active;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.notify_roles(tenant uuid, roles text[], type text, payload jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select u.tenant_id, u.user_id, notify_roles.type, notify_roles.payload
  from tenancy.tenant_users u
  where u.tenant_id = tenant and u.is_active and exists (
    select from tenancy.tenant_user_roles r where r.tenant_id = u.tenant_id and r.user_id = u.user_id and r.role_key = any (roles));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.notify_tenant_admins(type text, payload jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform tenancy.notify_roles(app.tenant_id(), '{tenant_admin}', notify_tenant_admins.type, notify_tenant_admins.payload);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.member_left()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_left jsonb;
begin
  if new.left_at is null and app.user_id() is not null then
    return null;
  end if;
  select coalesce(jsonb_object_agg(l.part, l.value), '{}') into v_left
  from (
    values ('parcels', to_jsonb(nullif(cardinality(delivery.parcels_in_hand(new.user_id)), 0))),
      ('cash_in_hand', warehousing.cash_left(new.tenant_id, new.user_id, 'driver_cash')),
      ('cash_on_desk', warehousing.cash_left(new.tenant_id, new.user_id, 'cash_on_hand')),
      ('picking_orders', (select to_jsonb(nullif(count(*), 0)) from warehousing.picking_orders o
        where o.tenant_id = new.tenant_id and o.assigned_to = new.user_id and o.status in ('pending', 'in_progress'))),
      ('manifests', (select to_jsonb(nullif(count(*), 0)) from delivery.transfer_manifests m
        where m.tenant_id = new.tenant_id and m.driver_id = new.user_id and m.status in ('draft', 'picked_up', 'in_transit'))),
      ('api_keys', to_jsonb(nullif(jsonb_array_length(tenancy.api_keys_stopped(new.user_id)), 0)))
  ) l (part, value)
  where l.value is not null;
  if v_left = '{}' and new.tenant_user_type not in ('staff', 'driver') then
    return null;
  end if;
  perform tenancy.notify_roles(new.tenant_id,
    case new.tenant_user_type when 'driver' then '{tenant_admin,operations_manager,dispatcher}' else '{tenant_admin,operations_manager}' end::text[],
    'member_left', jsonb_build_object('user_id', new.user_id, 'full_name', p.full_name, 'tenant_user_type', new.tenant_user_type) || v_left)
  from tenancy.profiles p where p.id = new.user_id;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."notify_roles"(uuid, text[], text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."notify_roles"(uuid, text[], text, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128113518';
end $$;

grant execute on function private.schema_version() to barid_api;
