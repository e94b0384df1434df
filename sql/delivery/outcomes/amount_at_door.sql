-- The amount that a receiver was asked for, of a report that comes after it was changed.

-- The approved changes of a parcel's amount since a moment, the oldest first, unless this driver requested one of them: then they know what holds
-- now. What their reports and undos wrote themselves is no request.
create or replace function delivery.amount_changes_unheard(parcel uuid, since timestamptz, reporter uuid) returns setof delivery.amount_changes
language plpgsql stable set search_path = '' as $$
begin
  return query
  select c.* from delivery.amount_changes c
  where c.tenant_id = app.tenant_id() and c.delivery_id = parcel and c.status = 'approved' and c.decided_at > since
    and not exists (select from delivery.amount_changes x
      where x.tenant_id = c.tenant_id and x.delivery_id = parcel and x.status = 'approved' and x.decided_at > since and x.requested_by = reporter
        and not x.by_report)
  order by c.decided_at, c.id;
end $$;

-- Puts back into force what a parcel p owed when it was handed over, and what that was for, where it was changed after the time that the report
-- came with, by one more approved change; those who changed it are notified. Cash of today's amount says that the driver had heard of it. The fee
-- of a store's order that was moved to it since is collected by nobody then.
-- {occurred_at?, cash_collected?} -> the id of the change; null: what holds now counts. The family is locked. SECURITY DEFINER: a driver writes no
-- amounts, and does not see the parcel of a leg. Fails: forbidden (app.require_tenant).
create or replace function delivery.amount_at_door(p delivery.deliveries, input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
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
end $$;
