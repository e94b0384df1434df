-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table tenancy.tenants in share row exclusive mode;
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

CREATE TABLE "app"."tenant_timelines" ("tenant_id" uuid NOT NULL, "timeline" integer NOT NULL, "began_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "tenant_timelines_pkey" PRIMARY KEY (tenant_id), CONSTRAINT "tenant_timelines_timeline_check" CHECK ((timeline > 0)));

ALTER TABLE "app"."tenant_timelines" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "app"."tenant_timelines" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, OUT code text, OUT params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel_id uuid := delivery.parcel_of(d);
  v_brought_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  perform app.require_tenant(o.tenant_id);
  select x.code, x.params into code, params from (values
    -- Of a carrier's reports `delivered` alone leaves an outcome: after any other it reports again. One from before outcomes of carriers were
    -- kept left none: nobody knows any more what it changed.
    (1, 'carrier_reports_outcome', d.carrier_type = 'external' and d.status in ('failed', 'returned')
      and delivery.last_move(d.id) is distinct from o.last_move_id, '{}'),
    (2, 'no_outcome_to_undo', o.id is null or d.carrier_type = 'external' and d.status = 'delivered'
      and delivery.last_move(d.id) is distinct from o.last_move_id, jsonb_build_object('status', d.status)),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until, 'until', app.clock(v_until))),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or on its way to another driver's, or was lost; or another one was ordered since,
    -- and is not cancelled, or was fetched before that.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.created_at >= o.created_at and (r.status <> 'cancelled' or r.created_at = o.created_at or r.picked_up_at is not null)
      and ((r.created_at, r.status) is distinct from (o.created_at, 'picked_up')
        or not exists (select from delivery.assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.id
          and a.status in ('assigned', 'accepted') and a.driver_id = o.driver_id))),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel_id))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- It gave something back, and its customer has ordered another return of that parcel.
    (9, 'outcome_went_on', d.status = 'delivered' and exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id
      and r.original_delivery_id = delivery.gave_back_of(d.id) and r.created_at >= o.created_at
      and (r.status <> 'cancelled' or r.picked_up_at is not null)), '{}'),
    -- It came back to the customer who sends it, and they have ordered another return since.
    (9, 'outcome_went_on', o.result = 'returned' and d.delivery_flow = 'customer_return' and exists (select from delivery.deliveries r
      where r.tenant_id = o.tenant_id and r.original_delivery_id = d.original_delivery_id and r.id <> d.id and r.created_at >= o.created_at
        and r.status <> 'cancelled'), '{}'),
    -- Its fee was given back since; by its return alone, that is reversed, unless a desk has paid it.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at and p.status <> 'CANCELLED'
      and not (o.result = 'returned' and p.created_at = o.created_at and (p.payment_method = 'wallet' or p.status = 'pending'))), '{}'),
    -- The goods of a store's order are its stock again.
    (11, 'outcome_went_on', o.result = 'returned' and d.order_id is not null, '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (12, 'outcome_is_settled', exists (select from money.carrier_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status in ('remitted', 'written_off')), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION private.call(claims jsonb, rule jsonb, work text, input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_language text;
  v_answer jsonb;
  v_version text;
  v_reads_only boolean := coalesce((rule ->> 'reads_only')::boolean, false);
  -- A dry run is undone, and made again to see whether what it found was mended: there is nothing to remember.
  v_key text := case when input ->> 'dry_run' is distinct from 'true' then claims ->> 'idempotency_key' end;
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  if v_key is not null then
    -- For cores that remember for longer than the engine does.
    perform set_config('app.idempotency_key', v_key, true);
    v_answer := private.idempotency_claim(claims ->> 'operation', v_key, input - 'made', coalesce(rule ->> 'conflict', 'idempotency_conflict'));
    if v_answer is not null then
      return json_build_object('data', v_answer, 'replayed', true, 'language', v_language, 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id');
    end if;
  end if;
  if rule ? 'replay_only' then
    perform app.fail('validation_failed');
  end if;
  if rule #> '{version,expected}' is not null then
    perform private.version_expect(rule -> 'version');
  end if;
  if v_reads_only and rule ? 'version' then
    v_version := private.version_of(rule -> 'version');
  end if;
  execute format('select %I.%I($1)', split_part(work, '.', 1), split_part(work, '.', 2)) into v_answer using input;
  if v_key is not null then
    perform private.idempotency_store(claims ->> 'operation', v_key, coalesce(v_answer, 'null'));
  end if;
  if not v_reads_only then
    -- A deferred constraint that fails at the commit would be an error outside of this block.
    set constraints all immediate;
    if rule ? 'version' then
      v_version := private.version_of(rule -> 'version');
    end if;
  end if;
  return json_build_object('data', v_answer, 'language', coalesce(app.request_setting('shop_language'), v_language), 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id',
    'version', v_version,
    'jobs', coalesce(nullif(current_setting('app.jobs_queued', true), ''), 'off') = 'on',
    'events', coalesce(nullif(current_setting('app.events_queued', true), ''), 'off') = 'on');
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  return private.refusal(v_refused, claims)::json;
end $function$;

CREATE OR REPLACE FUNCTION private.cursor_base()
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return 1000000000000000 * private.timeline_of(app.tenant_id());
end $function$;

CREATE OR REPLACE FUNCTION private.cursor_number(number bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_timeline bigint := number / 1000000000000000;
  v_changed bigint := number % 1000000000000000;
begin
  if v_changed >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint or number - v_changed > private.cursor_base()
      or exists (select from app.timelines t where t.timeline > v_timeline and t.begins <= v_changed)
      or exists (select from app.tenant_timelines t where t.tenant_id = app.tenant_id() and t.timeline > v_timeline) then
    perform app.fail('invalid_cursor', '{"field": "cursor"}');
  end if;
  return v_changed;
end $function$;

CREATE OR REPLACE FUNCTION private.tenant_timeline_begin(tenant uuid, there bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into app.tenant_timelines (tenant_id, timeline)
  select tenant, there + coalesce(max(t.timeline), 0) + 1 + (select count(*) from tenancy.deleted_tenants d where d.id = tenant)
  from app.timelines t;
end $function$;

CREATE OR REPLACE FUNCTION private.timeline_begin(begins bigint DEFAULT NULL::bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into app.timelines (timeline, begins)
  select greatest(0, (select max(t.timeline) from app.timelines t), (select max(t.timeline) from app.tenant_timelines t)) + 1,
    coalesce(timeline_begin.begins, pg_snapshot_xmin(pg_current_snapshot())::text::bigint);
end $function$;

CREATE OR REPLACE FUNCTION private.timeline_of(tenant uuid)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return greatest(0, (select max(t.timeline) from app.timelines t), (select t.timeline from app.tenant_timelines t where t.tenant_id = tenant));
end $function$;

ALTER TABLE "app"."tenant_timelines" ADD CONSTRAINT "tenant_timelines_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE CASCADE;

CREATE POLICY "deny_all" ON "app"."tenant_timelines" FOR ALL TO "barid_caller" USING (false);

REVOKE ALL ON FUNCTION "private"."tenant_timeline_begin"(uuid, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."timeline_of"(uuid) FROM PUBLIC;

-- Bookings of deliveries that were cancelled before a cancellation told the carrier: those of the last thirty days, since older ones have ended
-- at their carriers. As integration.bookings_follow_deliveries.
insert into app.jobs (tenant_id, kind, payload, entity_key)
select s.tenant_id, 'carriers.shipment_withdraw', jsonb_build_object('shipment_id', s.id), s.id::text
from integration.carrier_shipments s
join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.status = 'cancelled'
where s.status <> 'cancelled' and s.created_at > now() - interval '30 days' and not exists (
  select from warehousing.receiving_orders r
  where r.tenant_id = s.tenant_id and r.delivery_id = s.delivery_id and r.status = 'received' and r.source <> 'inbound'
    and r.received_at > s.booked_at)
order by s.id;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129164014';
end $$;

grant execute on function private.schema_version() to barid_api;
