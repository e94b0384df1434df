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
  v_id := delivery.amount_write(p, v_changes[1].old_cod_amount, v_kept, 'as_at_door');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p.tenant_id, c.decided_by, 'amount_change_late', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
    'amount_change_id', v_id, 'amount', v_changes[1].old_cod_amount, 'currency', p.currency)
  from (select distinct x.decided_by from unnest(v_changes) x where x.decided_by is distinct from app.user_id()) c
  -- Administrators of the system change amounts where they are no members.
  join tenancy.tenant_users u on u.tenant_id = p.tenant_id and u.user_id = c.decided_by;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirects_late(p delivery.deliveries, redirects delivery.redirects[], type text, amount numeric)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p.tenant_id, r.redirected_by, redirects_late.type, jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
    'amount', redirects_late.amount, 'currency', p.currency)
  from (
    select distinct x.redirected_by from unnest(redirects) x
    where x.late_at is null and x.redirected_by is distinct from app.user_id()) r
  -- Administrators of the system redirect where they are no members.
  join tenancy.tenant_users u on u.tenant_id = p.tenant_id and u.user_id = r.redirected_by;
end $function$;

CREATE OR REPLACE FUNCTION money.handover_end(h money.cash_handovers, settlement uuid, p_notes text)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers;
begin
  if money.shortage_is_booked(h) then
    perform money.reverse('cash_shortage', 'cash_handover', h.id, 'Shortage of a cash handover');
  end if;
  update money.cash_handovers x set status = 'cancelled', settlement_payment_id = settlement, notes = coalesce(p_notes, x.notes)
  where x.tenant_id = h.tenant_id and x.id = h.id
  returning * into v_row;
  perform money.handover_event_emit('cash_handover.cancelled', v_row);
  if v_row.counted_by <> app.user_id() then
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select u.tenant_id, u.user_id, 'cash_count_cancelled', jsonb_build_object('cash_handover_id', v_row.id,
      'driver_id', v_row.driver_id, 'amount', v_row.counted_amount, 'currency', v_row.currency)
    -- An administrator of the system counts where they are no member.
    from tenancy.tenant_users u where u.tenant_id = v_row.tenant_id and u.user_id = v_row.counted_by;
  end if;
  return v_row;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201025956';
end $$;

grant execute on function private.schema_version() to barid_api;
