-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.board(input jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zone uuid := (input ->> 'zone_id')::uuid;
  v_sent_back uuid[];
  v_unassigned json;
  v_late json;
  v_searching bigint;
  v_failed bigint;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  if v_zone is not null and not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = v_zone) then
    perform app.fail('zone_not_found', '{"field": "zone_id"}');
  end if;
  v_sent_back := delivery.sent_back(v_tenant);
  -- Counted in the index alone; the few that go back are taken off, since their returns are counted or carried in their place.
  with waiting as not materialized (
    select d.id, d.pickup_zone_id, d.created_at from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and (v_zone is null or d.pickup_zone_id = v_zone)),
  back as materialized (select w.id, w.pickup_zone_id from waiting w where w.id = any (v_sent_back))
  select json_build_object('total', coalesce(sum(c.count), 0), 'by_zone', coalesce(json_agg(json_build_object('zone_id', c.pickup_zone_id,
      'name', z.name, 'count', c.count, 'oldest_at', c.oldest_at) order by c.count desc, c.pickup_zone_id), '[]')) into v_unassigned
  from (
    select w.pickup_zone_id, w.count - b.count as count, case when b.count = 0 then w.oldest_at else (
        select min(o.created_at) from waiting o
        where o.pickup_zone_id is not distinct from w.pickup_zone_id and o.id <> all (v_sent_back)) end as oldest_at
    from (select w.pickup_zone_id, count(*) as count, min(w.created_at) as oldest_at from waiting w group by w.pickup_zone_id) w
    cross join lateral (select count(*) as count from back where back.pickup_zone_id is not distinct from w.pickup_zone_id) b
    where w.count > b.count) c
  left join delivery.zones z on z.tenant_id = v_tenant and z.id = c.pickup_zone_id;

  -- Not materialized: counted in the index alone, and the first are read in its order.
  with late as not materialized (
    select * from delivery.deliveries d
    where d.tenant_id = v_tenant and least(d.promised_at, d.deliver_before) < now()
      and d.parent_id is null and d.status in ('pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
      and (d.promised_at is not null or d.deliver_before is not null)
      and (v_zone is null or v_zone in (d.pickup_zone_id, d.dropoff_zone_id)))
  select json_build_object('total', (select count(*) from late), 'deliveries', coalesce(json_agg(json_build_object('id', d.id,
      'delivery_code', d.delivery_code, 'status', d.status, 'promised_at', d.promised_at, 'deliver_before', d.deliver_before,
      'pickup_zone_id', d.pickup_zone_id, 'dropoff_zone_id', d.dropoff_zone_id, 'driver_id', (
        select a.driver_id from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id in (
          select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id union all select d.id)
          and a.status in ('pending', 'assigned', 'accepted') limit 1)) order by least(d.promised_at, d.deliver_before), d.id), '[]')) into v_late
  from (select * from late l order by least(l.promised_at, l.deliver_before), l.id limit 50) d;

  select count(*) filter (where s.status = 'searching'), count(*) filter (where s.status = 'failed') into v_searching, v_failed
  from delivery.driver_searches s
  where s.tenant_id = v_tenant and s.status in ('searching', 'failed') and (v_zone is null or exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.pickup_zone_id = v_zone));

  return json_build_object('as_of', now(), 'drivers', delivery.board_drivers(v_tenant, v_zone), 'unassigned', v_unassigned,
    'late', v_late, 'searching', v_searching, 'failed_to_assign', v_failed);
end $function$;

