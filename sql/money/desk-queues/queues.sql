-- The queues of cash desks. The ledger calls money.desk_queues_follow for each journal that touches a desk with a queue, or that brings
-- one its first row; nobody else moves parts. The accounts of the journal are locked, and a queue is changed only under the lock of its account.

-- True when a journal brings cash whose COD is held until it is banked: from then on its desk has a queue. Tenants without such holds
-- read one empty index here.
create or replace function money.brings_cash_to_bank(kind text, reference uuid) returns boolean
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  if kind not in ('cod_settlement', 'carrier_remittance')
      or not exists (select from money.wallet_holds h where h.tenant_id = v_tenant and h.release = 'on_bank' and h.step = 1) then
    return false;
  end if;
  return exists (
    select from money.cash_brought(v_tenant, kind, reference) b
    join money.wallet_holds h on h.tenant_id = v_tenant and h.reference_type = b.reference_type and h.reference_id = b.reference_id
      and h.release = 'on_bank' and h.step = 1);
end $$;

-- The rows of cash that a settlement or a carrier's remittance brings, in the order in which the cash was taken.
create or replace function money.cash_brought(tenant uuid, kind text, reference uuid)
returns table (reference_type text, reference_id uuid, amount numeric, place bigint)
language plpgsql stable set search_path = '' as $$
begin
  if kind = 'cod_settlement' then
    return query
      select 'cod_collection', i.cod_collection_id, i.amount, row_number() over (order by i.position, i.cod_collection_id)
      from money.cod_settlement_items i where i.tenant_id = cash_brought.tenant and i.payment_id = reference;
  elsif kind = 'carrier_remittance' then
    return query
      select 'carrier_collection', i.carrier_collection_id, i.amount, row_number() over (order by c.collected_at, c.id)
      from money.carrier_remittance_items i
      join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
      where i.tenant_id = cash_brought.tenant and i.remittance_id = reference;
  end if;
end $$;

-- Waits for others who end parts in this tenant: a row may lie on several desks, and the one who ends the last of it has to see that.
create or replace function money.lock_desk_endings() returns void
language plpgsql set search_path = '' as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('desk endings ' || app.tenant_id(), 0));
end $$;

-- A new part at a desk, behind all others, with nothing in it yet; of no row. -> its id
create or replace function money.desk_part_new(desk uuid) returns uuid
language plpgsql set search_path = '' as $$
declare
  v_part uuid := gen_random_uuid();
begin
  insert into money.desk_parts (tenant_id, account_id, part_id, place, amount)
  values (app.tenant_id(), desk, v_part, money.desk_last_place() + 1, 0);
  return v_part;
end $$;

-- The last place that was given at the desks of the caller's tenant. Two desks may give one at the same moment; at one desk, which is locked, none comes twice.
create or replace function money.desk_last_place() returns bigint
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select p.place from money.desk_parts p where p.tenant_id = app.tenant_id() order by p.place desc nulls last limit 1), 0);
end $$;

