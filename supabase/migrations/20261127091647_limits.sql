-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

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

CREATE OR REPLACE FUNCTION private.schema_version()
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
begin
  return '20261127090044';
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
  return '20261127091647';
end $$;

grant execute on function private.schema_version() to barid_api;
