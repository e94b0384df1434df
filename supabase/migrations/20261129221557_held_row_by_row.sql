-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view money.cod_collections_list reset (security_barrier);
      set local lock_timeout = '500ms';
      alter view money.wallet_transactions_list reset (security_barrier);
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

DROP VIEW "money"."cod_collections_list";

DROP VIEW "money"."wallet_transactions_list";

CREATE OR REPLACE FUNCTION money.cod_is_held(kind text, row_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((
    select x.amount > 0 or x.counts_from > now() from money.wallet_holds x
    where x.tenant_id = app.tenant_id() and x.reference_type = cod_is_held.kind and x.reference_id = row_id
    order by x.step desc limit 1), false);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_released_at(kind text, row_id uuid, credited_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  h money.wallet_holds;
begin
  select * into h from money.wallet_holds x
  where x.tenant_id = app.tenant_id() and x.reference_type = cod_released_at.kind and x.reference_id = row_id
  order by x.step desc limit 1;
  return case when h.id is null then credited_at when h.amount < 0 and h.counts_from <= now() then greatest(credited_at, h.counts_from) end;
end $function$;

CREATE VIEW "money"."cod_collections_list" WITH (security_invoker=true) AS  SELECT c.id,
    c.delivery_id,
    c.driver_id,
    c.amount,
    c.currency,
    json_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount) AS allocations,
    c.cod_amount,
    c.delivery_fee_amount,
    c.collection_stage,
    c.status,
    c.collected_at,
    c.remitted_at,
    c.settled_at,
    c.delivery_code,
    c.leg_codes,
    c.receiver_name,
    json_build_object('delivery_number', c.delivery_number, 'customer_name', c.customer_name, 'delivery_address', c.delivery_address, 'receiver_name', c.receiver_name) AS delivery_details,
    json_build_object('full_name', p.full_name, 'email', p.email, 'avatar', p.avatar_url) AS driver_info,
    c.remitted_to_user_id,
    c.settlement_payment_id,
    c.external_reference_id,
    c.reversed_at,
    c.customer_name,
    c.delivery_address,
    p.full_name AS driver_name,
        CASE
            WHEN ( SELECT app.sees_tenant() AS sees_tenant) THEN money.cod_is_held('cod_collection'::text, c.id)
            ELSE NULL::boolean
        END AS held,
        CASE
            WHEN (( SELECT app.sees_tenant() AS sees_tenant) AND (c.cod_amount > (0)::numeric) AND (c.reversed_at IS NULL)) THEN money.cod_released_at('cod_collection'::text, c.id, c.collected_at)
            ELSE NULL::timestamp with time zone
        END AS released_at
   FROM (money.cod_collections c
     LEFT JOIN tenancy.people p ON ((p.id = c.driver_id)));

CREATE VIEW "money"."wallet_transactions_list" WITH (security_invoker=true) AS  SELECT e.id,
    e.account_id AS wallet_id,
    t.kind,
    t.description,
        CASE
            WHEN (e.amount > (0)::numeric) THEN 'credit'::text
            ELSE 'debit'::text
        END AS direction,
    e.amount,
    e.currency,
    e.balance_after,
    t.reference_type,
    t.reference_id,
    t.actor_id,
    e.created_at,
    ((t.kind = 'cod_credit'::text) AND money.cod_is_held(t.reference_type, t.reference_id)) AS held,
        CASE
            WHEN (t.kind = 'cod_credit'::text) THEN money.cod_released_at(t.reference_type, t.reference_id, e.created_at)
            ELSE NULL::timestamp with time zone
        END AS released_at
   FROM ((money.ledger_entries e
     JOIN money.ledger_transactions t ON (((t.tenant_id = e.tenant_id) AND (t.id = e.transaction_id))))
     JOIN money.accounts a ON (((a.tenant_id = e.tenant_id) AND (a.id = e.account_id) AND (a.kind = 'wallet'::text))));

REVOKE ALL ON FUNCTION "money"."cod_is_held"(text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_is_held"(text, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cod_released_at"(text, uuid, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_released_at"(text, uuid, timestamp with time zone) TO "barid_caller";

GRANT SELECT ON TABLE "money"."cod_collections_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."wallet_transactions_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129221557';
end $$;

grant execute on function private.schema_version() to barid_api;
