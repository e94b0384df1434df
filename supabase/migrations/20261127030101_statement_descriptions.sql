-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

DROP FUNCTION "money"."statement_rows"(uuid);

CREATE OR REPLACE FUNCTION money.statement_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  return jsonb_build_object('statement', app.found(money.statement_to_json(v_id), 'statement_not_found') || jsonb_build_object('lines', (
    select coalesce(jsonb_agg(jsonb_build_object('delivery', case when l.delivery_id is not null then jsonb_build_object('id', l.delivery_id,
        'delivery_code', l.delivery_code, 'external_reference_id', l.external_reference_id) end, 'kind', l.kind,
        'description', money.statement_line_description(l), 'amount', l.amount, 'collected_at', l.collected_at,
        'released_at', l.released_at) order by l.position), '[]')
    from money.merchant_statement_lines l where l.tenant_id = app.tenant_id() and l.statement_id = v_id)));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_line_description(l money.merchant_statement_lines)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if l.delivery_id is not null or coalesce(l.movement, 0) = 0 then
    return null;
  end if;
  return (
    select t.description from money.ledger_entries e
    join money.ledger_transactions t on t.tenant_id = e.tenant_id and t.id = e.transaction_id
    where e.tenant_id = l.tenant_id and e.account_id = l.account_id and e.version = l.movement);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_rows(p_id uuid)
 RETURNS TABLE(kind text, delivery_code bigint, external_reference_id text, collected_at timestamp with time zone, released_at timestamp with time zone, cod numeric, delivery_fee numeric, refund numeric, adjustment numeric, net numeric, description text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  select case when l.delivery_id is not null then 'delivery' when min(l.movement) = 0 then 'opening' when min(l.movement) > 0 then min(l.kind)
      when sum(l.amount) < 0 then 'kept' else 'kept_before' end,
    min(l.delivery_code), min(l.external_reference_id), coalesce(min(l.collected_at) filter (where l.kind = 'cod'), min(l.collected_at)),
    max(l.released_at),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), sum(l.amount),
    min(money.statement_line_description(l))
  from money.merchant_statement_lines l
  where l.tenant_id = app.tenant_id() and l.statement_id = p_id
  group by l.delivery_id, case when l.delivery_id is null then l.position end
  order by min(l.position);
end $function$;

REVOKE ALL ON FUNCTION "money"."statement_line_description"(money.merchant_statement_lines) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_line_description"(money.merchant_statement_lines) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_rows"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_rows"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127030101';
end $$;

grant execute on function private.schema_version() to barid_api;