-- Books moves of parts, which belong together by their place in the arrays, and keeps what is left of each part. One that comes to a desk
-- for the first time is taken over from where it lay.
create or replace function money.desk_parts_book(journals uuid[], desks uuid[], parts uuid[], amounts numeric[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  insert into money.desk_parts (tenant_id, account_id, part_id, place, reference_type, reference_id, brought_by, amount)
  select distinct on (m.desk, m.part) v_tenant, m.desk, m.part, p.place, p.reference_type, p.reference_id, p.brought_by, 0
  from unnest(desks, parts) m (desk, part)
  join money.desk_parts p on p.tenant_id = v_tenant and p.part_id = m.part and p.account_id = any (desks) and p.account_id <> m.desk
  where not exists (select from money.desk_parts x where x.tenant_id = v_tenant and x.account_id = m.desk and x.part_id = m.part)
  order by m.desk, m.part;
  update money.desk_parts p set amount = p.amount + m.amount
  from (select l.desk, l.part, sum(l.amount) as amount from unnest(desks, parts, amounts) l (desk, part, amount) group by l.desk, l.part) m
  where p.tenant_id = v_tenant and p.account_id = m.desk and p.part_id = m.part;
  insert into money.desk_part_moves (tenant_id, transaction_id, account_id, part_id, amount)
  select v_tenant, m.journal, m.desk, m.part, m.amount
  from unnest(journals, desks, parts, amounts) with ordinality m (journal, desk, part, amount, line)
  where m.amount <> 0 order by m.line;
end $$;

-- Begins the queue of a desk with what lay there before: one part of no row.
create or replace function money.desk_queue_begin(desk uuid, before numeric) returns void
language plpgsql set search_path = '' as $$
begin
  -- The clock: everything that is committed here came before it, also by a transaction that began after this one.
  update money.accounts a set queued_since = clock_timestamp() where a.tenant_id = app.tenant_id() and a.id = desk;
  if before <> 0 then
    perform money.desk_parts_book(array[null::uuid], array[desk], array[money.desk_part_new(desk)], array[before]);
  end if;
end $$;

-- The parts that make up an amount that leaves a desk: first what `undone` brought there, a journal that is reversed, then the oldest.
-- Less than the amount when there is not as much.
create or replace function money.desk_oldest(desk uuid, wanted numeric, undone uuid default null) returns table (part_id uuid, amount numeric)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  with own as materialized (
    -- Once, not for each part, which is what a planner without statistics would do.
    select m.part_id, sum(m.amount) as amount from money.desk_part_moves m
    where m.tenant_id = v_tenant and m.transaction_id = undone and m.account_id = desk
    group by m.part_id having sum(m.amount) > 0
  ), there as (
    select p.part_id, p.place, s.own, s.amount
    from money.desk_parts p
    left join own o on o.part_id = p.part_id
    cross join lateral (select least(p.amount, coalesce(o.amount, 0)) as amount) i
    cross join lateral (values (true, i.amount), (false, p.amount - i.amount)) s (own, amount)
    where p.tenant_id = v_tenant and p.account_id = desk and p.amount > 0 and s.amount > 0
  ), line as (
    select t.*, sum(t.amount) over (order by t.own desc, t.place, t.part_id rows unbounded preceding) - t.amount as before from there t
  )
  select l.part_id, sum(least(l.amount, wanted - l.before)) from line l
  where l.before < wanted
  group by l.part_id, l.place order by l.place, l.part_id;
end $$;

-- The parts in which an amount comes to a desk that no other desk gave: what a journal took that is undone by this one, the rows of a
-- settlement or a remittance, else cash of no row. What was short of a settlement, or what its carrier kept of a remittance, ends the oldest of
-- its rows.
create or replace function money.desk_arrivals(t money.ledger_transactions, undone uuid, desk uuid, came numeric) returns table (part_id uuid, amount numeric)
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare
  v_last bigint;
  v_short numeric;
  v_rows numeric := 0;
begin
  if undone is not null then
    return query
      select m.part_id, -sum(m.amount) from money.desk_part_moves m
      where m.tenant_id = t.tenant_id and m.transaction_id = undone and m.account_id = desk
      group by m.part_id having sum(m.amount) <> 0;
    select coalesce(-sum(m.amount), 0) into v_rows from money.desk_part_moves m
    where m.tenant_id = t.tenant_id and m.transaction_id = undone and m.account_id = desk;
  else
    select coalesce(sum(b.amount), 0) into v_rows from money.cash_brought(t.tenant_id, t.kind, t.reference_id) b;
    v_short := greatest(v_rows - came, 0);
    v_last := money.desk_last_place();
    return query
      with brought as (
        select b.*, gen_random_uuid() as part_id, sum(b.amount) over (order by b.place rows unbounded preceding) - b.amount as before
        from money.cash_brought(t.tenant_id, t.kind, t.reference_id) b
      ), made as (
        insert into money.desk_parts (tenant_id, account_id, part_id, place, reference_type, reference_id, brought_by, amount)
        select t.tenant_id, desk, b.part_id, v_last + b.place, b.reference_type, b.reference_id, t.reference_id, 0 from brought b
      )
      select b.part_id, m.amount
      from brought b
      cross join lateral (values (b.amount), (least(-least(b.amount, v_short - b.before), 0))) m (amount)
      where m.amount <> 0
      order by b.place;
    v_rows := v_rows - v_short;
  end if;
  if came <> v_rows then
    return query select money.desk_part_new(desk), came - v_rows;
  end if;
end $$;

-- Brings what a settlement or a remittance brought to a desk there once more, before it is given back from there: each part that lies on
-- another desk or has left the desks changes places with the oldest that is there. Then the journals that took it took the other, and give that back when
-- they are reversed. `t` is the journal of the reversal. All desks are locked.
create or replace function money.desk_parts_exchange(t money.ledger_transactions, undone uuid, desk uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_journals uuid[];
  v_desks uuid[];
  v_parts uuid[];
  v_amounts numeric[];
begin
  with mine as (
    select p.part_id, p.place from money.desk_parts p where p.tenant_id = t.tenant_id and p.brought_by = t.reference_id and p.account_id = desk
  ), ended as (
    -- By journals that were not reversed: at the desk where it came to last.
    select j.created_at, j.id as took, m.part_id, -sum(m.amount) as amount, (array_agg(m.account_id order by m.amount desc))[1] as at
    from (
      select x.transaction_id, x.part_id, x.account_id, sum(x.amount) as amount
      from money.desk_part_moves x
      where x.tenant_id = t.tenant_id and x.part_id in (select i.part_id from mine i) and x.transaction_id <> undone
      group by x.transaction_id, x.part_id, x.account_id) m
    join money.ledger_transactions j on j.tenant_id = t.tenant_id and j.id = m.transaction_id
    where not exists (
      select from money.ledger_transactions r
      where r.tenant_id = t.tenant_id and r.kind = j.kind || '_REVERSAL' and r.reference_type = j.reference_type and r.reference_id = j.reference_id)
    group by j.created_at, j.id, m.part_id having sum(m.amount) < 0
  ), away as materialized (
    -- Once, not for each of mine, which is what a planner without statistics would do.
    select 'infinity'::timestamptz as created_at, null::uuid as took, p.account_id as at, p.part_id, p.amount
    from money.desk_parts p
    where p.tenant_id = t.tenant_id and p.brought_by = t.reference_id and p.account_id <> desk and p.amount > 0
    union all
    select e.created_at, e.took, e.at, e.part_id, e.amount from ended e
  ), gone as (
    -- The oldest of the others take the places of those that have left.
    select g.*, sum(g.amount) over (order by g.created_at, g.took, g.at, i.place, i.part_id rows unbounded preceding) - g.amount as before
    from away g
    join mine i on i.part_id = g.part_id
  ), there as (
    select p.part_id, p.amount, sum(p.amount) over (order by p.place, p.part_id rows unbounded preceding) - p.amount as before
    from money.desk_parts p
    where p.tenant_id = t.tenant_id and p.account_id = desk and p.amount > 0 and p.brought_by is distinct from t.reference_id
  ), pair as (
    select g.took, g.at, g.part_id as mine, o.part_id as other, least(g.before + g.amount, o.before + o.amount) - greatest(g.before, o.before) as amount
    from gone g
    join there o on o.before < g.before + g.amount and g.before < o.before + o.amount
  ), move as (
    select m.journal, m.desk, m.part, sum(m.amount) as amount
    from pair p
    cross join lateral (values (t.id, desk, p.mine, p.amount), (t.id, desk, p.other, -p.amount), (t.id, p.at, p.mine, -p.amount),
      (t.id, p.at, p.other, p.amount), (p.took, p.at, p.mine, p.amount), (p.took, p.at, p.other, -p.amount)) m (journal, desk, part, amount)
    where m.journal is not null
    group by m.journal, m.desk, m.part having sum(m.amount) <> 0
  )
  select array_agg(m.journal), array_agg(m.desk), array_agg(m.part), array_agg(m.amount) into v_journals, v_desks, v_parts, v_amounts from move m;
  if v_parts is not null then
    perform money.desk_parts_book(v_journals, v_desks, v_parts, v_amounts);
  end if;
end $$;

-- Takes off the oldest cash of a desk that was taken from it before it came.
create or replace function money.desk_debts_settle(journal uuid, desk uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_debt money.desk_parts;
  v_parts uuid[];
  v_amounts numeric[];
begin
  select p.* into v_debt from money.desk_parts p where p.tenant_id = app.tenant_id() and p.account_id = desk and p.amount < 0;
  if v_debt.part_id is null then
    return;
  end if;
  perform money.lock_desk_endings();
  select array_agg(o.part_id), array_agg(-o.amount) into v_parts, v_amounts from money.desk_oldest(desk, -v_debt.amount) o;
  if v_parts is not null then
    v_parts := v_parts || v_debt.part_id;
    perform money.desk_parts_book(array_fill(journal, array[cardinality(v_parts)]), array_fill(desk, array[cardinality(v_parts)]), v_parts,
      v_amounts || (select -sum(a) from unnest(v_amounts) a));
  end if;
end $$;

-- Moves the parts of the desks that a journal has entries of. What one desk gives in it comes to the other, with its place.
create or replace function money.desk_queues_follow(journal uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  t money.ledger_transactions;
  v_undone uuid;
  v_entry record;
  v_given uuid[] := '{}';
  v_given_amounts numeric[] := '{}';
  v_desks uuid[] := '{}';
  v_parts uuid[] := '{}';
  v_amounts numeric[] := '{}';
  v_got uuid[];
  v_got_amounts numeric[];
  v_rest numeric;
begin
  select x.* into t from money.ledger_transactions x where x.tenant_id = v_tenant and x.id = journal;
  select x.id into v_undone from money.ledger_transactions x
  where x.tenant_id = v_tenant and t.kind = x.kind || '_REVERSAL' and x.reference_type = t.reference_type and x.reference_id = t.reference_id;
  if t.kind not in ('cod_settlement', 'carrier_remittance') then
    perform money.lock_desk_endings();
  end if;
  -- The desk that gives comes first.
  for v_entry in
    select a.id as desk, sum(e.amount) as amount, a.balance - sum(e.amount) as before, a.queued_since is not null as queued
    from money.ledger_entries e
    join money.accounts a on a.tenant_id = v_tenant and a.id = e.account_id and a.kind = 'cash_on_hand'
    where e.tenant_id = v_tenant and e.transaction_id = journal
    group by a.id having sum(e.amount) <> 0 order by sum(e.amount), a.id
  loop
    if not v_entry.queued then
      perform money.desk_queue_begin(v_entry.desk, v_entry.before);
    end if;
    if v_entry.amount < 0 then
      if t.kind in ('cod_settlement_REVERSAL', 'carrier_remittance_REVERSAL') then
        perform money.desk_parts_exchange(t, v_undone, v_entry.desk);
      end if;
      select coalesce(array_agg(o.part_id), '{}'), coalesce(array_agg(-o.amount), '{}'), -v_entry.amount - coalesce(sum(o.amount), 0)
      into v_got, v_got_amounts, v_rest
      from money.desk_oldest(v_entry.desk, -v_entry.amount, v_undone) o;
      if v_rest > 0 then
        -- A shortage that is booked before its cash comes.
        v_got := v_got || coalesce((select p.part_id from money.desk_parts p
          where p.tenant_id = v_tenant and p.account_id = v_entry.desk and p.amount < 0), money.desk_part_new(v_entry.desk));
        v_got_amounts := v_got_amounts || -v_rest;
      end if;
      v_given := v_given || v_got;
      v_given_amounts := v_given_amounts || v_got_amounts;
    elsif cardinality(v_given) > 0 then
      v_got := v_given;
      v_got_amounts := array(select -a from unnest(v_given_amounts) with ordinality g (a, line) order by g.line);
    else
      select array_agg(a.part_id), array_agg(a.amount) into v_got, v_got_amounts from money.desk_arrivals(t, v_undone, v_entry.desk, v_entry.amount) a;
    end if;
    v_desks := v_desks || array_fill(v_entry.desk, array[cardinality(v_got)]);
    v_parts := v_parts || v_got;
    v_amounts := v_amounts || v_got_amounts;
  end loop;
  perform money.desk_parts_book(array_fill(journal, array[cardinality(v_parts)]), v_desks, v_parts, v_amounts);
  perform money.desk_debts_settle(journal, d.desk) from (select distinct u.desk from unnest(v_desks) u (desk)) d order by d.desk;
end $$;

-- Nobody calls these but the ledger and each other.
revoke execute on function money.brings_cash_to_bank(text, uuid), money.cash_brought(uuid, text, uuid), money.lock_desk_endings(),
  money.desk_part_new(uuid), money.desk_last_place(), money.desk_parts_book(uuid[], uuid[], uuid[], numeric[]),
  money.desk_queue_begin(uuid, numeric), money.desk_oldest(uuid, numeric, uuid),
  money.desk_arrivals(money.ledger_transactions, uuid, uuid, numeric),
  money.desk_parts_exchange(money.ledger_transactions, uuid, uuid), money.desk_debts_settle(uuid, uuid),
  money.desk_queues_follow(uuid) from barid_caller;
