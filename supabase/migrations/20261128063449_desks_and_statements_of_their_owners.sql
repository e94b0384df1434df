-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table money.merchant_statement_lines in access exclusive mode;
      set local lock_timeout = '166ms';
      lock table money.merchant_statements in access exclusive mode;
      alter view money.cash_desks_list reset (security_barrier);
      alter view money.cash_transfers_list reset (security_barrier);
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

DROP POLICY "tenant" ON "money"."merchant_statement_lines";

DROP POLICY "tenant" ON "money"."merchant_statements";

DROP VIEW "money"."cash_desks_list";

DROP VIEW "money"."cash_transfers_list";

CREATE OR REPLACE FUNCTION money.cash_desk_of(asked uuid, owner_type text, currency text)
 RETURNS money.accounts
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_owner uuid := case when owner_type <> 'tenant' then coalesce(asked, app.user_id()) end;
  v_desk money.accounts;
begin
  if not money.has_desk()
      or (v_owner is distinct from app.user_id() and not app.has_permission('manage:tenant')) then
    perform app.fail('forbidden');
  end if;
  select a.* into v_desk from money.accounts a
  where a.tenant_id = app.tenant_id() and a.kind = 'cash_on_hand' and a.owner_type = owner_type and a.currency = currency
    and (a.owner_user_id = v_owner or v_owner is null);
  if v_desk.id is null then
    perform app.fail('cash_desk_not_found', '{"field": "from_user_id"}');
  end if;
  return v_desk;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_transfer_unbook(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_giver uuid;
  v_goal uuid;
  t money.cash_transfers;
begin
  if not money.has_desk() then
    perform app.fail('forbidden');
  end if;
  select x.* into t from money.cash_transfers x where x.tenant_id = v_tenant and x.id = (input ->> 'id')::uuid for no key update;
  if t.id is null then
    perform app.fail('cash_transfer_not_found');
  elsif t.from_user_id is distinct from app.user_id() and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  elsif t.reversed_at is not null then
    perform app.fail('cash_transfer_already_reversed');
  end if;
  update money.cash_transfers x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = t.id
  returning * into t;
  update money.payments x set status = 'pending', processed_at = null where x.tenant_id = v_tenant and x.id = t.refund_id;
  perform money.cash_transfer_event_emit('cash_transfer.reversed', t);
  v_goal := money.cash_transfer_destination(t);
  if t.kind = 'handover' then
    v_giver := money.account_of('cash_on_hand', t.from_owner_type, t.from_user_id, t.currency::text);
    perform money.lock_cash_desk(v_goal, v_giver, t.amount, t.currency::text);
  end if;
  perform money.reverse('cash_transfer', 'cash_transfer', t.id, input ->> 'reason');
  return t.id;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_receiver(asked uuid, field text DEFAULT 'remitted_to_user_id'::text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if asked is null then
    if (not money.settles_for_office() and app.settings('delivery', 'cod') ->> 'driver_self_remit' = 'require_receiver')
        or not exists (
          select from tenancy.tenant_users u
          where u.tenant_id = app.tenant_id() and u.user_id = app.user_id()
            and (u.is_active and u.tenant_user_type = 'staff' or not money.settles_for_office())) then
      perform app.fail('receiver_required', jsonb_build_object('field', field));
    end if;
    return app.user_id();
  end if;
  if not exists (
      select from tenancy.tenant_users u
      where u.tenant_id = app.tenant_id() and u.user_id = asked and u.is_active and u.tenant_user_type = 'staff'
        and exists (
          select from tenancy.tenant_user_roles r where r.tenant_id = u.tenant_id and r.user_id = u.user_id
            and (r.role_key in ('dispatcher', 'tenant_admin') or r.role_key = 'operations_manager' and money.has_desk()))) then
    perform app.fail('invalid_receiver', jsonb_build_object('field', field));
  end if;
  return asked;
end $function$;

CREATE OR REPLACE FUNCTION money.has_desk()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return money.settles_for_office() or app.has_role('operations_manager');
end $function$;

CREATE OR REPLACE FUNCTION money.lock_statement(p_id uuid)
 RETURNS money.merchant_statements
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  s money.merchant_statements;
begin
  select x.* into s from money.merchant_statements x
  where x.tenant_id = app.tenant_id() and x.id = p_id and (money.sees_statements() or x.owner_user_id = app.user_id()) for no key update;
  if s.id is null then
    perform app.fail('statement_not_found');
  end if;
  return s;
end $function$;

CREATE OR REPLACE FUNCTION money.sees_statements()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return app.grants() && '{role:dispatcher,role:operations_manager,role:tenant_admin,role:system_admin,permission:manage:tenant}';
end $function$;

CREATE VIEW "money"."cash_desks_list" WITH (security_invoker=true) AS  SELECT a.id,
    a.owner_type,
        CASE
            WHEN (p.id IS NOT NULL) THEN jsonb_build_object('id', p.id, 'full_name', p.full_name)
            ELSE NULL::jsonb
        END AS "user",
    a.currency,
    a.balance,
    ( SELECT e.created_at
           FROM money.ledger_entries e
          WHERE ((e.tenant_id = a.tenant_id) AND (e.account_id = a.id))
          ORDER BY e.id DESC NULLS LAST
         LIMIT 1) AS last_moved_at,
    p.full_name,
    a.owner_user_id AS user_id,
    a.created_at
   FROM (money.accounts a
     LEFT JOIN tenancy.profiles p ON ((p.id = a.owner_user_id)))
  WHERE ((a.kind = 'cash_on_hand'::text) AND (( SELECT money.settles_for_office() AS settles_for_office) OR (a.owner_user_id = ( SELECT app.user_id() AS user_id))));

CREATE VIEW "money"."cash_transfers_list" WITH (security_invoker=true) AS  SELECT t.id,
    t.kind,
    t.from_owner_type,
        CASE
            WHEN (f.id IS NOT NULL) THEN jsonb_build_object('id', f.id, 'full_name', f.full_name)
            ELSE NULL::jsonb
        END AS from_user,
        CASE
            WHEN (g.id IS NOT NULL) THEN jsonb_build_object('id', g.id, 'full_name', g.full_name)
            ELSE NULL::jsonb
        END AS to_user,
    t.refund_id,
    t.amount,
    t.currency,
    t.reference,
    t.notes,
    jsonb_build_object('id', t.actor_id, 'full_name', p.full_name) AS entered_by,
    t.created_at,
    t.reversed_at,
        CASE
            WHEN (t.reversed_by IS NOT NULL) THEN jsonb_build_object('id', t.reversed_by, 'full_name', r.full_name)
            ELSE NULL::jsonb
        END AS reversed_by,
    t.reversal_reason,
    t.from_user_id,
    t.to_user_id,
    f.full_name AS from_user_name,
    g.full_name AS to_user_name
   FROM ((((money.cash_transfers t
     LEFT JOIN tenancy.profiles f ON ((f.id = t.from_user_id)))
     LEFT JOIN tenancy.profiles g ON ((g.id = t.to_user_id)))
     LEFT JOIN tenancy.profiles p ON ((p.id = t.actor_id)))
     LEFT JOIN tenancy.profiles r ON ((r.id = t.reversed_by)))
  WHERE (( SELECT money.settles_for_office() AS settles_for_office) OR ((( SELECT app.user_id() AS user_id) = t.from_user_id) OR (( SELECT app.user_id() AS user_id) = t.to_user_id)));

CREATE POLICY "tenant" ON "money"."merchant_statement_lines" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT money.sees_statements() AS sees_statements) OR (EXISTS ( SELECT
   FROM money.merchant_statements s
  WHERE ((s.tenant_id = merchant_statement_lines.tenant_id) AND (s.id = merchant_statement_lines.statement_id))))))) WITH CHECK ((tenant_id = ( SELECT app.tenant_id() AS tenant_id)));

CREATE POLICY "tenant" ON "money"."merchant_statements" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT money.sees_statements() AS sees_statements) OR (owner_user_id = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT money.sees_statements() AS sees_statements) OR (owner_user_id = ( SELECT app.user_id() AS user_id)))));

REVOKE ALL ON FUNCTION "money"."has_desk"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."has_desk"() TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."sees_statements"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."sees_statements"() TO "barid_caller";

GRANT SELECT ON TABLE "money"."cash_desks_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."cash_transfers_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128063449';
end $$;

grant execute on function private.schema_version() to barid_api;
