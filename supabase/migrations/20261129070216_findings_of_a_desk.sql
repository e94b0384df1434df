-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.driver_presence in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "delivery"."driver_presence" ADD COLUMN "on_duty_since" timestamp with time zone;

CREATE OR REPLACE FUNCTION delivery.duty_change(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_driver uuid := coalesce((input ->> 'driver_id')::uuid, case when app.has_role('driver') then app.user_id() end);
  v_on boolean := (input ->> 'on_duty')::boolean;
  v_codes bigint[];
  v_status text;
  v_was boolean;
begin
  if v_driver is null or (v_driver <> app.user_id() and not app.has_permission('manage:operations:tenant')) then
    perform app.fail('forbidden');
  end if;
  select d.status into v_status from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = v_driver for share;
  if not found then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  if v_on and v_status <> 'active' then
    perform app.fail('driver_inactive');
  end if;
  if not v_on and not coalesce((input ->> 'keep_parcels')::boolean, false) then
    v_codes := delivery.parcels_in_hand(v_driver);
    if cardinality(v_codes) > 0 then
      perform app.fail('driver_has_parcels', jsonb_build_object('delivery_codes', to_jsonb(v_codes)));
    end if;
  end if;
  insert into delivery.driver_presence (tenant_id, driver_id) values (app.tenant_id(), v_driver) on conflict do nothing;
  select s.on_duty into v_was from delivery.driver_presence s where s.tenant_id = app.tenant_id() and s.driver_id = v_driver for no key update;
  update delivery.driver_presence s set on_duty = v_on,
    duty_changed_at = case when v_was = v_on then s.duty_changed_at else now() end,
    on_duty_since = case when v_on and not v_was then now() else s.on_duty_since end,
    last_heartbeat_at = case when v_driver = app.user_id() then now() else s.last_heartbeat_at end
  where s.tenant_id = app.tenant_id() and s.driver_id = v_driver;
  if v_was <> v_on then
    perform delivery.duty_announce(v_driver, v_on);
  end if;
  return jsonb_build_object('driver', delivery.driver_to_json(v_driver));
end $function$;

CREATE OR REPLACE FUNCTION delivery.positions_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_from timestamptz := app.day_start(input ->> 'from');
  -- The last microsecond that is asked for.
  v_to timestamptz := coalesce(app.day_end(input ->> 'to') - interval '1 microsecond',
    case when length(input ->> 'from') = 10 then app.day_end(input ->> 'from') - interval '1 microsecond' else v_from + interval '24 hours' end, now());
  v_zone text := app.timezone();
begin
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver) then
    perform app.fail('driver_not_found');
  end if;
  v_from := coalesce(v_from, case when length(input ->> 'to') = 10 then app.day_start(input ->> 'to') else v_to - interval '24 hours' end);
  if v_to < v_from or least(v_to - v_from, (v_to at time zone v_zone) - (v_from at time zone v_zone)) > interval '24 hours' then
    perform app.fail('invalid_date_range', '{"field": "to"}');
  end if;
  return jsonb_build_object(
    'rows', (select coalesce(jsonb_agg(to_jsonb(p) order by p.recorded_at), '[]') from (
      select x.recorded_at, x.latitude, x.longitude, x.accuracy_m, x.speed_kmh, x.heading, x.battery_percent, x.received_at
      from delivery.driver_positions x
      where x.tenant_id = v_tenant and x.driver_id = v_driver and x.recorded_at between v_from and v_to
      order by x.recorded_at limit (input ->> 'limit')::bigint offset (input ->> 'offset')::bigint) p),
    'total', (select count(*) from delivery.driver_positions x
      where x.tenant_id = v_tenant and x.driver_id = v_driver and x.recorded_at between v_from and v_to));
end $function$;

