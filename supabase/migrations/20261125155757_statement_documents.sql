-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table money.merchant_statements in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "money"."merchant_statements" DROP CONSTRAINT "texts_within_bounds";

ALTER TABLE "money"."merchant_statements" ADD COLUMN "hash" text;

CREATE OR REPLACE FUNCTION money.statement_document(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_file jsonb := money.statement_file(input);
  s money.merchant_statements;
begin
  select x.* into s from money.merchant_statements x where x.tenant_id = app.tenant_id() and x.id = v_id;
  return jsonb_build_object('statement', money.statement_to_json(v_id), 'rows', v_file -> 'rows', 'hash', s.hash,
    'tenant_name', (select t.name from tenancy.tenants t where t.id = s.tenant_id), 'brand', app.settings('general', 'brand_settings'),
    'timezone', app.timezone(), 'decimals', money.decimals_of(s.currency::text));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_file(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_number text := money.statement_to_json(v_id) ->> 'number';
begin
  if v_number is null then
    perform app.fail('statement_not_found');
  end if;
  return jsonb_build_object('number', v_number, 'rows', (select coalesce(jsonb_agg(to_jsonb(r)), '[]') from money.statement_rows(v_id) r));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_hash(p_id uuid, p_tenant uuid, p_number bigint, p_owner uuid, p_currency text, p_net numeric, lines money.merchant_statement_lines[])
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return left(encode(sha256(convert_to(concat_ws('|', p_id, p_tenant, p_number, p_owner, p_currency, (p_net * 1000)::bigint, (
      select string_agg(concat_ws(':', l.position, coalesce(l.movement::text, 'kept'), l.kind, (l.amount * 1000)::bigint, l.delivery_code), ';'
        order by l.position) from unnest(lines) l)), 'UTF8')), 'hex'), 32);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_make(p_wallet uuid, p_until timestamp with time zone, p_cycle_day date DEFAULT NULL::date)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
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
  s money.merchant_statements;
begin
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = p_wallet for no key update;
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
  if coalesce(v_net, 0) <= 0 or v_net < v_rule.minimum or p_cycle_day is not null and v_cod is not true then
    return null;
  end if;
  v_looked_to := coalesce(v_looked_to, v_wallet.version);
  v_number := money.statement_number_next();
  insert into money.merchant_statements (id, tenant_id, number, account_id, owner_user_id, currency, opened_by, period_from, period_to, gross_cod, fees,
    refunds, adjustments, net, lines, cycle_day, hash)
  select v_id, v_tenant, v_number, p_wallet, v_wallet.owner_user_id, v_wallet.currency, app.user_id(),
    least(coalesce((select max(x.period_to) from money.merchant_statements x where x.tenant_id = v_tenant and x.account_id = p_wallet and x.status <> 'void'),
      v_marks.opened_at, v_wallet.created_at), least(p_until, now())), least(p_until, now()),
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

CREATE OR REPLACE FUNCTION money.statement_rows(p_id uuid)
 RETURNS TABLE(kind text, delivery_code bigint, external_reference_id text, collected_at timestamp with time zone, released_at timestamp with time zone, cod numeric, delivery_fee numeric, refund numeric, adjustment numeric, net numeric)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  select case when l.delivery_id is not null then 'delivery' when min(l.movement) = 0 then 'opening' when min(l.movement) > 0 then min(l.kind)
      when sum(l.amount) < 0 then 'kept' else 'kept_before' end,
    min(l.delivery_code), min(l.external_reference_id), min(l.collected_at), max(l.released_at),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), sum(l.amount)
  from money.merchant_statement_lines l
  where l.tenant_id = app.tenant_id() and l.statement_id = p_id
  group by l.delivery_id, case when l.delivery_id is null then l.position end
  order by min(l.position);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_verify(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  s money.merchant_statements;
  v_unchanged boolean;
begin
  select x.* into s from money.merchant_statements x where x.tenant_id = app.tenant_id() and x.hash = lower(input ->> 'hash');
  v_unchanged := coalesce(s.hash = money.statement_hash(s.id, s.tenant_id, s.number, s.owner_user_id, s.currency::text, s.net, array(
    select l from money.merchant_statement_lines l where l.tenant_id = s.tenant_id and l.statement_id = s.id)), false);
  return jsonb_build_object('valid', v_unchanged and s.status <> 'void', 'printed', s.id is not null, 'unchanged', v_unchanged,
    'statement', case when s.id is not null then money.statement_to_json(s.id) end);
end $function$;

ALTER TABLE "money"."merchant_statements" ADD CONSTRAINT "merchant_statements_hash_check" CHECK ((hash ~ '^[0-9a-f]{32}$'::text)) NOT VALID;

ALTER TABLE "money"."merchant_statements" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(status) <= 1000) AND (octet_length(void_reason) <= 4000) AND (octet_length(hash) <= 1000))) NOT VALID;

REVOKE ALL ON FUNCTION "money"."statement_document"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_document"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_file"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_file"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_hash"(uuid, uuid, bigint, uuid, text, numeric, money.merchant_statement_lines[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_hash"(uuid, uuid, bigint, uuid, text, numeric, money.merchant_statement_lines[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_rows"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_rows"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_verify"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_verify"(jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125155757';
end $$;

grant execute on function private.schema_version() to barid_api;

-- Statements that were made before they had a mark.
UPDATE "money"."merchant_statements" s SET "hash" = money.statement_hash(s.id, s.tenant_id, s.number, s.owner_user_id, s.currency::text, s.net,
  ARRAY(SELECT l FROM money.merchant_statement_lines l WHERE l.tenant_id = s.tenant_id AND l.statement_id = s.id))
WHERE s.hash IS NULL;
