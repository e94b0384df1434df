-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.deliveries in share row exclusive mode;
      set local lock_timeout = '250ms';
      lock table tenancy.profiles in share row exclusive mode;
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

CREATE TABLE "delivery"."delivery_import_lines" ("tenant_id" uuid NOT NULL, "delivery_id" uuid NOT NULL, "import_id" uuid NOT NULL, "line" integer NOT NULL, CONSTRAINT "delivery_import_line_taken" UNIQUE (tenant_id, import_id, line), CONSTRAINT "delivery_import_lines_line_check" CHECK ((line > 1)), CONSTRAINT "delivery_import_lines_pkey" PRIMARY KEY (tenant_id, delivery_id));

ALTER TABLE "delivery"."delivery_import_lines" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."delivery_import_lines" FORCE ROW LEVEL SECURITY;

CREATE TABLE "delivery"."delivery_imports" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "content_hash" bytea NOT NULL, "created_by" uuid, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "cancelled_by" uuid, "cancelled_at" timestamp with time zone, CONSTRAINT "delivery_imports_pkey" PRIMARY KEY (id), CONSTRAINT "delivery_imports_tenant_id_id_key" UNIQUE (tenant_id, id));

ALTER TABLE "delivery"."delivery_imports" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."delivery_imports" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.delivery_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_cancelled record := delivery.parcel_cancel(input);
begin
  return v_cancelled.refund || jsonb_build_object('delivery', delivery.delivery_to_json(v_cancelled.delivery_id),
    'operational_return', delivery.delivery_to_json(v_cancelled.return_id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_import(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_returned uuid[];
  v_senders uuid[];
  v_hash bytea := sha256(convert_to((input -> 'lines')::text, 'UTF8'));
  v_known jsonb;
  v_import uuid;
  v_answer jsonb;
begin
  -- A return that names no sender is paid by that of the delivery which comes back.
  select array_agg(o.id) filter (where l -> 'input' ->> 'delivery_flow' = 'customer_return'),
    array_agg(distinct s.id) filter (where l -> 'input' ->> 'payment_method' = 'wallet')
  into v_returned, v_senders
  from jsonb_array_elements(input -> 'lines') l
  left join delivery.deliveries o on o.id = (l -> 'input' ->> 'original_delivery_id')::uuid
  cross join unnest(array[(l -> 'input' ->> 'customer_id')::uuid, (l -> 'input' ->> 'institution_user_id')::uuid,
    o.customer_id, o.institution_user_id]) s (id);
  if v_returned is not null then
    perform delivery.lock_deliveries(v_returned);
  end if;
  perform app.lock_numbers('delivery_code', not (input ->> 'dry_run')::boolean);
  if v_senders is not null then
    perform money.lock_wallets(case when app.sees_tenant() then v_senders else array[app.user_id()] end);
  end if;
  v_known := delivery.import_duplicates(input -> 'lines') || jsonb_build_object('imported_before', delivery.import_of_content(v_hash));
  v_answer := app.import_lines('delivery.delivery_create', '{id}', input);
  if not (input ->> 'dry_run')::boolean then
    insert into delivery.delivery_imports (tenant_id, content_hash, created_by) values (app.tenant_id(), v_hash, app.user_id())
    returning id into v_import;
    insert into delivery.delivery_import_lines (tenant_id, import_id, delivery_id, line)
    select app.tenant_id(), v_import, i.id::uuid, (l.line ->> 'line')::integer
    from jsonb_array_elements(input -> 'lines') with ordinality l (line, position)
    join jsonb_array_elements_text(v_answer -> 'ids') with ordinality i (id, position) using (position);
  end if;
  return v_answer || v_known || jsonb_build_object('import_id', v_import);
end $function$;

CREATE OR REPLACE FUNCTION delivery.import_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_import delivery.delivery_imports;
  v_deliveries uuid[];
  v_senders uuid[];
  v_delivery uuid;
  v_cancelled uuid[] := '{}';
  v_left jsonb := '{}';
  v_detail text;
begin
  select * into v_import from delivery.delivery_imports i where i.id = (input ->> 'id')::uuid for no key update;
  if not found then
    perform app.fail('import_not_found');
  end if;
  v_deliveries := array(
    select l.delivery_id from delivery.delivery_import_lines l
    join delivery.deliveries d on d.tenant_id = l.tenant_id and d.id = l.delivery_id and d.status <> 'cancelled'
    where l.tenant_id = v_import.tenant_id and l.import_id = v_import.id order by l.line);
  perform delivery.lock_deliveries(v_deliveries);
  select array_agg(distinct s.id) into v_senders
  from delivery.deliveries d cross join unnest(array[d.customer_id, d.institution_user_id]) s (id)
  where d.tenant_id = v_import.tenant_id and d.id = any (v_deliveries) and d.payment_method = 'wallet';
  if v_senders is not null then
    perform money.lock_wallets(v_senders);
  end if;
  foreach v_delivery in array v_deliveries loop
    begin
      perform delivery.require_unhandled(v_delivery);
      perform delivery.parcel_cancel(input || jsonb_build_object('id', v_delivery));
      v_cancelled := v_cancelled || v_delivery;
    exception when sqlstate 'RULE0' then
      get stacked diagnostics v_detail = pg_exception_detail;
      v_left := v_left || jsonb_build_object(v_delivery, jsonb_build_object('code', sqlerrm, 'params', v_detail::jsonb - 'language'));
    end;
  end loop;
  if cardinality(v_cancelled) > 0 then
    update delivery.delivery_imports i set cancelled_at = clock_timestamp(), cancelled_by = app.user_id() where i.id = v_import.id;
  end if;
  return (
    select jsonb_build_object('import_id', v_import.id, 'cancelled', cardinality(v_cancelled), 'left', coalesce(jsonb_agg(jsonb_build_object(
      'delivery_id', d.id, 'delivery_code', d.delivery_code, 'status', d.status) || (v_left -> d.id::text) order by p.position), '[]'))
    from unnest(v_deliveries) with ordinality p (id, position)
    join delivery.deliveries d on d.tenant_id = v_import.tenant_id and d.id = p.id
    where v_left ? d.id::text);
end $function$;

CREATE OR REPLACE FUNCTION delivery.import_duplicates(lines jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    with line as (
      select (l ->> 'line')::integer as line, nullif(l -> 'input' ->> 'external_reference_id', '') as reference,
        nullif(l #>> '{input,recipient,phone}', '') as phone, coalesce((l -> 'input' ->> 'cod_amount')::numeric, 0) as cod,
        coalesce(l -> 'input' ->> 'institution_user_id', l -> 'input' ->> 'customer_id')::uuid as sender
      from jsonb_array_elements(lines) l
      where coalesce(l -> 'input' ->> 'delivery_flow', 'standard') = 'standard'
    ), earlier as (
      select x.*, case when x.reference is not null then min(x.line) over (partition by x.reference) end as same_reference,
        case when x.phone is not null then min(x.line) over (partition by x.phone, x.cod, x.sender) end as same_recipient
      from line x
    ), ordered as (
      select distinct on (f.line) f.line, f.same, d.id, d.delivery_code, d.status, d.created_at
      from (
        select x.line, 'reference' as same, d.id from line x
        join delivery.deliveries d on d.tenant_id = app.tenant_id() and d.external_reference_id = x.reference
        where d.status <> 'cancelled' and d.delivery_flow in ('standard', 'pnd_parent')
        union all
        select x.line, 'recipient', d.id from line x
        join delivery.deliveries d on d.tenant_id = app.tenant_id() and d.recipient ->> 'phone' = x.phone and d.cod_amount = x.cod
        where d.created_at > now() - interval '3 days' and d.status <> 'cancelled' and d.delivery_flow in ('standard', 'pnd_parent')
          and (x.sender is null or x.sender in (d.customer_id, d.institution_user_id))) f
      join delivery.deliveries d on d.tenant_id = app.tenant_id() and d.id = f.id
      order by f.line, f.same = 'recipient', d.created_at desc
    ), found as (
      select e.line, o.same, null::integer as other_line,
        jsonb_build_object('id', o.id, 'delivery_code', o.delivery_code, 'status', o.status, 'created_at', o.created_at) as delivery
      from earlier e join ordered o on o.line = e.line
      union all
      select e.line, case when e.same_reference < e.line then 'reference' else 'recipient' end,
        case when e.same_reference < e.line then e.same_reference else e.same_recipient end, null
      from earlier e
      where (e.same_reference < e.line or e.same_recipient < e.line) and not exists (select from ordered o where o.line = e.line)
    )
    select jsonb_build_object('duplicate_count', count(*), 'duplicates', coalesce(jsonb_agg(jsonb_build_object('line', n.line, 'same', n.same,
      'other_line', n.other_line, 'delivery', n.delivery) order by n.line) filter (where n.number <= 100), '[]'))
    from (select f.*, row_number() over (order by f.line) as number from found f) n);
end $function$;

CREATE OR REPLACE FUNCTION delivery.import_of_content(hash bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('import_id', v.id, 'created_at', v.created_at, 'imported', v.imported, 'cancelled', v.cancelled)
    from delivery.delivery_imports i join delivery.delivery_imports_list v on v.id = i.id
    where i.tenant_id = app.tenant_id() and i.content_hash = hash and v.cancelled < v.imported
    order by i.created_at desc limit 1);
end $function$;

CREATE OR REPLACE FUNCTION delivery.parcel_cancel(input jsonb, OUT delivery_id uuid, OUT return_id uuid, OUT refund jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_waiting delivery.deliveries;
  v_return record;
  v_missing boolean;
  v_transfer jsonb;
begin
  -- Also where nothing goes back: a wrong place is an error of the caller.
  perform delivery.require_return_place(input);
  perform delivery.lock_manifest_item((input ->> 'id')::uuid);
  d := delivery.lock_delivery((input ->> 'id')::uuid);
  select * into d from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(d);
  -- Back to who sent it, as long as its order stays cancelled, or as it ended at the door; unless it was lost or written off, and nothing is
  -- left to go back.
  if (d.made_at_door or d.delivery_flow = 'operational_return' and exists (select from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.status = 'cancelled')) and not warehousing.return_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled',
      'text_key', case when d.made_at_door then 'reason_return_from_door' else 'reason_return_of_cancelled' end));
  end if;
  v_waiting := delivery.waiting_on_its_way(d);
  if v_waiting.id is not null then
    v_missing := warehousing.parcel_is_missing(d, v_waiting.current_warehouse_id);
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, not v_missing, input);
    refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    if v_missing then
      perform warehousing.stock_release('picking_order', p.id) from unnest(v_return.picks) p (id);
      perform warehousing.waybill_remove_delivery(d.id);
      perform delivery.parcel_at(d.id, null);
    else
      perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    end if;
    perform storefront.orders_settle();
    delivery_id := d.id;
    return_id := v_return.id;
    return;
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
  select l.status into v_under_way from delivery.deliveries l
  where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status not in ('draft', 'pending', 'assigned', 'accepted') limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_under_way, 'to', 'cancelled'));
  end if;
  -- A parent that has legs follows them.
  v_ends := array(select l.id from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and d.delivery_flow = 'pnd_parent');
  if cardinality(v_ends) = 0 then
    v_ends := array[d.id];
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = any (v_ends);
  if d.delivery_flow = 'customer_return' and d.status = 'draft' then
    perform delivery.return_request_cancel(d.id);
  end if;
  perform delivery.manifest_item_return(d.id);
  v_picks := delivery.delivery_release(d.id);
  refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  delivery_id := d.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_unhandled(parcel uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = parcel;
  if (delivery.waiting_on_its_way(d)).id is not null or exists (
      select from delivery.deliveries f
      join warehousing.picking_orders p on p.tenant_id = f.tenant_id and p.delivery_id = f.id and p.status in ('pending', 'in_progress', 'completed')
      where f.tenant_id = d.tenant_id and (f.id = d.id or f.parent_id = d.id) and f.status in ('pending', 'assigned', 'accepted')) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled', 'text_key', 'reason_handled'));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.waiting_on_its_way(d delivery.deliveries)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_waiting delivery.deliveries;
begin
  select * into v_waiting from delivery.deliveries x
  where x.tenant_id = d.tenant_id and (x.id = d.id or x.parent_id = d.id)
    and (x.delivery_flow in ('standard', 'pnd_outbound') or x.delivery_flow = 'customer_return' and not warehousing.return_is_lost(x))
    and x.status in ('pending', 'assigned', 'accepted') and x.current_warehouse_id is not null
    and (d.picked_up_at is not null or d.ordered_from_address_id is not null)
    and x.current_warehouse_id is distinct from (delivery.ordered_from(d)).warehouse_id;
  return v_waiting;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_accept_short(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_missing jsonb := storefront.order_missing(o.id);
  v_left jsonb;
  v_refund jsonb;
begin
  if o.status not in ('approved', 'confirmed', 'shipped') or v_missing = '[]' then
    perform app.fail('order_not_short', jsonb_build_object('status', o.status));
  end if;
  v_left := storefront.order_accept(o.id, v_missing);
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  -- A parcel with nothing in it does not travel. The last one that was open ends the order, which is settled with it.
  perform delivery.parcel_cancel(jsonb_build_object('id', e.delivery_id, 'reason', 'out_of_stock'))
  from (select p.delivery_id from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status in ('pending', 'assigned', 'accepted')
    where p.tenant_id = o.tenant_id and p.order_id = o.id and not storefront.order_part_has_goods(p)
    order by p.delivery_id) e;
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  if o.status in ('delivered', 'cancelled') then
    v_refund := storefront.order_refunded_now(o.id);
  else
    if o.payment_status = 'paid' and o.payment_method <> 'cash_on_delivery' and storefront.order_paid_beyond(o, o.total_price) > 0 then
      v_refund := storefront.order_refund_book(o.id, storefront.order_paid_beyond(o, o.total_price), 'short');
    end if;
    perform warehousing.stock_release('order', o.id, v_left);
    select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  end if;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_end_cancelled(input jsonb, came_back boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_open uuid := storefront.order_open_delivery(o);
  v_refund jsonb;
  v_released jsonb;
begin
  if came_back and o.status <> 'shipped' then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', o.status, 'to', 'returned'));
  elsif came_back and v_open is not null then
    perform app.fail('order_has_delivery', jsonb_build_object('delivery_id', v_open));
  elsif not came_back and o.status not in ('pending', 'awaiting_approval', 'approved', 'confirmed') then
    perform app.fail('order_not_cancellable', jsonb_build_object('status', o.status));
  end if;
  update storefront.storefront_orders x set status = 'cancelled', cancelled_at = now(), cancel_reason = input ->> 'reason',
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = coalesce(input ->> 'admin_notes', input ->> 'reason'),
    fulfilment = case when came_back then 'returned' else x.fulfilment end
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  -- The order has ended, so that its fee passes to no other and nobody is asked to deliver it anew.
  perform delivery.parcel_cancel(jsonb_build_object('id', d.id, 'reason', input ->> 'reason'))
  from (select x.id from delivery.deliveries x where x.tenant_id = o.tenant_id and x.order_id = o.id
    and x.status in ('draft', 'pending', 'assigned', 'accepted') order by x.id) d;
  perform storefront.order_picks_drop(o.id);
  if came_back then
    perform storefront.order_goods_expect(o.id);
  end if;
  perform storefront.order_payment_drop(o.id);
  if o.payment_status = 'paid' and app.boolean_or(input -> 'refund_required', true) and storefront.order_refundable(o) > 0 then
    v_refund := storefront.order_refund_book(o.id, null, input ->> 'reason');
  end if;
  v_released := warehousing.stock_release('order', o.id);
  return jsonb_build_object('order', jsonb_build_object('id', o.id, 'order_number', o.order_number, 'status', o.status,
      'cancelled_at', o.cancelled_at, 'cancel_reason', o.cancel_reason, 'admin_notes', o.admin_notes),
    'inventory_released', v_released <> '[]', 'refund', v_refund, 'delivery_cancelled', v_open is not null);
end $function$;

ALTER TABLE "delivery"."delivery_import_lines" ADD CONSTRAINT "delivery_import_lines_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE "delivery"."delivery_imports" ADD CONSTRAINT "delivery_imports_cancelled_by_fkey" FOREIGN KEY (cancelled_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."delivery_imports" ADD CONSTRAINT "delivery_imports_created_by_fkey" FOREIGN KEY (created_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."delivery_imports" ADD CONSTRAINT "delivery_imports_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE CASCADE;

ALTER TABLE "delivery"."delivery_import_lines" ADD CONSTRAINT "delivery_import_lines_tenant_id_import_id_fkey" FOREIGN KEY (tenant_id, import_id) REFERENCES delivery.delivery_imports(tenant_id, id) ON DELETE CASCADE;

CREATE VIEW "delivery"."delivery_imports_list" WITH (security_invoker=true) AS  SELECT i.id,
    i.created_at,
        CASE
            WHEN (i.created_by IS NOT NULL) THEN jsonb_build_object('id', i.created_by, 'full_name', delivery.person_name(i.created_by))
            ELSE NULL::jsonb
        END AS created_by,
    i.cancelled_at,
        CASE
            WHEN (i.cancelled_by IS NOT NULL) THEN jsonb_build_object('id', i.cancelled_by, 'full_name', delivery.person_name(i.cancelled_by))
            ELSE NULL::jsonb
        END AS cancelled_by,
    c.imported,
    c.cancelled,
    c.cancellable
   FROM (delivery.delivery_imports i
     CROSS JOIN LATERAL ( SELECT count(*) AS imported,
            count(*) FILTER (WHERE (d.status = 'cancelled'::text)) AS cancelled,
            count(*) FILTER (WHERE (d.status = ANY (ARRAY['draft'::text, 'pending'::text, 'assigned'::text, 'accepted'::text]))) AS cancellable
           FROM (delivery.delivery_import_lines l
             JOIN delivery.deliveries d ON (((d.tenant_id = l.tenant_id) AND (d.id = l.delivery_id))))
          WHERE ((l.tenant_id = i.tenant_id) AND (l.import_id = i.id))) c);

CREATE INDEX delivery_imports_by ON delivery.delivery_imports USING btree (created_by) WHERE (created_by IS NOT NULL);

CREATE INDEX delivery_imports_cancelled_by ON delivery.delivery_imports USING btree (cancelled_by) WHERE (cancelled_by IS NOT NULL);

CREATE INDEX delivery_imports_content ON delivery.delivery_imports USING btree (tenant_id, content_hash);

CREATE INDEX delivery_imports_recent ON delivery.delivery_imports USING btree (tenant_id, created_at DESC NULLS LAST, id DESC);

CREATE TRIGGER audit_delete AFTER DELETE ON delivery.delivery_imports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_insert AFTER INSERT ON delivery.delivery_imports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.delivery_imports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE POLICY "tenant" ON "delivery"."delivery_import_lines" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (EXISTS ( SELECT
   FROM delivery.delivery_imports i
  WHERE ((i.tenant_id = delivery_import_lines.tenant_id) AND (i.id = delivery_import_lines.import_id)))))));

