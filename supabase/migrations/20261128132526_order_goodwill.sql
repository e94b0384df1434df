-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table money.payments in access exclusive mode;
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

ALTER TABLE "money"."payments" ADD COLUMN "goodwill" numeric(18,3) NOT NULL DEFAULT 0;

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
  perform delivery.delivery_cancel(jsonb_build_object('id', e.delivery_id, 'reason', 'out_of_stock'))
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

CREATE OR REPLACE FUNCTION storefront.order_approve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
  v_lines jsonb;
  v_supply jsonb;
  v_found jsonb;
  v_reserved jsonb := '[]';
  v_sends boolean;
  v_dropoff uuid;
  v_deliveries delivery.deliveries[] := '{}';
  v_ids uuid[] := '{}';
  v_agreed jsonb;
  v_answer jsonb;
begin
  if o.status not in ('pending', 'awaiting_approval') then
    perform app.fail('order_not_pending', jsonb_build_object('status', o.status));
  elsif o.payment_method <> 'cash_on_delivery' and (o.payment_status <> 'paid' or storefront.order_paid(o) < o.total_price) then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  end if;
  v_lines := storefront.order_lines(o);
  v_supply := storefront.order_supplied(v_lines, o.shipping_address);
  -- A day is kept until it ends, the last one that can be answered until it ends everywhere.
  if input ->> 'estimated_delivery_date' is not null then
    o.estimated_delivery := least(app.day_end(input ->> 'estimated_delivery_date') - interval '1 microsecond', '9999-12-31 23:59:59.999999+00');
  end if;
  v_sends := (select app.boolean_or(m.settings -> 'auto_create_delivery', false) from storefront.markets m
    where m.tenant_id = o.tenant_id and m.id = o.market_id);
  if v_sends then
    v_dropoff := storefront.order_dropoff(o);
    v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
  end if;
  v_agreed := storefront.order_snapshot_to_json(o);

  perform storefront.lock_stock_of_order(v_lines);
  v_found := storefront.order_supplied(v_lines, o.shipping_address);
  if v_found <> v_supply then
    -- Somebody else took some of it meanwhile.
    v_supply := v_found;
    if v_sends then
      v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
    end if;
  end if;
  v_found := (
    select jsonb_agg(jsonb_build_object('item_id', l.line -> 'inventory_item_id', 'warehouse_id', s.source -> 'warehouse_id',
      'quantity', q.quantity, 'field', 'order_id') order by s.place, q.line)
    from jsonb_array_elements(v_supply -> 'sources') with ordinality s (source, place)
    cross join lateral jsonb_to_recordset(s.source -> 'lines') as q (line integer, quantity bigint)
    cross join lateral (select v_lines -> (q.line - 1) as line) l
    where l.line ->> 'inventory_item_id' is not null);
  if v_found is not null then
    v_reserved := warehousing.stock_reserve('order', o.id, v_found);
  end if;
  for place in 1..cardinality(v_deliveries) loop
    v_ids := v_ids || delivery.delivery_write(v_deliveries[place], storefront.order_contents(v_lines, v_supply -> 'sources' -> (place - 1)));
  end loop;
  perform storefront.order_parts_make(o.id, v_lines, v_supply -> 'sources', v_reserved, v_ids);
  update storefront.storefront_orders x set status = 'confirmed', approved_at = now(), approved_by = app.user_id(),
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = input ->> 'admin_notes',
    estimated_delivery = o.estimated_delivery, delivery_id = v_ids[1]
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  v_answer := storefront.order_state_to_json(o) || v_agreed;
  return jsonb_build_object('order', v_answer, 'inventory_reserved', v_reserved <> '[]', 'deliveries', v_answer -> 'deliveries',
    'delivery_assigned', jsonb_build_object('delivery_id', o.delivery_id,
      'driver_assigned', coalesce((v_answer #>> '{delivery_assignment,driver_assigned}')::boolean, false),
      'tracking_number', v_answer #>> '{delivery_assignment,tracking_number}'));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_missing_price(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_ended uuid[] := case when o.status not in ('approved', 'confirmed') then array(
    select p.id from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status in ('returned', 'cancelled')
    where p.tenant_id = o.tenant_id and p.order_id = o.id) else '{}' end;
begin
  return storefront.goods_price(o, (
    select coalesce(sum(i.unit_price * m.quantity), 0)
    from (
      select x.order_item_id, x.quantity
      from jsonb_to_recordset(storefront.order_missing(o.id)) as x (part_id uuid, order_item_id uuid, quantity integer)
      where x.part_id <> all (v_ended)
      union all
      select g.order_item_id, g.quantity - g.short from storefront.storefront_order_part_items g
      where g.tenant_id = o.tenant_id and g.part_id = any (v_ended)) m
    join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = m.order_item_id));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_paid(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return storefront.order_refundable(o) + (
    select coalesce(sum(p.goodwill), 0) from money.payments p
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'REFUND' and p.status = 'SUCCESS');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_paid_beyond(o storefront.storefront_orders, price numeric)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return greatest(least(storefront.order_refundable(o), storefront.order_paid(o) - price), 0);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refund(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
  v_amount numeric := (input ->> 'amount')::numeric;
  v_decimals integer := money.decimals_of(o.currency);
  v_hash bytea := money.request_hash(input);
  v_known money.payments := money.payment_of_key('REFUND', v_hash);
  v_refund jsonb;
begin
  if v_known.id is not null then
    return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', storefront.refund_to_json(v_known));
  end if;
  if o.payment_status <> 'paid' then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  elsif v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', o.currency, 'decimals', v_decimals));
  end if;
  v_refund := storefront.order_refund_by_hand(o.id, v_amount, input ->> 'note', v_hash);
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refund_by_hand(p_order uuid, p_amount numeric, p_note text, p_hash bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_goodwill numeric := 0;
  v_refund jsonb;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = p_order;
  if p_amount < storefront.order_refundable(o) then
    v_goodwill := greatest(p_amount - storefront.order_paid_beyond(o, o.total_price - storefront.order_missing_price(o)), 0);
  end if;
  v_refund := storefront.order_refund_book(p_order, p_amount, p_note, p_hash);
  update money.payments p set goodwill = v_goodwill
  where p.tenant_id = o.tenant_id and p.id = (v_refund ->> 'payment_id')::uuid and v_goodwill > 0;
  return v_refund;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_settle()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_got record;
  v_owed numeric := 0;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.id;
  if o.status = 'cancelled' and not exists (
      select from storefront.storefront_order_parts p
      where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is not null and p.delivery_id is not null) then
    return null;
  end if;
  perform storefront.order_picks_drop(o.id);
  -- Of a delivered order, what did not come to its customer.
  perform storefront.order_goods_expect(o.id);
  if o.status = 'cancelled' then
    perform storefront.order_payment_drop(o.id);
    if o.payment_status = 'paid' then
      v_owed := storefront.order_refundable(o);
    end if;
  elsif o.payment_status = 'paid' and o.fulfilment = 'partial' then
    -- They had got those that they sent back since: the shop says what is given back for these.
    select coalesce(sum(g.delivered + g.sent_back), 0) as units, coalesce(sum(i.unit_price * (g.delivered + g.sent_back)), 0) as value into v_got
    from storefront.order_goods g
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
    where g.tenant_id = o.tenant_id and g.order_id = o.id;
    -- Cash was collected for what each delivery was to bring, so it is too much only where a carrier collected for what was not found.
    v_owed := case
      when v_got.units = 0 then storefront.order_refundable(o)
      when o.payment_method = 'cash_on_delivery' then storefront.goods_price(o, storefront.order_charged_short(o))
      else storefront.order_paid_beyond(o, o.shipping_cost + storefront.goods_price(o, v_got.value)) end;
  end if;
  -- Paid at the door is no more than its deliveries collected.
  if o.status = 'delivered' and o.payment_method = 'cash_on_delivery' and o.shipping_cost > 0 and o.total_price > 0
      and (select coalesce(max(d.delivery_fee), o.shipping_cost) = 0 from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered') then
    perform storefront.order_event_emit(o, 'fee_not_collected', jsonb_build_object('amount', least(o.shipping_cost, o.total_price)));
  end if;
  if v_owed > 0 then
    begin
      perform storefront.order_give_back(o, v_owed, null);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_wallet_balance' then
        raise;
      end if;
      update storefront.storefront_orders x set refund_due_amount = v_owed where x.tenant_id = o.tenant_id and x.id = o.id;
      perform storefront.order_event_emit(o, 'refund_due', jsonb_build_object('amount', v_owed));
      perform tenancy.notify_tenant_admins('order_refund_due', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
        'status', o.status, 'amount', v_owed, 'currency', o.currency));
    end;
  end if;
  perform warehousing.stock_release('order', o.id);
  return null;
end $function$;

ALTER TABLE "money"."payments" ADD CONSTRAINT "payments_check1" CHECK (((goodwill >= (0)::numeric) AND (goodwill <= GREATEST(amount, (0)::numeric)))) NOT VALID;

REVOKE ALL ON FUNCTION "storefront"."order_missing_price"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_missing_price"(storefront.storefront_orders) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_paid"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_paid"(storefront.storefront_orders) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_paid_beyond"(storefront.storefront_orders, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_paid_beyond"(storefront.storefront_orders, numeric) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_refund_by_hand"(uuid, numeric, text, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_refund_by_hand"(uuid, numeric, text, bytea) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128132526';
end $$;

grant execute on function private.schema_version() to barid_api;
