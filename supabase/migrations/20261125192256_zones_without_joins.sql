-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
-- The functions that go are dropped by calls_end_first, when the calls that may look for them have ended.
-- Before: 9a1e1efe02c49c46d1e69a4ea8ed2603c4f0ddfd7e4b17b1596dda2f3d496cb7
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.delivery_zone_context in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."delivery_zone_context";

DROP FUNCTION "delivery"."kept_items_agreed"(uuid);

CREATE OR REPLACE FUNCTION delivery.cod_of_kept(p delivery.deliveries, kept jsonb)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_agreed jsonb := delivery.kept_items_agreed(p.id);
  v_amount numeric;
begin
  if v_agreed @> kept and kept @> v_agreed or p.cod_amount = 0 then
    return p.cod_amount;
  end if;
  -- Prices add up to what was ordered, not to what was agreed since.
  if p.cod_amount = coalesce(p.ordered_cod_amount, p.cod_amount) then
    select sum(i.unit_price * k.quantity) into v_amount
    from jsonb_to_recordset(kept) k (delivery_item_id uuid, quantity bigint)
    join delivery.delivery_items i on i.tenant_id = app.tenant_id() and i.delivery_id = p.id and i.id = k.delivery_item_id;
  end if;
  if v_amount is null then
    perform app.fail('item_prices_required', '{"field": "items"}');
  end if;
  return v_amount;
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_items_agreed(parcel uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select c.kept_items from delivery.amount_changes c
    where c.tenant_id = app.tenant_id() and c.delivery_id = parcel and c.status = 'approved'
    order by c.decided_at desc, c.id desc limit 1);
end $function$;

CREATE VIEW "delivery"."delivery_zone_context" WITH (security_invoker=true) AS  SELECT id AS delivery_id,
    pickup_zone_id,
    dropoff_zone_id
   FROM delivery.deliveries d
  WHERE (((pickup_zone_id IS NOT NULL) OR ( SELECT (f.latitude IS NOT NULL)
           FROM delivery.addresses f
          WHERE ((f.tenant_id = d.tenant_id) AND (f.id = d.pickup_address_id)))) AND ((dropoff_zone_id IS NOT NULL) OR ( SELECT (t.latitude IS NOT NULL)
           FROM delivery.addresses t
          WHERE ((t.tenant_id = d.tenant_id) AND (t.id = d.dropoff_address_id)))));

REVOKE ALL ON FUNCTION "delivery"."kept_items_agreed"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."kept_items_agreed"(uuid) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."delivery_zone_context" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125192256';
end $$;

grant execute on function private.schema_version() to barid_api;
