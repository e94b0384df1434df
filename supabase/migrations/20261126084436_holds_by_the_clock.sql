-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.cod_hold_end(row_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  h money.wallet_holds;
  v_now timestamptz;
begin
  select * into h from money.wallet_holds x
  where x.tenant_id = app.tenant_id() and x.reference_type = 'cod_collection' and x.reference_id = row_id order by x.step desc limit 1;
  v_now := greatest(now(), h.created_at);
  if not found or (h.amount < 0 and h.counts_from <= v_now) then
    return;
  end if;
  insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from, created_at)
  select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + n.step, n.sign * abs(h.amount), h.release,
    -- A release may not count before due_at.
    least(h.due_at, n.counts_from), n.counts_from, v_now
  from (values (1, 1, h.counts_from), (2, -1, v_now)) n (step, sign, counts_from)
  where h.amount < 0
  union all
  select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, least(h.due_at, v_now), v_now, v_now
  where h.amount > 0;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_holds_follow(tenant uuid, kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_again uuid[];
begin
  -- Of most cash nothing is held; an insert of no rows would still run every trigger of the table.
  if not exists (select from money.wallet_holds x
      where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery') then
    return;
  end if;
  with written as (
    insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from, created_at)
    select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, h.due_at,
      greatest(now(), h.counts_from, case when h.amount > 0 then h.due_at end), greatest(now(), h.created_at)
    from (
      select distinct on (x.reference_id) x.* from money.wallet_holds x
      where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery'
        -- Nothing is held any more of a row that is reversed (money.cod_hold_end).
        and not exists (select from money.cod_collections c
          where kind = 'cod_collection' and c.tenant_id = tenant and c.id = x.reference_id and c.reversed_at is not null)
      order by x.reference_id, x.step desc
    ) h
    left join money.cash_in(tenant, kind, ids) i (id) on i.id = h.reference_id
    where (h.amount > 0) = (i.id is not null)
    order by h.reference_id
    returning reference_id, amount
  )
  select array_agg(w.reference_id) into v_again from written w where w.amount > 0;
  -- COD that is held again may be on a statement already, so its movement is looked at again. What was held is still to be looked at.
  if v_again is not null then
    perform money.movements_pend(tenant, kind, v_again);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.held_of(tenant uuid, account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((select sum(t.amount) from app.tallies t where t.tenant_id = tenant and t.tally = 'wallet_holds' and t.dims = array[account::text]), 0)
    - coalesce((select sum(h.amount) from money.wallet_holds h
      where h.tenant_id = tenant and h.account_id = account and h.counts_from > h.created_at and h.counts_from > (select clock_timestamp())), 0);
end $function$;

CREATE OR REPLACE FUNCTION money.merchant_positions()
 RETURNS TABLE(account_id uuid, held numeric, waiting numeric, stated numeric, in_hand numeric, with_carriers numeric, at_desks numeric)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  if not app.sees_tenant() then
    return;
  end if;
  return query
  with kept as materialized (
    select t.dims[1]::uuid as account_id, t.dims[2] = 'carrier_collection' as carrier, t.dims[3] = 'on_bank' as bank, sum(t.amount) as amount
    from app.tallies t where t.tenant_id = v_tenant and t.tally = 'held_cash' group by 1, 2, 3 having sum(t.amount) <> 0
  ), outside as (
    -- Of what is released by the bank: the cash of drivers and carriers.
    select l.account_id, false as carrier, l.amount from money.cod_collections c
    cross join lateral (
      select h.account_id, h.amount, h.release from money.wallet_holds h
      where h.tenant_id = v_tenant and h.reference_type = 'cod_collection' and h.reference_id = c.id order by h.step desc limit 1) l
    where c.tenant_id = v_tenant and c.status = 'collected' and c.reversed_at is null and l.amount > 0 and l.release = 'on_bank'
      and (select bool_or(k.bank) from kept k)
    union all
    select l.account_id, true, l.amount from money.carrier_collections c
    cross join lateral (
      select h.account_id, h.amount, h.release from money.wallet_holds h
      where h.tenant_id = v_tenant and h.reference_type = 'carrier_collection' and h.reference_id = c.id order by h.step desc limit 1) l
    where c.tenant_id = v_tenant and c.status = 'owed' and l.amount > 0 and l.release = 'on_bank' and (select bool_or(k.bank) from kept k)
  ), part (account_id, held, waiting, stated, in_hand, with_carriers, at_desks) as (
    select k.account_id, k.amount, 0, 0, case when not k.bank and not k.carrier then k.amount else 0 end,
      case when not k.bank and k.carrier then k.amount else 0 end, case when k.bank then k.amount else 0 end
    from kept k
    union all
    select o.account_id, 0, 0, 0, case when not o.carrier then o.amount else 0 end, case when o.carrier then o.amount else 0 end, -o.amount from outside o
    union all
    select h.account_id, 0, -h.amount, 0, 0, 0, 0 from money.wallet_holds h
    where h.tenant_id = v_tenant and h.counts_from > h.created_at and h.counts_from > (select clock_timestamp())
    union all
    select s.account_id, 0, 0, s.net, 0, 0, 0 from money.merchant_statements s where s.tenant_id = v_tenant and s.status = 'open'
  )
  select p.account_id, sum(p.held), sum(p.waiting), sum(p.stated), sum(p.in_hand), sum(p.with_carriers), sum(p.at_desks)
  from part p group by p.account_id;
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
  v_rule := money.statement_rule(v_wallet.currency::text);
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

CREATE OR REPLACE FUNCTION money.statement_movements(p_tenant uuid, p_account uuid, p_looked_to bigint, p_until timestamp with time zone)
 RETURNS TABLE(movement bigint, kind text, amount numeric, stated boolean, settled boolean, early boolean, happened_at timestamp with time zone, released_at timestamp with time zone, delivery_id uuid)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with wanted as materialized (
    select e.version as movement from money.ledger_entries e where e.account_id = p_account and e.version > p_looked_to
    union
    select p.movement from money.merchant_pending p where p.tenant_id = p_tenant and p.account_id = p_account
  ), moved as (
    select w.movement, money.movement_kind(t.kind) as kind, e.amount as whole, e.created_at as happened_at, t.reference_type, t.reference_id,
      t.kind = 'cod_credit' as holdable
    from wanted w
    join money.ledger_entries e on e.account_id = p_account and e.version = w.movement
    join money.ledger_transactions t on t.tenant_id = p_tenant and t.id = e.transaction_id
    where money.movement_kind(t.kind) is not null
    union all
    select 0::bigint, 'adjustment', m.opening, m.opened_at, null, null, false
    from wanted w
    join money.merchant_accounts m on m.tenant_id = p_tenant and m.account_id = p_account
    where w.movement = 0
  ), said as materialized (
    select l.movement, sum(l.amount) as said
    from money.merchant_statement_lines l
    join money.merchant_statements o on o.tenant_id = l.tenant_id and o.id = l.statement_id and o.status <> 'void'
    where l.tenant_id = p_tenant and l.account_id = p_account and l.movement in (select w.movement from wanted w)
    group by l.movement
  )
  select m.movement, m.kind, case when m.happened_at < p_until then m.whole - h.held - coalesce(s.said, 0) else 0 end, s.movement is not null,
    m.happened_at < p_until and h.held = 0, m.happened_at < p_until, m.happened_at, greatest(m.happened_at, h.released_at),
    coalesce(p.delivery_id, c.delivery_id, r.delivery_id)
  from moved m
  cross join lateral (
    select coalesce(sum(x.amount), 0) as held, max(x.counts_from) filter (where x.amount < 0) as released_at
    from money.wallet_holds x
    where m.holdable and x.tenant_id = p_tenant and x.reference_type = m.reference_type and x.reference_id = m.reference_id
      -- Not now(): a call that waited for the wallet sees steps that are later than its own transaction.
      and x.counts_from <= (select clock_timestamp())
  ) h
  left join said s on s.movement = m.movement
  left join money.payments p on m.reference_type = 'payment' and p.tenant_id = p_tenant and p.id = m.reference_id
  left join money.cod_collections c on m.reference_type = 'cod_collection' and c.tenant_id = p_tenant and c.id = m.reference_id
  left join money.carrier_collections r on m.reference_type = 'carrier_collection' and r.tenant_id = p_tenant and r.id = m.reference_id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_void_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  s money.merchant_statements := money.lock_statement((input ->> 'id')::uuid);
begin
  if s.status <> 'open' then
    perform app.fail('statement_not_open', jsonb_build_object('from', s.status));
  end if;
  perform from money.accounts a where a.tenant_id = v_tenant and a.id = s.account_id for no key update;
  update money.merchant_statements x set status = 'void', voided_at = now(), voided_by = app.user_id(), void_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = s.id;
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select l.tenant_id, l.account_id, l.movement from money.merchant_statement_lines l
  where l.tenant_id = v_tenant and l.statement_id = s.id and l.movement is not null;
  return s.id;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126084436';
end $$;

grant execute on function private.schema_version() to barid_api;