CREATE OR REPLACE FUNCTION delivery.sent_back(tenant uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(
    select d.id
    from (
      select r.original_delivery_id from delivery.deliveries r
      where r.tenant_id = tenant and r.delivery_flow = 'operational_return' and r.status not in ('delivered', 'cancelled')
      union
      select r.original_delivery_id from warehousing.receiving_orders n
      join delivery.deliveries r on r.tenant_id = n.tenant_id and r.id = n.delivery_id
      where n.tenant_id = tenant and n.status = 'pending' and r.delivery_flow = 'operational_return' and r.status = 'delivered') b
    join delivery.deliveries d on d.tenant_id = tenant and (d.id = b.original_delivery_id or d.parent_id = b.original_delivery_id));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."sent_back"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.account_of(kind text, owner_type text, owner uuid, currency text, carrier text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid;
begin
  for attempt in 1..2 loop
    -- Two statements, because `is not distinct from` opens no index: it would read the accounts of every driver.
    if owner is null then
      select a.id into v_id from money.accounts a
      where a.tenant_id = v_tenant and a.kind = kind and a.owner_type = owner_type and a.owner_user_id is null and a.currency = currency
        and a.carrier_code is not distinct from carrier;
    else
      select a.id into v_id from money.accounts a
      where a.tenant_id = v_tenant and a.kind = kind and a.owner_type = owner_type and a.owner_user_id = owner and a.currency = currency;
    end if;
    exit when v_id is not null;
    insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, carrier_code, currency, floor)
    -- Nobody can hand over cash that they do not hold, or pay more than they owe.
    values (v_tenant, kind, owner_type, owner, carrier, currency,
      case when kind in ('wallet', 'driver_cash', 'driver_shortage', 'carrier_cash', 'driver_payable') then 0 end)
    on conflict do nothing
    returning id into v_id;
    exit when v_id is not null;
  end loop;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_unsettle(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_short numeric;
  v_rows uuid[];
  s money.cod_settlements;
begin
  if not money.settles_for_office() then
    perform app.fail('forbidden');
  end if;
  -- Of two reversals the later one waits for the driver, and finds it done; and whoever settles all of their cash does so
  -- before this or after it.
  perform from delivery.drivers d
  where d.tenant_id = v_tenant and d.user_id = (select x.driver_id from money.cod_settlements x
    where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid) for no key update;
  select x.* into s from money.cod_settlements x
  where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid;
  if s.payment_id is null then
    perform app.fail('settlement_not_found');
  elsif s.actor_id <> app.user_id() and s.receiver_id is distinct from app.user_id() and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  elsif s.reversed_at is not null then
    perform app.fail('settlement_already_reversed');
  elsif s.historical then
    perform app.fail('settlement_not_reversible');
  end if;
  -- In the order of their ids, as whoever settles holds them.
  select array_agg(l.id) into v_rows from (
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id order by c.id for no key update) l;
  update money.cod_collections c set status = 'collected', remitted_at = null, settled_at = null, remitted_to_user_id = null,
    settlement_payment_id = null
  where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id;
  update money.cod_settlement_items i set reversed_at = now() where i.tenant_id = v_tenant and i.payment_id = s.payment_id;
  update money.cod_settlements x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.payment_id = s.payment_id
  returning * into s;
  update money.payments p set status = 'CANCELLED' where p.tenant_id = v_tenant and p.id = s.payment_id;
  v_short := money.handover_free(s);
  perform money.receipt_reissue(s.payment_id);
  perform money.cod_reversal_event_emit(s);
  if s.method = 'remit' then
    perform money.lock_returned_cash(money.desk_of(s.driver_id, s.receiver_id, s.currency::text),
      money.account_of('driver_cash', 'driver', s.driver_id, s.currency::text), s.total - s.shortage - v_short, s.currency::text);
  end if;
  perform money.reverse('cod_settlement', 'payment', s.payment_id, input ->> 'reason');
  if s.method = 'remit' then
    perform money.cod_holds_again('cod_collection', v_rows);
  end if;
  return s.payment_id;
end $function$;

CREATE OR REPLACE FUNCTION storefront.market_review(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_decision text := input ->> 'decision';
  v_asked text := coalesce(app.tenant_id()::text, '');
  v_market storefront.markets;
  v_before text;
begin
  select * into v_market from storefront.markets m where m.id = (input ->> 'market_id')::uuid for update;
  if v_market.id is null then
    perform app.fail('market_not_found');
  end if;
  if v_market.status <> 'pending_approval' and not v_market.needs_reapproval then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_market.status, 'to', v_decision));
  end if;
  v_before := v_market.publish_status;
  -- The reviewer belongs to no tenant; what they do here belongs to the market's: log, event, notices.
  perform set_config('app.tenant_id', v_market.tenant_id::text, true);
  update storefront.markets m set
    status = v_decision,
    publish_status = case when v_decision = 'rejected' then 'unpublished' when v_market.status = 'approved' then m.publish_status
      else 'published' end,
    needs_reapproval = false,
    approved_at = case when v_decision = 'approved' then now() end,
    approved_by = case when v_decision = 'approved' then app.user_id() end,
    admin_notes = case when input ? 'admin_notes' then input ->> 'admin_notes' else m.admin_notes end
  where m.tenant_id = v_market.tenant_id
  returning * into v_market;
  perform tenancy.notify_tenant_admins('market_' || v_decision,
    jsonb_build_object('market_id', v_market.id, 'admin_notes', v_market.admin_notes));
  perform storefront.market_event_emit(v_market, v_decision);
  perform storefront.market_published_event_emit(v_market, v_before);
  perform set_config('app.tenant_id', v_asked, true);
  return to_jsonb(v_market);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."sent_back"(uuid) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126145600';
end $$;

grant execute on function private.schema_version() to barid_api;
