-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.cash_in(tenant uuid, kind text, ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    with closed as (
      select c.id, c.status = 'remitted' as came_as_cash, c.settlement_payment_id as brought_by
      from money.cod_collections c where kind = 'cod_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'collected'
      union all
      select c.id, true, c.remittance_id
      from money.carrier_collections c where kind = 'carrier_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'owed'
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
    -- Settled from the wallet; not held until the bank; all of it has left the desks; all of it was short, so that none came.
    where not r.came_as_cash or h.id is null or (d.parts > 0 and not d.there)
      or exists (select from money.cod_settlements s where s.tenant_id = tenant and s.payment_id = r.brought_by and s.shortage = s.total);
end $function$;

CREATE OR REPLACE FUNCTION money.desk_oldest(desk uuid, wanted numeric, undone uuid DEFAULT NULL::uuid)
 RETURNS TABLE(part_id uuid, amount numeric)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION money.desk_parts_exchange(t money.ledger_transactions, undone uuid, desk uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION money.oldest_unpaid(wallet uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select least(
      -- Lines are in the order of their movements.
      (select min(l.collected_at) from money.merchant_statements s
        cross join lateral (
          select x.collected_at from money.merchant_statement_lines x
          where x.tenant_id = v_tenant and x.statement_id = s.id and x.amount > 0 and x.movement is not null order by x.position limit 1) l
        where s.tenant_id = v_tenant and s.account_id = a.id and s.status = 'open'),
      (select min(e.created_at) from money.merchant_pending p
        join money.ledger_entries e on e.account_id = a.id and e.version = p.movement and e.amount > 0
        -- Movement by movement (offset 0): of a wallet without statistics the planner would read all its lines for each.
        where p.tenant_id = v_tenant and p.account_id = a.id and not exists (
          select from (
            select x.statement_id from money.merchant_statement_lines x
            where x.tenant_id = v_tenant and x.account_id = a.id and x.movement = p.movement
            offset 0) l
          join money.merchant_statements s on s.tenant_id = v_tenant and s.id = l.statement_id and s.status = 'paid')),
      (select m.opened_at where m.opening > 0 and exists (
        select from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = a.id and p.movement = 0)),
      (select e.created_at from money.ledger_entries e
        join money.ledger_transactions t on t.tenant_id = v_tenant and t.id = e.transaction_id
          and t.kind not in ('merchant_payout', 'merchant_payout_REVERSAL')
        where e.account_id = a.id and e.version > coalesce(m.looked_to, 0) and e.amount > 0 order by e.version limit 1))
    from money.accounts a
    left join money.merchant_accounts m on m.tenant_id = v_tenant and m.account_id = a.id
    where a.tenant_id = v_tenant and a.id = wallet and a.balance > 0 and (app.sees_tenant() or a.owner_user_id = app.user_id()));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.inventory_item_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_item warehousing.inventory_items;
begin
  insert into warehousing.inventory_items (tenant_id, name, sku, barcode, brand, model, unit_size, is_serialized, is_active)
  values (app.tenant_id(), input ->> 'name', input ->> 'sku', input ->> 'barcode', input ->> 'brand', input ->> 'model',
    coalesce((input ->> 'unit_size')::numeric, 1), coalesce((input ->> 'is_serialized')::boolean, false),
    coalesce((input ->> 'is_active')::boolean, true))
  returning * into v_item;
  -- Not read again: of a company's first file the planner expects one item, and would read all that came before for each line.
  return jsonb_build_object('inventory_item', to_jsonb(v_item) - '{tenant_id,parcel_delivery_id}'::text[]);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127093424';
end $$;

grant execute on function private.schema_version() to barid_api;
