-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table tenancy.invitations in access exclusive mode;
      set local lock_timeout = '500ms';
      alter view delivery.delivery_exceptions_list reset (security_barrier);
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

DROP VIEW "delivery"."delivery_exceptions_list";

ALTER TABLE "tenancy"."invitations" ADD COLUMN "password_given" boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION delivery.routes_store(tenant uuid, routes text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  -- The log of changes names the company that the request acts in.
  perform set_config('app.tenant_id', tenant::text, true);
  perform from delivery.assignments a
  where a.tenant_id = tenant and a.id in (select r.id from jsonb_to_recordset(routes::jsonb) r (id uuid))
  order by a.id for no key update;
  update delivery.assignments a set route_details = r.route_details
  from jsonb_to_recordset(routes::jsonb) r (id uuid, route_details jsonb)
  where a.tenant_id = tenant and a.id = r.id and r.route_details ->> 'source' = 'routing'
    and a.route_details ->> 'source' is distinct from 'routing';
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION integration.require_not_stopped(subscription uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if exists (select from integration.webhook_subscriptions_list s where s.id = subscription and s.disabled_reason = 'stopped') then
    perform app.fail('webhook_subscription_stopped');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION integration.retry_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'event_id')::uuid;
  v_answer jsonb := integration.key_claim(input);
  e integration.webhook_events;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  perform integration.require_not_stopped((select w.subscription_id from integration.webhook_events w where w.id = v_id));
  update integration.webhook_events w set status = 'retrying', next_attempt_at = null, claim_token = gen_random_uuid(), claimed_at = now()
  where w.id = v_id and ((w.status = 'failed' and w.claim_token is null)
    or (w.status = 'retrying' and w.claimed_at < now() - interval '5 minutes'))
    and exists (select from integration.webhook_subscriptions_list s where s.id = w.subscription_id)
  returning w.* into e;
  if not found then
    perform app.fail(case when exists (select from integration.webhook_events w join integration.webhook_subscriptions_list s on s.id = w.subscription_id
        where w.id = v_id)
      then 'webhook_event_not_failed' else 'webhook_event_not_found' end);
  end if;
  return jsonb_build_object('claimed', integration.claimed(e));
end $function$;

CREATE OR REPLACE FUNCTION integration.shipment_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_answer jsonb := integration.key_claim(input);
  v_credentials text;
  d delivery.deliveries;
  c integration.carriers;
  s integration.carrier_shipments;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer, 'remembered', true);
  end if;
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid for no key update;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  c := integration.carrier_of(input ->> 'carrier_code');
  if c.is_internal or d.carrier_type <> 'external' then
    perform app.fail('delivery_not_external');
  end if;
  select k.credentials into v_credentials from integration.tenant_carriers k
  where k.tenant_id = v_tenant and k.carrier_code = c.code and k.is_enabled;
  if not found then
    perform app.fail('carrier_not_enabled');
  end if;
  perform integration.shipments_end(array[d.id]);
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = v_tenant and t.delivery_id = d.id and t.status <> 'cancelled' for update;
  if found then
    if s.carrier_code <> c.code then
      perform app.fail('shipment_with_other_carrier');
    elsif s.status = 'booked' then
      v_answer := integration.shipment_to_json(s);
      -- A late repetition, after a cancellation, must find this answer and book nothing.
      if input ? 'key' then
        v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
      end if;
      return jsonb_build_object('answer', v_answer);
    elsif s.status <> 'booking' or integration.claim_holds(s) then
      perform app.fail('shipment_in_progress');
    end if;
  end if;
  -- Also where an earlier booking never came back: it would be bought for a delivery that nobody sends any more.
  if d.status <> 'pending' or coalesce(d.carrier_code, c.code) <> c.code then
    perform app.fail('delivery_not_bookable', jsonb_build_object('status', d.status));
  elsif d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  end if;
  perform delivery.require_no_return(d);
  perform storefront.require_order_picked(d.id);
  -- A carrier hands over the whole.
  perform delivery.require_amount_for_whole(delivery.parcel_terms(d));
  if s.id is null then
    insert into integration.carrier_shipments (tenant_id, delivery_id, carrier_code, cash_due)
    values (v_tenant, d.id, c.code, integration.cash_for_carrier(d, (input ->> 'collects_cash')::boolean))
    returning * into s;
  end if;
  update integration.carrier_shipments t set claim_token = gen_random_uuid(), claimed_at = now() where t.id = s.id returning t.* into s;
  return jsonb_build_object('shipment_id', s.id, 'claim_token', s.claim_token, 'credentials', v_credentials,
    'delivery', jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'recipient', d.recipient,
      'pickup', d.pickup_snapshot, 'dropoff', d.dropoff_snapshot, 'package_details', d.package_details, 'unit_size', d.unit_size,
      'cash_due', s.cash_due, 'currency', d.currency, 'notes', d.notes));
