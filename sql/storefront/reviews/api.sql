-- Reviews of products.

-- A review as its writer and the staff read it. Fails: review_not_found.
create or replace function storefront.review_to_json(review_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_review jsonb;
begin
  select jsonb_build_object('id', r.id, 'product_id', r.product_id, 'rating', r.rating, 'comment', r.comment,
    'status', r.status, 'reviewed_by', r.reviewed_by, 'reviewed_at', r.reviewed_at, 'created_at', r.created_at)
  into v_review from storefront.product_reviews r where r.tenant_id = v_tenant and r.id = review_to_json.review_id;
  if v_review is null then
    perform app.fail('review_not_found');
  end if;
  return v_review;
end $$;

-- Says what the caller thinks of something that was delivered to them; once for each purchase.
-- {product_id, rating, comment?} -> the review. Approved at once where the tenant's setting
-- general.storefront.review_auto_approval says so for this rating.
-- Fails: product_not_found, review_requires_purchase, product_already_reviewed.
create or replace function storefront.review_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_user uuid := app.user_id();
  v_product uuid := (input ->> 'product_id')::uuid;
  v_auto jsonb := app.settings('general', 'storefront') -> 'review_auto_approval';
  v_approved boolean;
  v_bought uuid;
  v_id uuid;
begin
  perform from storefront.products p where p.tenant_id = v_tenant and p.id = v_product and p.archived_at is null;
  if not found then
    perform app.fail('product_not_found');
  end if;
  select i.id into v_bought
  from storefront.storefront_orders o
  join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.order_id = o.id
  where o.tenant_id = v_tenant and o.user_id = v_user and o.status in ('delivered', 'completed') and i.product_id = v_product
    and storefront.order_item_came(o, i.id)
  order by exists (select from storefront.product_reviews r where r.tenant_id = i.tenant_id and r.order_item_id = i.id),
    o.created_at desc, i.id
  limit 1;
  if v_bought is null then
    perform app.fail('review_requires_purchase');
  end if;
  v_approved := app.boolean_or(v_auto -> 'enabled', false)
    and coalesce(v_auto -> 'auto_approve_ratings' @> (input -> 'rating'), false);
  insert into storefront.product_reviews (tenant_id, product_id, user_id, order_item_id, rating, comment, status, reviewed_at)
  values (v_tenant, v_product, v_user, v_bought, (input ->> 'rating')::smallint, input ->> 'comment',
    case when v_approved then 'approved' else 'pending' end, case when v_approved then now() end)
  returning id into v_id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'review.created', 'source_module', 'storefront',
    'entity_type', 'review', 'entity_id', v_id, 'event_data', jsonb_build_object('review_id', v_id, 'product_id', v_product,
      'rating', (input ->> 'rating')::integer, 'status', case when v_approved then 'approved' else 'pending' end, 'actor_id', v_user))));
  return storefront.review_to_json(v_id);
end $$;

-- Shows a review to everybody or keeps it from them; may be decided anew. {review_id, decision} -> the review
-- Fails: review_not_found.
create or replace function storefront.review_decide(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'review_id')::uuid;
  v_review storefront.product_reviews;
begin
  update storefront.product_reviews r set status = input ->> 'decision', reviewed_by = app.user_id(), reviewed_at = now()
  where r.tenant_id = app.tenant_id() and r.id = v_id
  returning * into v_review;
  if not found then
    perform app.fail('review_not_found');
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'review.' || (input ->> 'decision'),
    'source_module', 'storefront', 'entity_type', 'review', 'entity_id', v_id,
    'event_data', jsonb_build_object('review_id', v_id, 'product_id', v_review.product_id, 'rating', v_review.rating,
      'status', v_review.status, 'actor_id', app.user_id()))));
  return storefront.review_to_json(v_id);
end $$;
