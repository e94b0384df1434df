-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view money.cash_desk_movements_list reset (security_barrier);
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

DROP VIEW "money"."cash_desk_movements_list";

CREATE OR REPLACE FUNCTION money.desk_movements_of(kinds jsonb, desk_id uuid, user_id uuid)
 RETURNS TABLE(id bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_kinds text[] := array(select jsonb_array_elements_text(case jsonb_typeof(kinds) when 'array' then kinds else jsonb_build_array(kinds) end));
  -- As money.cash_desk_movements_list names them, the other way round.
  v_journals text[] := array(
    select x.kind || y.suffix
    from unnest(v_kinds) k
    cross join lateral (select case k when 'remittance' then 'cod_settlement' when 'shortage' then 'cash_shortage'
      when 'driver_payout' then 'driver_payout_cash' when 'merchant_payout' then 'merchant_payout_cash' else k end) x (kind)
    cross join (values (''), ('_REVERSAL')) y (suffix));
begin
  if desk_id is not null or user_id is not null or not money.settles_for_office() then
    return query
      select r.id from money.cash_desk_movements_list r
      where (desk_movements_of.desk_id is null or r.desk_id = desk_movements_of.desk_id)
        and (desk_movements_of.user_id is null or r.user_id = desk_movements_of.user_id) and r.kind = any (v_kinds);
  else
    return query
      select e.id
      from (
        select t.id from money.ledger_transactions t
        where t.tenant_id = v_tenant and t.kind = any (v_journals) and t.reference_type <> 'cash_transfer'
        union all
        select t.id
        from money.cash_transfers c
        join money.ledger_transactions t on t.tenant_id = c.tenant_id and t.kind in ('cash_transfer', 'cash_transfer_REVERSAL')
          and t.reference_type = 'cash_transfer' and t.reference_id = c.id
        where c.tenant_id = v_tenant and c.kind = any (v_kinds)) t
      join money.ledger_entries e on e.tenant_id = v_tenant and e.transaction_id = t.id
      join money.accounts a on a.tenant_id = v_tenant and a.id = e.account_id and a.kind = 'cash_on_hand';
  end if;
end $function$;

CREATE VIEW "money"."cash_desk_movements_list" WITH (security_invoker=true) AS  SELECT e.id,
        CASE
            WHEN (t.reference_type = 'cash_transfer'::text) THEN c.kind
            ELSE
            CASE replace(t.kind, '_REVERSAL'::text, ''::text)
                WHEN 'cod_settlement'::text THEN 'remittance'::text
                WHEN 'cash_shortage'::text THEN 'shortage'::text
                WHEN 'driver_payout_cash'::text THEN 'driver_payout'::text
                WHEN 'merchant_payout_cash'::text THEN 'merchant_payout'::text
                ELSE replace(t.kind, '_REVERSAL'::text, ''::text)
            END
        END AS kind,
    e.amount,
    e.currency,
    e.balance_after,
    t.reference_id,
    t.description,
    e.created_at,
    money.desk_movement_details(a.*, e.*, t.*) AS details,
    a.id AS desk_id,
    a.owner_type,
    a.owner_user_id AS user_id
   FROM (((money.accounts a
     JOIN money.ledger_entries e ON (((e.tenant_id = a.tenant_id) AND (e.account_id = a.id))))
     LEFT JOIN money.ledger_transactions t ON (((t.tenant_id = e.tenant_id) AND (t.id = e.transaction_id))))
     LEFT JOIN money.cash_transfers c ON (((c.tenant_id = t.tenant_id) AND (c.id = t.reference_id) AND (t.reference_type = 'cash_transfer'::text))))
  WHERE ((a.kind = 'cash_on_hand'::text) AND (( SELECT money.settles_for_office() AS settles_for_office) OR (a.owner_user_id = ( SELECT app.user_id() AS user_id))));

REVOKE ALL ON FUNCTION "money"."desk_movements_of"(jsonb, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."desk_movements_of"(jsonb, uuid, uuid) TO "barid_caller";

GRANT SELECT ON TABLE "money"."cash_desk_movements_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130162132';
end $$;

grant execute on function private.schema_version() to barid_api;
