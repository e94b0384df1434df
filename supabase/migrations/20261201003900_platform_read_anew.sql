-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table tenancy.notifications in access exclusive mode;
      set local lock_timeout = '250ms';
      lock table tenancy.subscriptions in access exclusive mode;
      alter view tenancy.audit_list reset (security_barrier);
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

DROP POLICY "tenant" ON "tenancy"."notifications";

DROP TRIGGER "audit_delete" ON "tenancy"."subscriptions";

DROP TRIGGER "audit_insert" ON "tenancy"."subscriptions";

DROP TRIGGER "audit_update" ON "tenancy"."subscriptions";

DROP VIEW "tenancy"."audit_list";

CREATE OR REPLACE FUNCTION integration.subscription_disable(id uuid, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_tenant uuid;
begin
  perform integration.subscription_hand_out(id);
  update integration.webhook_subscriptions s set is_active = false, disabled_at = now(), disabled_reason = reason
  where s.id = id and s.is_active returning s.tenant_id into v_tenant;
  if not found then
    return;
  end if;
  perform integration.waiting_fail(array[id], 5000);
  perform integration.subscription_disabled_event_emit(v_tenant, id, reason);
end $function$;

CREATE OR REPLACE FUNCTION integration.waiting_due(subscription uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  update integration.webhook_events e set attempts = 0, next_attempt_at = now()
  where e.id in (
    select w.id from integration.webhook_events w
    where w.subscription_id = waiting_due.subscription and w.next_attempt_at > now() and w.claim_token is null
    order by w.position limit 20000 for update skip locked);
  get diagnostics v_count = row_count;
  if exists (select from integration.webhook_events w where w.subscription_id = waiting_due.subscription and w.next_attempt_at is not null) then
    perform set_config('app.events_queued', 'on', true);
  end if;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION integration.waiting_fail(subscriptions uuid[], most integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  update integration.webhook_events e set status = 'failed', next_attempt_at = null,
    error_message = coalesce(e.error_message, 'subscription disabled')
  where e.id in (
    select w.id from integration.webhook_events w
    where w.subscription_id = any (waiting_fail.subscriptions) and w.next_attempt_at is not null and w.claim_token is null
    order by w.next_attempt_at limit waiting_fail.most for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_fan_out(batch integer DEFAULT 500)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant record;
  v_ids uuid[];
  v_events integer := 0;
  v_deliveries integer := 0;
begin
  for v_tenant in
    select l.tenant_id, l.from_position from integration.listening() l
    where exists (select from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position)
    order by random()
  loop
    exit when v_events >= 10 * batch;
    continue when not pg_try_advisory_xact_lock(hashtextextended('webhooks/' || v_tenant.tenant_id, 0));
    select array_agg(p.id order by p.position) into v_ids from (
      select e.id, e.position from integration.system_events e
      where e.tenant_id = v_tenant.tenant_id and not e.is_dispatched and e.position > v_tenant.from_position
      order by e.position limit batch for update) p;
    continue when v_ids is null;
    v_deliveries := v_deliveries + integration.deliveries_add(v_ids);
    update integration.system_events e set is_dispatched = true where e.id = any (v_ids);
    v_events := v_events + cardinality(v_ids);
  end loop;
  return jsonb_build_object('events', v_events, 'deliveries', v_deliveries);
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_release()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  update integration.webhook_events e set status = 'failed', claim_token = null, claimed_at = null,
    error_message = coalesce(e.error_message, 'interrupted')
  where e.claim_token is not null and e.next_attempt_at is null and e.claimed_at < now() - interval '5 minutes';
  get diagnostics v_count = row_count;
  return v_count + integration.waiting_fail(array(
    select s.id from integration.webhook_subscriptions s where not s.is_active and s.disabled_reason in ('gone', 'failing')), 20000);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.invitation_delivery(invitation_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_invitation tenancy.invitations;
  v_user record;
begin
  select i.* into v_invitation from tenancy.invitations i where i.id = invitation_id and i.status = 'pending' for update;
  if not found then
    return '{"step": "none"}';
  end if;
  select u.id, u.email_confirmed_at,
    exists (select from tenancy.system_users s where s.user_id = u.id) as is_system
  into v_user from auth.users u where u.email = v_invitation.email and not u.is_sso_user and u.deleted_at is null;
  if v_user.id is null then
    update tenancy.invitations i set account_id = coalesce(i.account_id, gen_random_uuid()),
      password_given = i.password_given or i.sealed_password is not null
    where i.id = v_invitation.id returning i.* into v_invitation;
    return jsonb_strip_nulls(jsonb_build_object('step', 'make', 'user_id', v_invitation.account_id, 'email', v_invitation.email,
      'full_name', v_invitation.person ->> 'full_name', 'password', v_invitation.sealed_password));
  elsif v_user.email_confirmed_at is null and exists (select from tenancy.invitations i where i.account_id = v_user.id) then
    return jsonb_build_object('step', 'mail', 'email', v_invitation.email);
  elsif v_user.email_confirmed_at is not null and not v_user.is_system then
    insert into tenancy.notifications (user_id, type, payload)
    select v_user.id, 'tenant_invitation', jsonb_build_object('invitation_id', v_invitation.id, 'tenant', t.slug)
    from tenancy.tenants t where t.id = v_invitation.tenant_id;
  end if;
  return '{"step": "none"}';
end $function$;

CREATE OR REPLACE FUNCTION tenancy.invitation_revoke(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_invitation tenancy.invitations := tenancy.lock_invitation((input ->> 'id')::uuid);
begin
  update tenancy.invitations i set status = 'revoked', answered_at = now(), sealed_password = null where i.id = v_invitation.id
  returning i.* into v_invitation;
  if v_invitation.account_id is not null then
    perform app.job_add('tenants.invitation_withdraw', jsonb_build_object('user_id', v_invitation.account_id),
      'invitation/' || v_invitation.id);
  end if;
  return jsonb_build_object('data', jsonb_build_object('invitation', tenancy.invitation_to_json(v_invitation)));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.invitations_purge()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  insert into app.jobs (kind, entity_key, payload)
  select 'tenants.invitation_withdraw', 'account/' || a.account_id, jsonb_build_object('user_id', a.account_id)
  from (
    select distinct i.account_id from tenancy.invitations i
    where i.account_id is not null and (i.status <> 'pending' or i.expires_at <= now())) a
  where tenancy.account_unused(a.account_id);
  delete from tenancy.invitations i where i.expires_at < now() - interval '90 days';
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE VIEW "tenancy"."audit_list" WITH (security_invoker=true) AS  SELECT id,
    entity AS entity_type,
    entity_id,
    action,
        CASE entity
            WHEN 'tenancy.subscriptions'::text THEN (before - 'note_internal'::text)
            ELSE before
        END AS before,
        CASE entity
            WHEN 'tenancy.subscriptions'::text THEN (after - 'note_internal'::text)
            ELSE after
        END AS after,
    operation,
    request_id,
    client_request_id,
    actor_id,
    ( SELECT p.full_name
           FROM tenancy.profiles p
          WHERE (p.id = l.actor_id)) AS actor_name,
    actor_key_id,
    ( SELECT k.name
           FROM tenancy.api_keys k
          WHERE (k.id = l.actor_key_id)) AS actor_key_name,
    created_at
   FROM app.audit_log l;

CREATE TRIGGER audit_delete AFTER DELETE ON tenancy.subscriptions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('note_internal');

CREATE TRIGGER audit_insert AFTER INSERT ON tenancy.subscriptions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('note_internal');

CREATE TRIGGER audit_update AFTER UPDATE ON tenancy.subscriptions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('note_internal');

CREATE POLICY "tenant" ON "tenancy"."notifications" FOR ALL TO "barid_caller" USING ((((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (user_id = ( SELECT app.user_id() AS user_id)))) OR ((tenant_id IS NULL) AND (user_id = ( SELECT app.user_id() AS user_id)) AND (( SELECT app.request_setting('api_key_id'::text) AS request_setting) IS NULL)))) WITH CHECK ((((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (user_id = ( SELECT app.user_id() AS user_id)))) OR ((tenant_id IS NULL) AND (user_id = ( SELECT app.user_id() AS user_id)) AND (( SELECT app.request_setting('api_key_id'::text) AS request_setting) IS NULL))));

REVOKE ALL ON FUNCTION "integration"."waiting_fail"(uuid[], integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."waiting_fail"(uuid[], integer) TO "barid_caller";

GRANT SELECT ON TABLE "tenancy"."audit_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201003900';
end $$;

grant execute on function private.schema_version() to barid_api;
