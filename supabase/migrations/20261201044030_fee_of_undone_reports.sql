-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.amount_at_door(p delivery.deliveries, input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_changes delivery.amount_changes[];
  v_kept jsonb;
  v_id uuid;
begin
  perform app.require_tenant(p.tenant_id);
  -- Its amount is as it was ordered, as that of most parcels; what a carrier reports is for the amount that it was booked with.
  if p.ordered_cod_amount is null or input ->> 'occurred_at' is null or delivery.shipment_lives(p.id) then
    return null;
  end if;
  v_changes := array(select c from delivery.amount_changes_unheard(p.id, app.instant(input ->> 'occurred_at'), app.user_id()) c);
  v_kept := (delivery.amount_agreed(p.id, v_changes[1].decided_at)).kept_items;
  if v_changes = '{}' or (input #>> '{cash_collected,cod}')::numeric = p.cod_amount
      or v_changes[1].old_cod_amount = p.cod_amount and v_kept is not distinct from delivery.kept_items_agreed(p.id) then
    return null;
  end if;
  v_id := delivery.amount_put_back(p, v_changes[1], 'as_at_door', true);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p.tenant_id, c.decided_by, 'amount_change_late', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
    'amount_change_id', v_id, 'amount', v_changes[1].old_cod_amount, 'currency', p.currency)
  from (select distinct x.decided_by from unnest(v_changes) x where x.decided_by is distinct from app.user_id()) c
  -- Administrators of the system change amounts where they are no members.
  join tenancy.tenant_users u on u.tenant_id = p.tenant_id and u.user_id = c.decided_by;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_put_back(p delivery.deliveries, c delivery.amount_changes, p_reason text, at_door boolean)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  if c.old_delivery_fee > 0 and not storefront.order_fee_back(p, at_door) then
    c.old_cod_amount := greatest(c.old_cod_amount - c.old_delivery_fee, 0);
    c.old_delivery_fee := 0;
  elsif not at_door and c.old_delivery_fee = 0 and p.delivery_fee > 0 and storefront.order_fee_back(p, at_door) then
    -- The report that is undone took the fee off the others: without it here nobody would collect it.
    c.old_cod_amount := c.old_cod_amount + p.delivery_fee;
    c.old_delivery_fee := p.delivery_fee;
  end if;
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at, by_report, old_delivery_fee, new_delivery_fee)
  values (p.tenant_id, p.id, p.cod_amount, c.old_cod_amount, p.currency, p_reason, (delivery.amount_agreed(p.id, c.decided_at)).kept_items, 'approved',
    app.user_id(), app.user_id(), clock_timestamp(), true, case when c.old_delivery_fee is not null then p.delivery_fee end, c.old_delivery_fee)
  returning id into v_id;
  perform delivery.amount_change_apply(v_id);
  return v_id;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."amount_put_back"(delivery.deliveries, delivery.amount_changes, text, boolean) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.kept_amount_undo(parcel uuid, o delivery.outcomes, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  c delivery.amount_changes;
begin
  select * into c from delivery.amount_changes x
  where x.tenant_id = app.tenant_id() and x.delivery_id = kept_amount_undo.parcel and x.status = 'approved'
    -- Outcomes that do not name their change are older than the naming: it is the first one since.
    and case when o.before ? 'amount_change_id' then x.id = (o.before ->> 'amount_change_id')::uuid else x.decided_at >= o.created_at end
  order by x.decided_at limit 1;
  if found then
    select * into strict p from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = kept_amount_undo.parcel;
    perform delivery.amount_put_back(p, c, p_reason, false);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."amount_put_back"(delivery.deliveries, delivery.amount_changes, text, boolean) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201044030';
end $$;

grant execute on function private.schema_version() to barid_api;