CREATE POLICY "write_delete" ON "delivery"."delivery_import_lines" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT true));

CREATE POLICY "write_insert" ON "delivery"."delivery_import_lines" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT true));

CREATE POLICY "write_update" ON "delivery"."delivery_import_lines" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT true));

CREATE POLICY "tenant" ON "delivery"."delivery_imports" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (created_by = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (created_by = ( SELECT app.user_id() AS user_id)))));

CREATE POLICY "write_delete" ON "delivery"."delivery_imports" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT true));

CREATE POLICY "write_insert" ON "delivery"."delivery_imports" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT true));

CREATE POLICY "write_update" ON "delivery"."delivery_imports" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT true));

REVOKE ALL ON FUNCTION "delivery"."import_cancel"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."import_cancel"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."import_duplicates"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."import_duplicates"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."import_of_content"(bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."import_of_content"(bytea) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."parcel_cancel"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."parcel_cancel"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_unhandled"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_unhandled"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."waiting_on_its_way"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."waiting_on_its_way"(delivery.deliveries) TO "barid_caller";

GRANT INSERT, SELECT ON TABLE "delivery"."delivery_import_lines" TO "barid_caller";

GRANT INSERT, SELECT, UPDATE ON TABLE "delivery"."delivery_imports" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."delivery_imports_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129223947';
end $$;

grant execute on function private.schema_version() to barid_api;
