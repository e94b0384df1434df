-- Statements are made from the movements of a wallet. The entrance is SECURITY DEFINER, since nobody may write these tables otherwise: every
-- statement names the caller's tenant. The wallet is locked first, the counter of the numbers last; settlements lock neither.

-- True when the caller reads the statements of all owners: the office, programs with an administrator's key. Everybody else reads their own.
create or replace function money.sees_statements() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return app.grants() && '{role:dispatcher,role:operations_manager,role:tenant_admin,role:system_admin,permission:manage:tenant}';
end $$;

-- The rule of statements of the caller's tenant, the setting delivery.payouts: amounts are in the tenant's own currency, in any other there
-- is no least amount and nothing is kept. What is kept is rounded half up to the currency's decimals: the rest of a wallet is paid out.
create or replace function money.statement_rule(currency text, out minimum numeric, out keep numeric)
language plpgsql stable set search_path = '' as $$
declare
  v_rule jsonb := case when currency = (app.currency()).code then app.settings('delivery', 'payouts') end;
begin
  minimum := coalesce((v_rule ->> 'minimum')::numeric, 0);
  keep := round(coalesce((v_rule ->> 'keep')::numeric, 0), money.decimals_of(currency));
end $$;

-- The rule of an owner's statements: that of the tenant, money.statement_rule. For who is no active member of the company any more there is
-- no least amount, and nothing is kept: the statement is the last.
create or replace function money.statement_rule_for(owner uuid, currency text, out minimum numeric, out keep numeric)
language plpgsql stable set search_path = '' as $$
begin
  select r.minimum, r.keep into minimum, keep from money.statement_rule(statement_rule_for.currency) r;
  if not exists (select from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = statement_rule_for.owner
      and u.is_active and u.left_at is null) then
    minimum := 0;
    keep := 0;
  end if;
end $$;

-- The wallets of an owner that statements are made of: that of what they are in the company first, then that of what they were before.
create or replace function money.merchant_wallets(owner uuid, currency text) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
  return array(
    select a.id from money.accounts a
    join tenancy.tenant_users u on u.tenant_id = a.tenant_id and u.user_id = a.owner_user_id
    where a.tenant_id = app.tenant_id() and a.owner_user_id = merchant_wallets.owner and a.currency = merchant_wallets.currency
      and money.may_be_held(a)
    order by a.owner_type = u.tenant_user_type desc, a.id);
end $$;

-- The next number of the caller's tenant. Who opens another statement waits here until this one is committed.
create or replace function money.statement_number_next() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_number bigint;
begin
  insert into money.merchant_statement_numbers as n (tenant_id, last) values (app.tenant_id(), 1)
  on conflict (tenant_id) do update set last = n.last + 1
  returning n.last into v_number;
  return v_number;
end $$;

-- Makes a statement of a wallet: all that is released and on no statement, of movements before p_until. cycle_day: made by the cycle, and
-- only when COD is among it, once a day of the cycle. -> its id; null: nothing is due, or less than the least amount, or it was made for this
-- day; then nothing was changed. Locks: the wallet, then the counter of numbers.
create or replace function money.statement_make(p_wallet uuid, p_until timestamptz, p_cycle_day date default null) returns uuid
language plpgsql set search_path = '' as $$
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
end $$;

-- Emits the system event of a statement, and notifies its owner (statement_opened, _paid, _reversed, _voided).
create or replace function money.statement_event_emit(event_type text, s money.merchant_statements, more jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'delivery',
    'entity_type', 'merchant_statement', 'entity_id', s.id, 'event_data', jsonb_build_object('statement_id', s.id,
      'number', money.statement_number(s.number), 'owner_user_id', s.owner_user_id, 'net', s.net, 'currency', s.currency, 'count', s.lines,
      'actor_id', app.user_id()) || more)));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select s.tenant_id, s.owner_user_id, replace(event_type, 'merchant_statement.', 'statement_'), jsonb_build_object('statement_id', s.id,
    'number', money.statement_number(s.number), 'net', s.net, 'currency', s.currency) || more
  where s.owner_user_id is distinct from app.user_id();
end $$;

-- Makes a statement of all that is due to an owner, until a day or instant: who was a customer and is an institution by now, or neither,
-- still has what came before. {owner_user_id, currency?, date_to?} -> its id. Locks: the owner's wallets, then the counter of numbers.
-- Fails: merchant_not_found, statement_below_minimum {minimum, currency}.
create or replace function money.statement_open_book(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
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
end $$;

-- A statement as lists show it; null for one that the caller does not see.
create or replace function money.statement_to_json(p_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (select to_jsonb(r) - '{owner_user_id,owner_name,sequence}'::text[] from money.merchant_statements_list r where r.id = p_id);
end $$;

-- A statement with its lines. {id} -> {statement {..., lines: [{delivery {id, delivery_code, external_reference_id}, kind, description, amount,
-- collected_at, released_at}]}}. Fails: statement_not_found.
create or replace function money.statement_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  return jsonb_build_object('statement', app.found(money.statement_to_json(v_id), 'statement_not_found') || jsonb_build_object('lines', (
    select coalesce(jsonb_agg(jsonb_build_object('delivery', case when l.delivery_id is not null then jsonb_build_object('id', l.delivery_id,
        'delivery_code', l.delivery_code, 'external_reference_id', l.external_reference_id) end, 'kind', l.kind,
        'description', money.statement_line_description(l), 'amount', l.amount, 'collected_at', l.collected_at,
        'released_at', l.released_at) order by l.position), '[]')
    from money.merchant_statement_lines l where l.tenant_id = app.tenant_id() and l.statement_id = v_id)));
end $$;

-- The same with all its payouts, for functions from 1.8.0 on.
create or replace function money.statement_read(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_answer jsonb := money.statement_get(input);
begin
  return jsonb_set(v_answer, '{statement,payouts}', money.statement_payouts((input ->> 'id')::uuid));
end $$;

-- Makes a statement. See money.statement_open_book. -> {statement}
create or replace function money.statement_open(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_open_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.merchant_wallets(uuid, text), money.statement_number_next(), money.statement_make(uuid, timestamptz, date) from barid_caller;
