-- COD that its owner may not spend before the cash is in: held when it is credited, released when its row is remitted, settled or
-- paid by the carrier, or when that cash has left the desks; held again when that is reversed. No account moves and none is locked: see decision 0068.

-- The rule of this moment, from the setting delivery.payouts: what releases a row of cash that is collected now, and due_at, before which
-- nothing releases it: now, or with hold_days the start of that day in the company's time zone.
create or replace function money.payout_rule(out release text, out due_at timestamptz)
language plpgsql stable set search_path = '' as $$
declare
  v_rule jsonb := app.settings('delivery', 'payouts');
  v_days integer := coalesce((v_rule ->> 'hold_days')::integer, 0);
begin
  release := coalesce(v_rule ->> 'release', 'on_delivery');
  due_at := now();
  if v_days > 0 then
    due_at := app.day_begins((now() at time zone app.timezone())::date + v_days);
  end if;
end $$;

-- Holds the COD of a row of cash on the wallet that it is credited to. Nothing happens where the rule is to release it at once, and to
-- the wallet of a shop, which is the tenant's own. `kind` and `row_id` name the row, as its journal does.
create or replace function money.cod_hold(kind text, row_id uuid, wallet uuid, amount numeric) returns void
language plpgsql set search_path = '' as $$
declare
  v_rule record;
begin
  if amount <= 0 then
    return;
  end if;
  v_rule := money.payout_rule();
  if v_rule.release = 'on_delivery' and v_rule.due_at <= now() then
    return;
  end if;
  insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
  select a.tenant_id, a.id, cod_hold.kind, row_id, n.step, n.sign * cod_hold.amount, v_rule.release, v_rule.due_at,
    case n.sign when 1 then now() else v_rule.due_at end
  from money.accounts a
  -- on_delivery waits for no cash: its release is written now and counts from due_at.
  cross join (values (1, 1), (2, -1)) n (step, sign)
  where a.tenant_id = app.tenant_id() and a.id = wallet and money.may_be_held(a) and (n.sign = 1 or v_rule.release = 'on_delivery')
  order by n.step;
end $$;

-- The rows of cash among these that are in, so that their holds end. on_remit: they are remitted, settled from the wallet, paid by the
-- carrier or written off. on_bank: their cash has gone from the desks as well. `kind` says which table they are of.
create or replace function money.cash_in(tenant uuid, kind text, ids uuid[]) returns setof uuid
language plpgsql stable set search_path = '' as $$
begin
  return query
    with closed as (
      select c.id, c.status = 'remitted' as came_as_cash, c.settlement_payment_id as brought_by
      from money.cod_collections c where kind = 'cod_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'collected'
      union all
      select c.id, c.status = 'remitted', c.remittance_id
      from money.carrier_collections c
      where kind = 'carrier_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status in ('remitted', 'written_off')
    )
    select r.id from closed r
    left join money.wallet_holds h on h.tenant_id = tenant and h.reference_type = kind and h.reference_id = r.id and h.release = 'on_bank' and h.step = 1
    left join lateral (
      select count(*) as parts, bool_or(p.amount <> 0) as there
      from (
        -- By its row (offset 0): without statistics the planner would read all that the settlement brought, for each of its rows.
        select x.amount, x.brought_by from money.desk_parts x
        where h.id is not null and x.tenant_id = tenant and x.reference_type = kind and x.reference_id = r.id
        offset 0) p
      where p.brought_by = r.brought_by
    ) d on true
    -- Settled from the wallet, or written off; not held until the bank; all of it has left the desks; all of it was short or kept by the carrier, so
    -- that none came.
    where not r.came_as_cash or h.id is null or (d.parts > 0 and not d.there)
      or exists (select from money.cod_settlements s where s.tenant_id = tenant and s.payment_id = r.brought_by and s.shortage = s.total)
      or exists (select from money.carrier_remittances m where m.tenant_id = tenant and m.id = r.brought_by and m.charges = m.amount);