end $function$;

CREATE OR REPLACE FUNCTION integration.test_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := case when input ? 'key' then md5(concat_ws('/', private.idempotency_scope(), input ->> 'id', input ->> 'key'))::uuid
    else gen_random_uuid() end;
  v_answer jsonb := integration.key_claim(input);
  e integration.webhook_events;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  perform integration.subscription_of((input ->> 'id')::uuid);
  perform integration.require_not_stopped((input ->> 'id')::uuid);
  begin
    insert into integration.webhook_events as w (id, tenant_id, subscription_id, event_type, entity_key, body, status, next_attempt_at,
      claim_token, claimed_at)
    values (v_id, app.tenant_id(), (input ->> 'id')::uuid, 'webhook.test', 'test/' || v_id,
      integration.webhook_body(v_id, 'webhook.test', now(), app.tenant_id(), '{"test": true}'), 'retrying', null, gen_random_uuid(), now())
    on conflict (id) do update set status = 'retrying', claim_token = excluded.claim_token, claimed_at = excluded.claimed_at
    where w.claim_token is null or w.claimed_at < now() - interval '5 minutes'
    returning * into e;
  exception when foreign_key_violation then
    -- Removed since it was looked for.
    perform app.fail('webhook_subscription_not_found');
  end;
  return case when e.id is null then '{"busy": true}' else jsonb_build_object('claimed', integration.claimed(e)) end;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_reconcile_all(only_tenant uuid DEFAULT NULL::uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select t.id, 'cod.mismatch', 'delivery', 'tenant', t.id, jsonb_build_object('differences', d.list)
  from tenancy.tenants t
  cross join lateral (
    select jsonb_agg(to_jsonb(x) order by x.kind, x.driver_id, x.carrier_code, x.user_id) as list
    from (select * from money.cod_differences(t.id, now()) limit 100) x
  ) d
  where d.list is not null and t.status <> 'archived' and (only_tenant is null or t.id = only_tenant);
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION money.payment_open(p_payment uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  select * into p from money.payments x where x.id = p_payment and x.gateway_order_id is not null for no key update;
  if p.id is null or p.status <> 'pending' then
    return null;
  elsif p.redirect_url is not null then
    return jsonb_build_object('redirect_url', p.redirect_url, 'gateway_order_id', p.gateway_order_id, 'expires_at', p.expires_at);
  elsif p.opened_at > clock_timestamp() - interval '15 seconds' then
    return jsonb_build_object('wait', true);
  end if;
  update money.payments x set opened_at = clock_timestamp(),
    gateway_order_id = case when x.opened_at is null then x.gateway_order_id else nextval('money.gateway_order_ids')::text end,
    -- Razorpay takes no link that ends within 15 minutes. The payment ends with its page, so that it is asked about until then.
    expires_at = greatest(x.expires_at, clock_timestamp() + interval '17 minutes'),
    gateway_account = (select money.gateway_account(g.settings) from money.payment_gateways g
      where g.tenant_id = x.tenant_id and g.gateway_code = x.gateway_code)
  where x.id = p.id returning * into p;
  perform set_config('app.tenant_id', p.tenant_id::text, true);
  return jsonb_build_object('open', money.payment_known(p));
end $function$;

CREATE OR REPLACE FUNCTION private.job_dead_announce(j app.jobs)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select j.tenant_id, 'job.dead', split_part(j.kind, '.', 1), 'tenant', j.tenant_id,
    jsonb_build_object('job_id', j.id, 'kind', j.kind, 'attempts', j.attempts)
  where j.tenant_id is not null;
end $function$;

CREATE OR REPLACE FUNCTION private.job_finish(job_id bigint, token uuid, error text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_job app.jobs;
begin
  update app.jobs j set
    status = case when error is null then 'done' when j.attempts >= j.attempts_max then 'dead' else 'queued' end,
    run_at = case when error is null then j.run_at
      else now() + least(interval '1 hour', interval '5 seconds' * 2 ^ least(j.attempts - 1, 12)) end,
    finished_at = case when error is null or j.attempts >= j.attempts_max then now() end,
    last_error = left(error, 2000), lease_until = null, lease_token = null
  where j.id = job_id and j.status = 'running' and j.lease_token = token
  returning * into v_job;
  if v_job.status = 'dead' then
    perform private.job_dead_announce(v_job);
  end if;
  return v_job.status;
end $function$;

CREATE OR REPLACE FUNCTION private.jobs_claim(kinds text[], batch integer DEFAULT 10, lease interval DEFAULT '00:02:00'::interval)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_jobs jsonb;
begin
  with lost as (
    update app.jobs j set status = 'dead', finished_at = now(), last_error = 'its runner ended each time', lease_until = null, lease_token = null
    where j.kind = any (kinds) and j.run_at <= now() and j.status = 'running' and j.lease_until < now() and j.attempts >= greatest(j.attempts_max, 8)
    returning j.*
  ), announced as (
    select private.job_dead_announce(l) from lost l
  ), due as (
    select j.id from app.jobs j
    where j.kind = any (kinds) and j.run_at <= now() and (select count(*) from announced) >= 0
      and (j.status = 'queued' or (j.status = 'running' and j.lease_until < now() and j.attempts < greatest(j.attempts_max, 8)))
      and not exists (
        select from app.jobs e where e.entity_key = j.entity_key and e.id < j.id and e.status in ('queued', 'running'))
    order by j.run_at, j.id
    limit batch
    for update of j skip locked
  ), leased as (
    update app.jobs j set status = 'running', attempts = j.attempts + 1, lease_until = now() + lease,
      lease_token = gen_random_uuid()
    from due where j.id = due.id
    returning j.*
  )
  select coalesce(jsonb_agg(jsonb_build_object('id', l.id, 'tenant_id', l.tenant_id, 'kind', l.kind,
    'payload', l.payload, 'attempts', l.attempts, 'lease_token', l.lease_token, 'trace_context', l.trace_context) order by l.id), '[]')
  into v_jobs from leased l;
  return v_jobs;
end $function$;

CREATE OR REPLACE FUNCTION private.rate_take(bucket text, per_minute integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
  v_left double precision;
begin
  if current_setting('transaction_read_only')::boolean then
    return null;
  end if;
  insert into app.rate_buckets as b (bucket, tokens, taken_at) values (rate_take.bucket, per_minute - 1, v_now)
  on conflict (bucket) do update set taken_at = greatest(b.taken_at, v_now), tokens = private.rate_left(b, per_minute, v_now) - 1
    where private.rate_left(b, per_minute, v_now) >= 1;
  if found then
    return null;
  end if;
  select private.rate_left(b, per_minute, v_now) into v_left from app.rate_buckets b where b.bucket = rate_take.bucket;
  return greatest(1, ceil((1 - v_left) * 60 / per_minute));
end $function$;

CREATE OR REPLACE FUNCTION private.tally_count(tally text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_kind app.tally_kinds;
  v_finer app.tally_kinds;
begin
  -- With the fold: what one is writing meanwhile would stay beside the new count.
  perform pg_advisory_xact_lock(hashtextextended('app.tallies', 0));
  select k.* into v_kind from app.tally_kinds k where k.tally = tally;
  select k.* into v_finer from app.tally_kinds k where k.tally = v_kind.rollup_of;
  execute format('lock table %s in share mode', v_kind.source);
  delete from app.tallies t where t.tally = tally;
  execute 'insert into app.tallies (tenant_id, tally, dims, entries, amount) ' || case when v_finer.tally is null then private.tally_counted(tally)
    else format('select d.tenant_id, %L, %s, sum(d.entries), sum(d.amount) from app.tallies d where d.tally = %L group by 1, 3', tally,
      private.tally_rolled_up(v_finer.dims, v_kind.dims), v_finer.tally) end;
end $function$;

CREATE OR REPLACE FUNCTION storefront.domains_recheck()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  update storefront.custom_domains d set status = 'archived', disconnected_at = now()
  where d.status = 'pending_dns' and d.pending_since <= now() - interval '7 days' and not app.is_archived(d.tenant_id);
  insert into app.jobs (tenant_id, kind, payload, entity_key, attempts_max)
  select d.tenant_id, 'storefront.verify_domain', jsonb_build_object('domain_id', d.id), d.id::text, 1
  from (
    select p.tenant_id, p.id from storefront.custom_domains p where p.status = 'pending_dns'
    union all
    select a.tenant_id, a.id from storefront.custom_domains a where a.status = 'active' and a.dns_checked_at <= now() - interval '1 day'
  ) d
  where not app.is_archived(d.tenant_id)
    and not exists (select from app.jobs j where j.entity_key = d.id::text and j.status in ('queued', 'running'));
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_deliveries(o storefront.storefront_orders, lines jsonb, sources jsonb, dropoff uuid)
 RETURNS delivery.deliveries[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_place jsonb := o.shipping_address;
  v_recipient jsonb := storefront.order_recipient(o);
  v_goods numeric[];
  v_source record;
  v_made delivery.deliveries[] := '{}';
begin
  if sources #>> '{0,warehouse_id}' is null then
    perform app.fail('staging_warehouse_required', '{"field": "warehouse_id"}');
  end if;
  if o.payment_method = 'cash_on_delivery' then
    select storefront.shares(storefront.goods_total(o), array_agg(v.value order by v.place), money.decimals_of(o.currency)) into v_goods
    from (
      select s.place, sum(i.unit_price * l.quantity) as value
      from jsonb_array_elements(sources) with ordinality s (source, place)
      cross join lateral jsonb_to_recordset(s.source -> 'lines') as l (line integer, quantity integer)
      join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = (lines -> (l.line - 1) ->> 'order_item_id')::uuid
      group by 1) v;
  end if;
  for v_source in
    select s.source, s.place, case when s.place = 1 and not exists (
        select from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status <> 'cancelled' and d.delivery_fee > 0)
      then o.shipping_cost else 0 end as fee
    from jsonb_array_elements(sources) with ordinality s (source, place) order by s.place
  loop
    v_made := v_made || delivery.delivery_terms(storefront.order_quote_input(o.delivery_service_id::text, v_source.source, v_place) - '{pickup,dropoff}'::text[]
      || jsonb_build_object('order_id', o.id, 'delivery_fee', v_source.fee, 'customer_id', o.user_id, 'payer_type', 'sender',
        'payment_method', 'wallet', 'cod_amount',
        case when o.payment_method = 'cash_on_delivery' then least(v_source.fee, o.total_price) + coalesce(v_goods[v_source.place], 0) else 0 end,
        'pickup_warehouse_id', v_source.source -> 'warehouse_id', 'external_reference_id', o.order_number,
        'dropoff_address_id', coalesce(v_source.source ->> 'dropoff_address_id', dropoff::text),
        'notes', o.customer_notes, 'promised_at', o.estimated_delivery, 'recipient', coalesce(v_source.source -> 'recipient', v_recipient)));
  end loop;
  return v_made;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_redeliver(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_lines jsonb := storefront.order_lines(o);
  v_sources jsonb := storefront.order_stranded(o, v_lines);
  v_made delivery.deliveries[];
  v_ids uuid[] := '{}';
begin
  if v_sources = '[]' then
    perform app.fail('order_nothing_to_redeliver', jsonb_build_object('status', o.status));
  end if;
  v_made := storefront.order_deliveries(o, v_lines, v_sources, null);
  for place in 1..cardinality(v_made) loop
    v_ids := v_ids || delivery.delivery_write(v_made[place], storefront.order_contents(v_lines, v_sources -> (place - 1)));
  end loop;
  perform storefront.order_parts_renew(o.id, v_sources, v_ids);
  return storefront.order_get(input);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_stranded(o storefront.storefront_orders, lines jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('part_id', p.id, 'warehouse_id', p.warehouse_id, 'dropoff_address_id', d.dropoff_address_id,
      'recipient', d.recipient,
      'units', z.units, 'unmeasured', z.unmeasured, 'lines', z.lines) order by p.position), '[]')
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status = 'cancelled'
    cross join lateral (
      select sum(i.unit_size * (g.quantity - g.short)) as units, bool_or(i.id is null) as unmeasured,
        jsonb_agg(jsonb_build_object('line', l.line, 'quantity', g.quantity - g.short) order by g.position) as lines
      from storefront.storefront_order_part_items g
      join rows from (jsonb_to_recordset(lines) as (order_item_id uuid, inventory_item_id uuid)) with ordinality
        l (order_item_id, inventory_item_id, line) on l.order_item_id = g.order_item_id
      left join warehousing.inventory_items i on i.tenant_id = g.tenant_id and i.id = l.inventory_item_id
      where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short) z
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and z.lines is not null
      and o.status in ('approved', 'confirmed', 'shipped'));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.account_creator(user_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(
    (select r.new_tenant_id from tenancy.wizard_runs r
      where r.admin_user_id = account_creator.user_id and not r.admin_existed order by r.created_at desc limit 1),
    (select j.tenant_id from app.jobs j
      where j.kind = 'tenants.remove_auth_user' and j.entity_key = account_creator.user_id::text and j.status in ('queued', 'running')
      order by j.id desc limit 1),
    (select i.tenant_id from tenancy.invitations i
      where i.account_id = account_creator.user_id and (i.password_given or i.sealed_password is not null) order by i.created_at desc limit 1));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.invitation_deliver(id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- Auth sends so many mails an hour and no more: half a day of attempts outlives that.
  perform app.job_add('tenants.invitation_deliver', jsonb_build_object('invitation_id', invitation_deliver.id),
    'invitation/' || invitation_deliver.id, null, 24);
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
  elsif v_user.id = v_invitation.account_id and v_user.email_confirmed_at is null then
    return jsonb_build_object('step', 'mail', 'email', v_invitation.email);
  elsif v_user.email_confirmed_at is not null and not v_user.is_system then
    insert into tenancy.notifications (user_id, type, payload)
    select v_user.id, 'tenant_invitation', jsonb_build_object('invitation_id', v_invitation.id, 'tenant', t.slug)
    from tenancy.tenants t where t.id = v_invitation.tenant_id;
  end if;
  return '{"step": "none"}';
end $function$;

CREATE OR REPLACE FUNCTION warehousing.report_stock(only_tenant uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select t.id, 'stock.mismatch', 'warehousing', 'tenant', t.id, jsonb_build_object('differences', d.list)
  from tenancy.tenants t
  cross join lateral (
    select jsonb_agg(jsonb_strip_nulls(to_jsonb(x)) order by x.kind, x.stock_id, x.movement_id, x.order_id, x.picking_order_id) as list
    from (select * from warehousing.stock_differences(t.id, now()) limit 100) x) d
  where d.list is not null and t.status <> 'archived' and (only_tenant is null or t.id = only_tenant);
end $function$;

CREATE VIEW "delivery"."delivery_exceptions_list" WITH (security_invoker=true) AS  SELECT e.id,
    e.tenant_id,
    e.delivery_id,
    e.type,
    e.status,
    e.items,
    e.notes,
    e.resolution,
    e.resolution_notes,
    e.created_by,
    e.resolved_by,
    e.resolved_at,
    e.created_at,
    e.updated_at,
    COALESCE(d.delivery_code, p.delivery_code) AS delivery_code,
    COALESCE(d.status, p.status) AS delivery_status,
    jsonb_build_object('id', COALESCE(d.id, p.id), 'delivery_code', COALESCE(d.delivery_code, p.delivery_code), 'barcode', COALESCE(d.barcode, p.barcode), 'status', COALESCE(d.status, p.status), 'delivery_flow', COALESCE(d.delivery_flow, p.delivery_flow), 'parent_id', d.parent_id) AS delivery
   FROM ((delivery.delivery_exceptions e
     LEFT JOIN delivery.deliveries d ON (((d.tenant_id = e.tenant_id) AND (d.id = e.delivery_id))))
     LEFT JOIN LATERAL ( SELECT t.id,
            t.tenant_id,
            t.delivery_code,
            t.barcode,
            t.external_reference_id,
            t.parent_id,
            t.original_delivery_id,
            t.leg,
            t.sequence_plan,
            t.delivery_flow,
            t.status,
            t.customer_id,
            t.institution_user_id,
            t.delivery_service_id,
            t.carrier_type,
            t.carrier_code,
            t.payer_type,
            t.payment_method,
            t.cod_amount,
            t.delivery_fee,
            t.currency,
            t.unit_size,
            t.unit_size_source,
            t.package_details,
            t.distance_km,
            t.pickup_address_id,
            t.dropoff_address_id,
            t.pickup_snapshot,
            t.dropoff_snapshot,
            t.pickup_zone_id,
            t.dropoff_zone_id,
            t.pickup_warehouse_id,
            t.dropoff_warehouse_id,
            t.transfer_kind,
            t.ordered_to_warehouse_id,
            t.ordered_from_address_id,
            t.ordered_from_snapshot,
            t.ordered_from_warehouse_id,
            t.current_warehouse_id,
            t.staging_warehouse_id,
            t.recipient,
            t.notes,
            t.service_snapshot,
            t.order_id,
            t.manifest_id,
            t.manifest_item_id,
            t.source_snapshot,
            t.snapshot_version,
            t.label_edition,
            t.label_outdated,
            t.label_assignment,
            t.status_reason,
            t.status_notes,
            t.attempts_used,
            t.promised_at,
            t.picked_up_at,
            t.delivered_at,
            t.created_by,
            t.created_at,
            t.updated_at,
            t.changed,
            t.deliver_after,
            t.deliver_before,
            t.ordered_cod_amount,
            t.attempts_exhausted,
            t.returns_part,
            t.postponed_to,
            t.overnight_notice_at,
            t.made_at_door,
            t.delivered_in_part
           FROM (delivery.deliveries l
             CROSS JOIN LATERAL delivery.parcel_terms(l.*) t(id, tenant_id, delivery_code, barcode, external_reference_id, parent_id, original_delivery_id, leg, sequence_plan, delivery_flow, status, customer_id, institution_user_id, delivery_service_id, carrier_type, carrier_code, payer_type, payment_method, cod_amount, delivery_fee, currency, unit_size, unit_size_source, package_details, distance_km, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot, pickup_zone_id, dropoff_zone_id, pickup_warehouse_id, dropoff_warehouse_id, transfer_kind, ordered_to_warehouse_id, ordered_from_address_id, ordered_from_snapshot, ordered_from_warehouse_id, current_warehouse_id, staging_warehouse_id, recipient, notes, service_snapshot, order_id, manifest_id, manifest_item_id, source_snapshot, snapshot_version, label_edition, label_outdated, label_assignment, status_reason, status_notes, attempts_used, promised_at, picked_up_at, delivered_at, created_by, created_at, updated_at, changed, deliver_after, deliver_before, ordered_cod_amount, attempts_exhausted, returns_part, postponed_to, overnight_notice_at, made_at_door, delivered_in_part))
          WHERE ((d.id IS NULL) AND (l.tenant_id = e.tenant_id) AND (l.parent_id = e.delivery_id))
         LIMIT 1) p ON (true));

REVOKE ALL ON FUNCTION "integration"."require_not_stopped"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."require_not_stopped"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."job_dead_announce"(app.jobs) FROM PUBLIC;

GRANT SELECT ON TABLE "delivery"."delivery_exceptions_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130212017';
end $$;

grant execute on function private.schema_version() to barid_api;
