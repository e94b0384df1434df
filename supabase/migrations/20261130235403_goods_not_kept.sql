-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view storefront.order_goods reset (security_barrier);
      set local lock_timeout = '500ms';
      alter view storefront.order_part_goods reset (security_barrier);
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

DROP VIEW "storefront"."order_goods";

DROP VIEW "storefront"."order_part_goods";

CREATE OR REPLACE FUNCTION warehousing.parcel_keeps_goods(p delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return p.order_id is not null and exists (
    select from delivery.delivery_items i
    join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id
    where i.tenant_id = p.tenant_id and i.delivery_id = p.id and k.parcel_delivery_id is null);
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."parcel_keeps_goods"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.receipt_open(d delivery.deliveries, warehouse uuid, source text, exception uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_goods boolean := exists (select from warehousing.goods_sent_back(v_parcel));
  v_left boolean := exists (select from warehousing.return_left_with(v_parcel));
begin
  select r.id into v_id from warehousing.receiving_orders r
  where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending';
  if found then
    update warehousing.receiving_orders r set exception_id = exception, source = receipt_open.source
    where r.tenant_id = d.tenant_id and r.id = v_id and exception is not null and r.source <> 'inbound';
    return v_id;
  end if;
  if not exists (select from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = v_parcel.id) then
    perform delivery.delivery_items_write(array[v_parcel]);
  end if;
  if not v_goods and not warehousing.parcel_keeps_goods(v_parcel) then
    perform warehousing.parcel_items_known(v_parcel.id);
  end if;
  insert into warehousing.receiving_orders (tenant_id, reference_number, warehouse_id, source, delivery_id, exception_id, created_by)
  values (d.tenant_id, 'RCV-' || app.padded(app.take_numbers('receiving_order'), 6), warehouse, source, d.id, exception, app.user_id())
  returning id into v_id;
  insert into warehousing.receiving_order_items (tenant_id, receiving_order_id, position, warehouse_id, item_id, quantity)
  select d.tenant_id, v_id, i.position, warehouse, i.item_id, i.quantity
  from delivery.delivery_items i
  where not v_goods and not v_left and i.tenant_id = d.tenant_id and i.delivery_id = v_parcel.id and i.item_id is not null
  union all
  select d.tenant_id, v_id, row_number() over (order by i.position), warehouse, i.item_id, l.quantity
  from warehousing.return_left_with(v_parcel) l
  join (select x.item_id, min(x.position) as position from delivery.delivery_items x
    where x.tenant_id = d.tenant_id and x.delivery_id = v_parcel.id group by x.item_id) i on i.item_id = l.item_id
  where v_left
  union all
  select d.tenant_id, v_id, g.position, warehouse, g.item_id, g.quantity from warehousing.goods_sent_back(v_parcel) g;
  update storefront.storefront_order_parts p set receiving_order_id = v_id
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and receipt_open.source <> 'inbound';
  return v_id;
end $function$;

CREATE VIEW "storefront"."order_part_goods" WITH (security_invoker=true) AS  SELECT tenant_id,
    order_id,
    part_id,
    "position",
    order_item_id,
    inventory_item_id,
    warehouse_id,
    quantity,
        CASE
            WHEN (stage = 'here'::text) THEN (kept - fetched)
            ELSE (0)::bigint
        END AS reserved,
        CASE
            WHEN (stage = 'here'::text) THEN fetched
            ELSE (0)::bigint
        END AS picked,
        CASE stage
            WHEN 'out'::text THEN (kept)::bigint
            WHEN 'delivered'::text THEN (sent_back - taken_back)
            ELSE (0)::bigint
        END AS "out",
        CASE
            WHEN (stage = 'delivered'::text) THEN (kept - sent_back)
            ELSE (0)::bigint
        END AS delivered,
        CASE stage
            WHEN 'back'::text THEN received
            WHEN 'delivered'::text THEN found_back
            ELSE (0)::bigint
        END AS back,
    (quantity - kept) AS short,
        CASE
            WHEN (stage = 'released'::text) THEN kept
            ELSE 0
        END AS released,
        CASE stage
            WHEN 'back'::text THEN (kept - received)
            WHEN 'delivered'::text THEN (taken_back - found_back)
            ELSE (0)::bigint
        END AS lost,
    fetched,
        CASE
            WHEN (stage = 'delivered'::text) THEN sent_back
            ELSE (0)::bigint
        END AS sent_back
   FROM ( SELECT g.tenant_id,
            p.order_id,
            g.part_id,
            g."position",
            g.order_item_id,
            i.inventory_item_id,
            p.warehouse_id,
            g.quantity,
            (g.quantity - g.short) AS kept,
            LEAST(((g.quantity - g.short))::bigint, GREATEST((0)::bigint, (k.picked - (sum((g.quantity - g.short)) OVER earlier - (g.quantity - g.short))))) AS fetched,
            LEAST(((g.quantity - g.short))::bigint, COALESCE(c.received_quantity, (
                CASE
                    WHEN (i.inventory_item_id IS NULL) THEN (g.quantity - g.short)
                    ELSE 0
                END)::bigint)) AS received,
            s.sent_back,
            s.taken_back,
            s.found_back,
                CASE
                    WHEN ((p.left_at IS NULL) AND (o.status = ANY (ARRAY['approved'::text, 'confirmed'::text, 'shipped'::text])) AND (w.status IS DISTINCT FROM 'cancelled'::text)) THEN 'here'::text
                    WHEN (p.left_at IS NULL) THEN 'released'::text
                    WHEN (r.status = 'received'::text) THEN 'back'::text
                    WHEN (COALESCE(d.status, o.status) = ANY (ARRAY['delivered'::text, 'completed'::text])) THEN 'delivered'::text
                    ELSE 'out'::text
                END AS stage
           FROM (((((((((storefront.storefront_order_part_items g
             JOIN storefront.storefront_order_parts p ON (((p.tenant_id = g.tenant_id) AND (p.id = g.part_id))))
             JOIN storefront.storefront_orders o ON (((o.tenant_id = p.tenant_id) AND (o.id = p.order_id))))
             JOIN storefront.storefront_order_items i ON (((i.tenant_id = g.tenant_id) AND (i.id = g.order_item_id))))
             LEFT JOIN delivery.deliveries d ON (((d.tenant_id = p.tenant_id) AND (d.id = p.delivery_id))))
             LEFT JOIN warehousing.picking_orders w ON (((w.tenant_id = p.tenant_id) AND (w.id = p.picking_order_id))))
             LEFT JOIN warehousing.receiving_orders r ON (((r.tenant_id = p.tenant_id) AND (r.id = p.receiving_order_id))))
             LEFT JOIN warehousing.receiving_order_items c ON (((c.tenant_id = p.tenant_id) AND (c.receiving_order_id = p.receiving_order_id) AND (c."position" = g."position"))))
             CROSS JOIN LATERAL ( SELECT (COALESCE(sum(x.picked_quantity), (0)::numeric))::bigint AS picked
                   FROM warehousing.picking_order_items x
                  WHERE ((x.tenant_id = p.tenant_id) AND (x.picking_order_id = p.picking_order_id) AND (x.item_id = i.inventory_item_id))) k)
             CROSS JOIN LATERAL ( SELECT (COALESCE(sum(x.quantity), (0)::numeric))::bigint AS sent_back,
                    (COALESCE(sum(x.quantity) FILTER (WHERE (n.status = 'received'::text)), (0)::numeric))::bigint AS taken_back,
                    (COALESCE(sum(x.received_quantity) FILTER (WHERE (n.status = 'received'::text)), (0)::numeric))::bigint AS found_back
                   FROM ((delivery.deliveries b
                     JOIN warehousing.receiving_orders n ON (((n.tenant_id = b.tenant_id) AND (n.delivery_id = b.id) AND (n.status <> 'cancelled'::text))))
                     JOIN warehousing.receiving_order_items x ON (((x.tenant_id = n.tenant_id) AND (x.receiving_order_id = n.id) AND (x."position" = g."position") AND (x.item_id = i.inventory_item_id))))
                  WHERE ((d.status = 'delivered'::text) AND (b.tenant_id = p.tenant_id) AND (b.original_delivery_id = p.delivery_id) AND (b.delivery_flow = 'customer_return'::text))) s)
          WINDOW earlier AS (PARTITION BY g.tenant_id, p.order_id, g.part_id, i.inventory_item_id ORDER BY g."position")) l;

CREATE VIEW "storefront"."order_goods" WITH (security_invoker=true) AS  SELECT i.tenant_id,
    i.order_id,
    i.id AS order_item_id,
    i."position",
    i.inventory_item_id,
    i.quantity AS ordered,
        CASE
            WHEN (o.status = ANY (ARRAY['pending'::text, 'awaiting_approval'::text])) THEN i.quantity
            ELSE 0
        END AS to_reserve,
    COALESCE(sum(g.reserved), (0)::numeric) AS reserved,
    COALESCE(sum(g.picked), (0)::numeric) AS picked,
    COALESCE(sum(g."out"), (0)::numeric) AS "out",
    COALESCE(sum(g.delivered), (0)::numeric) AS delivered,
    COALESCE(sum(g.back), (0)::numeric) AS back,
    COALESCE(sum(g.short), (0)::bigint) AS short,
        CASE
            WHEN ((count(g.part_id) = 0) AND (o.status <> ALL (ARRAY['pending'::text, 'awaiting_approval'::text]))) THEN (i.quantity)::bigint
            ELSE COALESCE(sum(g.released), (0)::bigint)
        END AS released,
    COALESCE(sum(g.lost), (0)::numeric) AS lost,
    COALESCE(sum(g.sent_back), (0)::numeric) AS sent_back
   FROM ((storefront.storefront_order_items i
     JOIN storefront.storefront_orders o ON (((o.tenant_id = i.tenant_id) AND (o.id = i.order_id))))
     LEFT JOIN storefront.order_part_goods g ON (((g.tenant_id = i.tenant_id) AND (g.order_id = i.order_id) AND (g.order_item_id = i.id))))
  GROUP BY i.tenant_id, i.order_id, i.id, i."position", i.inventory_item_id, i.quantity, o.status;

REVOKE ALL ON FUNCTION "warehousing"."parcel_keeps_goods"(delivery.deliveries) FROM PUBLIC;

GRANT SELECT ON TABLE "storefront"."order_goods" TO "barid_caller";

GRANT SELECT ON TABLE "storefront"."order_part_goods" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130235403';
end $$;

grant execute on function private.schema_version() to barid_api;