CREATE OR REPLACE FUNCTION delivery.positions_record(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := app.user_id();
  v_from timestamptz;
  v_until timestamptz;
  v_accepted integer := 0;
begin
  update delivery.driver_presence s set last_heartbeat_at = case when s.on_duty then now() else s.last_heartbeat_at end
  where s.tenant_id = v_tenant and s.driver_id = v_driver
  returning case when s.on_duty then s.duty_changed_at - interval '2 minutes' else s.on_duty_since end,
    case when s.on_duty then now() + interval '2 minutes' else s.duty_changed_at end into v_from, v_until;
  if v_from is not null then
    with kept as (
      insert into delivery.driver_positions as x (tenant_id, driver_id, recorded_at, latitude, longitude, accuracy_m, speed_kmh, heading, battery_percent)
      select v_tenant, v_driver, p.recorded_at, p.latitude, p.longitude, p.accuracy_m, p.speed_kmh, p.heading, p.battery_percent
      from jsonb_to_recordset(input -> 'positions') p (recorded_at timestamptz, latitude double precision, longitude double precision,
        accuracy_m double precision, speed_kmh double precision, heading double precision, battery_percent double precision)
      where p.recorded_at between greatest(v_from, now() - interval '24 hours') and v_until
      on conflict do nothing
      returning x.recorded_at, x.latitude, x.longitude, x.accuracy_m
    ), latest as (
      update delivery.driver_presence s set recorded_at = k.recorded_at, latitude = k.latitude, longitude = k.longitude, accuracy_m = k.accuracy_m,
        moved_at = clock_timestamp()
      from (select * from kept order by recorded_at desc limit 1) k
      where s.tenant_id = v_tenant and s.driver_id = v_driver and (s.recorded_at is null or s.recorded_at < k.recorded_at)
    )
    select count(*) into v_accepted from kept;
  end if;
  return jsonb_build_object('accepted', v_accepted, 'ignored', jsonb_array_length(input -> 'positions') - v_accepted,
    'next_in_seconds', coalesce((app.settings('general', 'user_settings') ->> 'heartbeat_interval_seconds')::integer, 30));
end $function$;

CREATE OR REPLACE FUNCTION money.cod_settle(method text, scope text, collection_ids uuid[], driver_id text, receiver_id uuid, notes text, reference text, fingerprint bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key text := app.request_setting('idempotency_key');
  v_rows money.cod_collections[];
  v_driver uuid;
  v_receiver uuid;
  v_currency text;
  v_wallet uuid;
  v_total numeric;
  v_fees numeric;
  v_mixed boolean;
  v_ids uuid[];
  v_payment uuid := gen_random_uuid();
  v_settlement money.cod_settlements;
  v_items money.cod_settlement_items[];
  v_receipt text;
  v_open money.cash_handovers[];
  v_handover money.cash_handovers;
  v_short numeric := 0;
  v_borne text;
begin
  if v_key is not null then
    select s.* into v_settlement from money.cod_settlements s
    where s.tenant_id = v_tenant and s.actor_id = v_actor and s.idempotency_key = v_key;
    if found then
      if v_settlement.input_hash <> fingerprint then
        perform app.fail('settlement_idempotency_conflict');
      end if;
      return money.cod_settlement_to_json(v_settlement, money.cod_items_of(v_settlement), (
        select r.status from money.settlement_receipts r where r.tenant_id = v_tenant and r.payment_id = v_settlement.payment_id));
    end if;
  end if;

  v_rows := money.lock_cod_collections(scope, collection_ids, driver_id);
  v_driver := v_rows[1].driver_id;
  v_currency := v_rows[1].currency;
  select sum(r.amount), sum(r.delivery_fee_amount), min(r.currency) <> max(r.currency), array_agg(r.id)
  into v_total, v_fees, v_mixed, v_ids from unnest(v_rows) r;
  if method = 'remit' then
    v_receiver := money.cod_receiver(receiver_id);
    -- Also people of the office who took it as a driver name somebody else.
    if v_receiver = v_driver and app.settings('delivery', 'cod') ->> 'driver_self_remit' = 'require_receiver' then
      perform app.fail('receiver_required', '{"field": "remitted_to_user_id"}');
    end if;
  end if;
  if v_mixed or (method = 'remit' and v_currency <> (app.currency()).code) then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_currency));
  end if;
  v_open := money.lock_open_handovers(v_driver, v_currency);
  if method = 'wallet' then
    v_wallet := money.cod_wallet(v_driver, v_currency);
  else
    v_handover := money.handover_of(v_driver, v_open, v_total, v_currency);
    if v_handover.status = 'resolved' and v_handover.resolution in ('driver_owes', 'written_off') and not money.shortage_is_booked(v_handover) then
      v_borne := v_handover.resolution;
    end if;
    v_short := case when v_handover.status = 'discrepancy' or v_borne is not null then v_handover.declared_amount - v_handover.counted_amount else 0 end;
  end if;

  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, reference,
    actor_id, processed_at, snapshot)
  values (v_payment, v_tenant, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', case method when 'remit' then 'cash' else 'wallet' end, v_total,
    v_currency, v_wallet, cod_settle.reference, v_actor, now(),
    money.cod_snapshot(v_rows, method, scope, reference, notes, v_receiver)
    || case when v_short > 0 then jsonb_build_object('counted', v_total - v_short, 'shortage', v_short) else '{}' end);
  insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
    fee_total, collections, shortage, shortage_handover_id, notes, reference, idempotency_key, input_hash)
  values (v_payment, v_tenant, method, scope, v_driver, v_actor, v_receiver, v_currency,
    v_total, v_total - v_fees, v_fees, cardinality(v_rows), v_short, case when v_short > 0 then v_handover.id end, notes, reference, v_key, fingerprint)
  returning * into v_settlement;
  v_items := money.cod_items_record(v_payment, v_rows);
  update money.cod_collections c set
    status = case method when 'remit' then 'remitted' else 'settled_by_wallet' end,
    remitted_at = case method when 'remit' then now() end,
    settled_at = case method when 'wallet' then now() end,
    remitted_to_user_id = v_receiver,
    settlement_payment_id = v_payment, notes = coalesce(cod_settle.notes, c.notes),
    reference = coalesce(cod_settle.reference, c.reference)
  where c.tenant_id = v_tenant and c.id = any (v_ids);
  perform money.handovers_settle(v_settlement, v_handover, v_open);
  v_receipt := money.receipt_request(v_settlement, v_items);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.created', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', v_payment, 'event_data', jsonb_build_object('settlement_payment_id', v_payment,
      'method', method, 'driver_id', v_driver, 'receiver_id', v_receiver, 'currency', v_currency, 'total', v_total,
      'shortage', v_short, 'collections', cardinality(v_rows), 'actor_id', v_actor))));
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  perform money.cod_book(v_settlement, v_wallet, v_borne);
  return money.cod_settlement_to_json(v_settlement, v_items, v_receipt);
