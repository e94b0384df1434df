-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view money.merchant_statements_list reset (security_barrier);
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

DROP VIEW "money"."merchant_statements_list";

CREATE OR REPLACE FUNCTION money.statement_payouts(statement uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'method', p.method, 'amount', p.amount, 'reference', p.reference, 'proof', p.proof,
      'paid_at', p.paid_at, 'paid_by', jsonb_build_object('id', p.actor_id, 'full_name', a.full_name), 'reversed_at', p.reversed_at,
      'reversed_by', case when p.reversed_by is not null then jsonb_build_object('id', p.reversed_by, 'full_name', b.full_name) end,
      'reversal_reason', p.reversal_reason) order by p.paid_at desc, p.id desc), '[]')
    from money.merchant_payouts p
    left join tenancy.profiles a on a.id = p.actor_id
    left join tenancy.profiles b on b.id = p.reversed_by
    where p.tenant_id = app.tenant_id() and p.statement_id = statement);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_references(statement uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select string_agg(p.reference, E'\n') from money.merchant_payouts p where p.tenant_id = app.tenant_id() and p.statement_id = statement);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_to_json(p_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select to_jsonb(r) - '{owner_user_id,owner_name,sequence,paid_at,method,payout_references}'::text[] from money.merchant_statements_list r where r.id = p_id);
end $function$;

CREATE VIEW "money"."merchant_statements_list" WITH (security_invoker=true) AS  SELECT s.id,
    money.statement_number(s.number) AS number,
    jsonb_build_object('id', s.owner_user_id, 'full_name', o.full_name) AS owner,
    s.currency,
    s.opened_at,
    jsonb_build_object('from', s.period_from, 'to', s.period_to) AS period,
    s.gross_cod,
    s.fees,
    s.refunds,
    s.adjustments,
    s.net,
    s.lines AS count,
    s.status,
    s.payout_id,
    s.confirmed_at,
    s.voided_at,
    s.void_reason,
        CASE
            WHEN (p.id IS NOT NULL) THEN jsonb_build_object('id', p.id, 'method', p.method, 'amount', p.amount, 'reference', p.reference, 'proof', p.proof, 'paid_at', p.paid_at, 'paid_by', jsonb_build_object('id', p.actor_id, 'full_name', a.full_name))
            ELSE NULL::jsonb
        END AS payout,
    money.statement_payouts(s.id) AS payouts,
    s.owner_user_id,
    o.full_name AS owner_name,
    s.number AS sequence,
    p.paid_at,
    p.method,
    money.statement_references(s.id) AS payout_references
   FROM (((money.merchant_statements s
     LEFT JOIN tenancy.profiles o ON ((o.id = s.owner_user_id)))
     LEFT JOIN money.merchant_payouts p ON (((p.tenant_id = s.tenant_id) AND (p.id = s.payout_id))))
     LEFT JOIN tenancy.profiles a ON ((a.id = p.actor_id)));

REVOKE ALL ON FUNCTION "money"."statement_payouts"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_payouts"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_references"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_references"(uuid) TO "barid_caller";

GRANT SELECT ON TABLE "money"."merchant_statements_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129221058';
end $$;

grant execute on function private.schema_version() to barid_api;