end $$;

-- Brings the holds of rows of cash to where the rows are now, where the last step does not fit any more: a release of what is held and in, a hold
-- of what is released and not in; nothing for those that were never held. A step is never older than the one it follows, though its
-- transaction may be, and never counts before it (but money.cod_hold_end), so that what is released for a later day and held again is
-- held once.
create or replace function money.cod_holds_follow(tenant uuid, kind text, ids uuid[]) returns void
language plpgsql set search_path = '' as $$
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
        and not exists (select from money.carrier_collections c
          where kind = 'carrier_collection' and c.tenant_id = tenant and c.id = x.reference_id and c.reversed_at is not null)
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
end $$;

-- Ends what is held of a row of cash that is reversed, for good. `kind` says which table it is of. A release for a later day is cancelled on that
-- day, and there is one now instead: only here a step counts before the one it follows. The row of cash is locked.
create or replace function money.cod_hold_end(kind text, row_id uuid) returns void
language plpgsql set search_path = '' as $$
declare
  h money.wallet_holds;
  v_now timestamptz;
begin
  select * into h from money.wallet_holds x
  where x.tenant_id = app.tenant_id() and x.reference_type = cod_hold_end.kind and x.reference_id = row_id
  order by x.step desc limit 1;
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
end $$;

-- Brings the holds of rows of cash up to date that a statement has changed; whether they are in, money.cash_in alone says. Rows that stop being
-- remitted are left out: money.cod_holds_again does them after the journal of the reversal, when the desk that may have released them is
-- locked.
create or replace function money.cod_holds_changed() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid;
  v_ids uuid[];
begin
  for v_tenant, v_ids in
    select n.tenant_id, array_agg(n.id)
    from new_rows n
    join old_rows o on o.id = n.id
    where o.status <> 'remitted' or n.status = 'remitted'
    group by n.tenant_id
  loop
    perform money.cod_holds_follow(v_tenant, tg_argv[0], v_ids);
  end loop;
  return null;
end $$;

-- Holds again the rows of a settlement or a remittance that was reversed. Its journal is booked.
create or replace function money.cod_holds_again(kind text, ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  perform money.cod_holds_follow(app.tenant_id(), kind, ids);
end $$;

-- Brings the holds of the rows up to date whose parts moved at a desk.
create or replace function money.desk_parts_moved() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid;
  v_kind text;
  v_ids uuid[];
begin
  for v_tenant, v_kind, v_ids in
    select p.tenant_id, p.reference_type, array_agg(distinct p.reference_id)
    from new_rows n
    join money.desk_parts p on p.tenant_id = n.tenant_id and p.account_id = n.account_id and p.part_id = n.part_id and p.reference_id is not null
    group by p.tenant_id, p.reference_type
  loop
    perform money.cod_holds_follow(v_tenant, v_kind, v_ids);
  end loop;
  return null;
end $$;

drop trigger if exists holds_follow on money.cod_collections;
create trigger holds_follow after update on money.cod_collections
  referencing old table as old_rows new table as new_rows for each statement execute function money.cod_holds_changed('cod_collection');

drop trigger if exists holds_follow on money.carrier_collections;
create trigger holds_follow after update on money.carrier_collections
  referencing old table as old_rows new table as new_rows for each statement execute function money.cod_holds_changed('carrier_collection');

drop trigger if exists holds_follow on money.desk_part_moves;
create trigger holds_follow after insert on money.desk_part_moves
  referencing new table as new_rows for each statement execute function money.desk_parts_moved();

-- Nobody calls these but other functions and triggers.
revoke execute on function money.payout_rule(), money.cod_hold(text, uuid, uuid, numeric), money.cash_in(uuid, text, uuid[]),
  money.cod_holds_follow(uuid, text, uuid[]), money.cod_hold_end(text, uuid), money.cod_holds_changed(),
  money.cod_holds_again(text, uuid[]), money.desk_parts_moved() from barid_caller;