end $function$;

CREATE OR REPLACE FUNCTION money.handover_of(driver uuid, open money.cash_handovers[], total numeric, p_currency text)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_required boolean := app.boolean_or(app.settings('delivery', 'cod') -> 'require_handover', false);
  v_row money.cash_handovers;
begin
  -- Most remittances have none.
  if open <> '{}' then
    select h.* into v_row from unnest(open) h
    where h.declared_amount = total
      and (h.status in ('counted', 'resolved') or not v_required and (h.status = 'discrepancy' or money.settles_for_office()))
    order by h.status = 'declared', h.status = 'discrepancy', h.created_at limit 1;
  end if;
  if v_row.id is null and v_required then
    perform app.fail('cash_handover_required', jsonb_build_object('amount', total, 'currency', p_currency) || case when exists (
        select from money.cash_handovers h
        where h.tenant_id = app.tenant_id() and h.driver_id = driver and h.currency = p_currency and h.declared_amount = total and h.status = 'discrepancy')
      then '{"text_key": "reason_handover_differs"}' else '{}' end::jsonb);
  end if;
  return v_row;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_make(p_wallet uuid, p_until timestamp with time zone, p_cycle_day date DEFAULT NULL::date)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_wallet money.accounts;
  v_marks money.merchant_accounts;
  v_rule record;
  v_lines money.merchant_statement_lines[];
  v_unsettled bigint[];
  v_pending bigint[];
  v_looked_to bigint;
  v_kept numeric;
  v_net numeric;
  v_cod boolean;
  v_id uuid := gen_random_uuid();
  v_number bigint;
  v_now timestamptz;
  s money.merchant_statements;
