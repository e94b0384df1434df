-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.outcome_undo(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  o delivery.outcomes;
  v_parcel delivery.deliveries;
  v_obstacle record;
  v_cash jsonb;
begin
  -- The outcome is read under the lock of its delivery.
  d := delivery.lock_for_undo((input ->> 'id')::uuid);
  o := delivery.outcome_of(d.id);
  v_parcel := delivery.parcel_terms(d);
  if not app.has_permission('manage:operations:tenant') and o.id is not null and o.driver_id is distinct from app.user_id() then
    perform app.fail('forbidden');
  end if;
  perform delivery.lock_outcome_effects(o, d);
  v_obstacle := delivery.outcome_obstacle(o, d);
  if v_obstacle.code is not null then
    perform app.fail(v_obstacle.code, v_obstacle.params);
  end if;
  perform delivery.outcome_withdraw(o, d, input ->> 'reason');
  v_cash := money.cash_uncollected(v_parcel.id, o.created_at, input ->> 'reason');
  if o.result = 'returned' then
    perform money.delivery_fee_unrefund(v_parcel.id, o.created_at, input ->> 'reason');
  end if;
  perform money.fee_refund_owed_end(d, o.created_at);
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', o.result, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, o.driver_id, 'outcome_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'result', o.result)
  where o.driver_id is not null and o.driver_id is distinct from app.user_id();
  -- Last: it locks accounts, as the accrual does.
  perform money.driver_pay_unaccrue(d.id, input ->> 'reason');
  if o.driver_id is not null and v_cash <> '{"cod": 0, "delivery_fee": 0}' then
    perform money.handover_uncovered(o.driver_id, v_parcel.currency);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $function$;

CREATE OR REPLACE FUNCTION money.fee_refund_owed(p_delivery uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from money.payments p
    where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery and p.refund_owed_at is not null);
end $function$;

CREATE OR REPLACE FUNCTION money.fee_refund_owed_end(d delivery.deliveries, p_said_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_notice jsonb;
begin
  with ended as (
    update money.payments p set refund_owed_at = null
    where p.tenant_id = v_tenant and p.delivery_id in (d.id, d.parent_id, d.original_delivery_id) and p.refund_owed_at = p_said_at
    returning p.delivery_id, p.amount)
  select jsonb_build_object('delivery_id', x.id, 'delivery_code', x.delivery_code, 'amount', sum(e.amount), 'currency', x.currency) into v_notice
  from ended e
  join delivery.deliveries x on x.tenant_id = v_tenant and x.id = e.delivery_id
  group by x.id;
  if v_notice is not null then
    perform tenancy.notify_tenant_admins('refund_due_ended', v_notice);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.shop_products(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_shop record := storefront.open_shop(input ->> 'store_name');
  v_patterns text[] := app.contains_patterns(input ->> 'search');
  v_category uuid := (input ->> 'category_id')::uuid;
  v_by text := case when input ->> 'sort_by' in ('title', 'min_price') then input ->> 'sort_by' else 'created_at' end;
  v_direction text := case when input ->> 'sort_order' = 'asc' then 'asc' else 'desc' end;
  v_where text := 'p.tenant_id = $1 and p.market_id = $2 and ($3 is null or p.category_id = $3)
    and ($4 is null or exists (select from jsonb_each_text(p.name) n where app.folded(n.value) ilike any ($4)))';
  -- The order of the rows of a file: those without a price come last, so they have a position too.
  v_key text := case v_by
    when 'title' then 'coalesce(p.title, '''')'
    when 'min_price' then format('coalesce(p.min_price, numeric %L)', case v_direction when 'asc' then 'Infinity' else '-Infinity' end)
    else 'p.created_at' end;
  v_type text := case v_by when 'title' then 'text' when 'min_price' then 'numeric' else 'timestamptz' end;
  v_found jsonb;
begin
  if input ? 'after' then
    execute format('select jsonb_build_object(''rows'', coalesce(jsonb_agg(storefront.shop_product_to_json(to_jsonb(l.product))
        || jsonb_build_object(''keyset_position'', l.key::text, ''keyset_id'', (l.product).id)
        order by l.key %1$s, (l.product).id %1$s), ''[]''))
      from (select p as product, %2$s as key from storefront.products_list p where %3$s
        and ($6 is null or (%2$s, p.id) %4$s ($6::%5$s, $7)) order by 2 %1$s nulls last, p.id %1$s limit $5) l',
      v_direction, v_key, v_where, case v_direction when 'asc' then '>' else '<' end, v_type)
    into v_found
    using v_shop.tenant_id, v_shop.market_id, v_category, v_patterns, (input ->> 'limit')::bigint,
      input #>> '{after,at}', (input #>> '{after,id}')::uuid;
    return v_found;
  end if;
  execute format('select jsonb_build_object(
      ''rows'', (select coalesce(jsonb_agg(page.row order by page.position), ''[]'') from (
        select storefront.shop_product_to_json(to_jsonb(l.product)) as row, row_number() over () as position
        from (select p as product from storefront.products_list p where %1$s
          order by p.%2$I %3$s nulls last, p.id %3$s limit $5 offset $6) l) page),
      ''total'', (select count(*) from storefront.products_list p where %1$s))', v_where, v_by, v_direction)
  into v_found
  using v_shop.tenant_id, v_shop.market_id, v_category, v_patterns, (input ->> 'limit')::bigint, (input ->> 'offset')::bigint;
  return v_found;
end $function$;

REVOKE ALL ON FUNCTION "money"."fee_refund_owed_end"(delivery.deliveries, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."fee_refund_owed_end"(delivery.deliveries, timestamp with time zone) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201092525';
end $$;

grant execute on function private.schema_version() to barid_api;