begin
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = p_wallet for no key update;
  if exists (select from money.merchant_statements o where o.tenant_id = v_tenant and o.account_id = p_wallet and o.cycle_day = p_cycle_day) then
    return null;
  end if;
  select m.* into v_marks from money.merchant_accounts m where m.tenant_id = v_tenant and m.account_id = p_wallet;
  v_rule := money.statement_rule_for(v_wallet.owner_user_id, v_wallet.currency::text);
  v_kept := money.kept_of(v_tenant, p_wallet);
  -- One query, so that holds, movements and what is pending are those of one moment.
  with moved as materialized (
    select * from money.statement_movements(v_tenant, p_wallet, coalesce(v_marks.looked_to, 0), p_until)
  ), line as (
    select m.movement, case when m.stated then 'adjustment' else m.kind end as kind, m.amount, m.delivery_id, m.happened_at, m.released_at, m.kind as origin
    from moved m where m.amount <> 0
    union all
    select null, 'adjustment', k.amount, null, now(), now(), null from (values (v_kept), (-v_rule.keep)) k (amount) where k.amount <> 0
  )
  select
    (select array_agg(row(v_tenant, null, l.position, p_wallet, l.movement, l.kind, l.amount, l.delivery_id, d.delivery_code, d.external_reference_id,
          l.happened_at, l.released_at)::money.merchant_statement_lines)
      from (select x.*, row_number() over (order by x.movement is null, x.happened_at, x.movement, x.amount desc) as position from line x) l
      left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = l.delivery_id),
    (select sum(l.amount) from line l),
    (select bool_or(l.origin = 'cod') from line l),
    (select array_agg(p.id) from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = p_wallet),
    (select min(m.movement) - 1 from moved m where not m.early and m.movement > coalesce(v_marks.looked_to, 0)),
    (select array_agg(m.movement) from moved m where not m.settled)
  into v_lines, v_net, v_cod, v_pending, v_looked_to, v_unsettled;
  -- Its lines may be later than its own transaction, which waited for the wallet: the statement is never older than they are.
  v_now := clock_timestamp();
  if coalesce(v_net, 0) <= 0 or v_net < v_rule.minimum or p_cycle_day is not null and v_cod is not true then
    return null;
  end if;
  v_looked_to := coalesce(v_looked_to, v_wallet.version);
  v_number := money.statement_number_next();
  insert into money.merchant_statements (id, tenant_id, number, account_id, owner_user_id, currency, opened_at, opened_by, period_from, period_to,
    gross_cod, fees, refunds, adjustments, net, lines, cycle_day, hash)
  select v_id, v_tenant, v_number, p_wallet, v_wallet.owner_user_id, v_wallet.currency, v_now, app.user_id(),
    least(coalesce((select max(x.period_to) from money.merchant_statements x where x.tenant_id = v_tenant and x.account_id = p_wallet and x.status <> 'void'),
      v_marks.opened_at, v_wallet.created_at), least(p_until, v_now)), least(p_until, v_now),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), v_net, count(*), p_cycle_day,
    money.statement_hash(v_id, v_tenant, v_number, v_wallet.owner_user_id, v_wallet.currency::text, v_net, v_lines)
  from unnest(v_lines) l
  returning * into s;
  insert into money.merchant_statement_lines (tenant_id, statement_id, position, account_id, movement, kind, amount, delivery_id, delivery_code,
    external_reference_id, collected_at, released_at)
  select l.tenant_id, s.id, l.position, l.account_id, l.movement, l.kind, l.amount, l.delivery_id, l.delivery_code, l.external_reference_id, l.collected_at,
    l.released_at
  from unnest(v_lines) l;
  delete from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = p_wallet and p.id = any (v_pending);
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select v_tenant, p_wallet, u.movement from unnest(v_unsettled) u (movement) where u.movement <= v_looked_to;
  insert into money.merchant_accounts (tenant_id, account_id, looked_to) values (v_tenant, p_wallet, v_looked_to)
  on conflict (tenant_id, account_id) do update set looked_to = excluded.looked_to;
  perform money.statement_event_emit('merchant_statement.opened', s);
  return s.id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_open_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_owner uuid := (input ->> 'owner_user_id')::uuid;
  v_currency text := coalesce(input ->> 'currency', (app.currency()).code);
  v_wallets uuid[] := money.merchant_wallets(v_owner, v_currency);
  v_wallet uuid;
  v_id uuid;
begin
  if v_wallets = '{}' and not exists (select from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = v_owner
      and u.tenant_user_type in ('customer', 'institution')) then
    perform app.fail('merchant_not_found', '{"field": "owner_user_id"}');
  end if;
  perform from money.accounts a where a.tenant_id = app.tenant_id() and a.id = any (v_wallets) order by a.id for no key update;
  foreach v_wallet in array v_wallets loop
    v_id := money.statement_make(v_wallet, coalesce(app.day_end(input ->> 'date_to'), 'infinity'));
    exit when v_id is not null;
  end loop;
  if v_id is null then
    perform app.fail('statement_below_minimum', jsonb_build_object('minimum', (money.statement_rule_for(v_owner, v_currency)).minimum, 'currency', v_currency));
  end if;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_rule_for(owner uuid, currency text, OUT minimum numeric, OUT keep numeric)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  select r.minimum, r.keep into minimum, keep from money.statement_rule(statement_rule_for.currency) r;
  if not exists (select from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = statement_rule_for.owner
      and u.is_active and u.left_at is null) then
    minimum := 0;
    keep := 0;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.memberships_of_caller()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
        'tenant_id', t.id, 'slug', t.slug, 'name', t.name, 'tenant_user_type', u.tenant_user_type,
        'roles', g.roles, 'permissions', g.permissions, 'status', t.status, 'subscription_status', t.subscription_status,
        'effective_active', app.is_effective(t), 'effective_until', t.effective_until)
      order by u.created_at, t.id), '[]')
    from tenancy.tenant_users u
    join tenancy.tenants t on t.id = u.tenant_id
    cross join lateral (
      select coalesce(jsonb_agg(distinct r.role_key order by r.role_key), '[]') as roles,
        coalesce(jsonb_agg(distinct p.permission_key order by p.permission_key) filter (where p.permission_key is not null), '[]') as permissions
      from tenancy.tenant_user_roles r
      left join tenancy.role_permissions p on p.role_key = r.role_key
      where r.tenant_id = u.tenant_id and r.user_id = u.user_id) g
    where u.user_id = app.user_id() and u.is_active);
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
      ('cash_in_hand', warehousing.money_left(new.tenant_id, new.user_id, 'driver_cash')),
      ('cash_on_desk', warehousing.money_left(new.tenant_id, new.user_id, 'cash_on_hand')),
      ('pay', warehousing.money_left(new.tenant_id, new.user_id, 'driver_payable')),
      ('wallet', warehousing.money_left(new.tenant_id, new.user_id, 'wallet')),
      ('open_parcels', (select to_jsonb(nullif(count(*), 0)) from delivery.deliveries d
        where d.tenant_id = new.tenant_id and new.user_id in (d.customer_id, d.institution_user_id) and d.parent_id is null
          and d.status not in ('draft', 'delivered', 'returned', 'cancelled'))),
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

REVOKE ALL ON FUNCTION "money"."handover_of"(uuid, money.cash_handovers[], numeric, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."handover_of"(uuid, money.cash_handovers[], numeric, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_rule_for"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_rule_for"(uuid, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129070216';
end $$;

grant execute on function private.schema_version() to barid_api;
