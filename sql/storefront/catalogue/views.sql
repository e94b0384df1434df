drop view if exists storefront.categories_list cascade;

drop view if exists storefront.variants_list cascade;

drop view if exists storefront.products_list cascade;

drop view if exists storefront.reviews_list cascade;

-- The catalogue without what is archived, for lists, details and the shop itself; row-level security decides
-- who finds what is not on sale. title is the name in the reader's language. What only details need is left out of
-- products: the description, long attributes, and variants beyond twenty (storefront.product_details).
create view storefront.categories_list with (security_invoker = true) as
select c.id, c.tenant_id, c.market_id, c.name, app.localized(c.name) as title, c.description, c.image_url, c.sort_order,
  c.is_active, (select count(*) from storefront.products p
    where p.tenant_id = c.tenant_id and p.category_id = c.id and p.is_active and p.archived_at is null) as product_count,
  c.created_at, c.updated_at
from storefront.product_categories c
where c.archived_at is null;

create view storefront.variants_list with (security_invoker = true) as
select v.id, v.tenant_id, v.product_id, v.sku, v.price, v.compare_at_price, v.inventory_item_id, v.attributes, v.position,
  v.is_active
from storefront.product_variants v
where v.archived_at is null;

create view storefront.products_list with (security_invoker = true) as
select p.id, p.tenant_id, p.market_id, p.category_id, p.name, app.localized(p.name) as title, p.images, p.is_active,
  (select min(v.price) from storefront.variants_list v where v.tenant_id = p.tenant_id and v.product_id = p.id and v.is_active) as min_price,
  (select max(v.price) from storefront.variants_list v where v.tenant_id = p.tenant_id and v.product_id = p.id and v.is_active) as max_price,
  (select coalesce(jsonb_agg(to_jsonb(v) - '{tenant_id,product_id,position}'::text[]
      || jsonb_build_object('attributes', case when octet_length(v.attributes::text) <= 256 then v.attributes end) order by v.position, v.sku), '[]')
    from (select * from storefront.variants_list v where v.tenant_id = p.tenant_id and v.product_id = p.id
      order by v.position, v.sku limit 20) v) as variants,
  (select count(*) from storefront.variants_list v where v.tenant_id = p.tenant_id and v.product_id = p.id) as variant_count,
  (select jsonb_build_object('average', round(avg(r.rating), 2), 'count', count(*)) from storefront.product_reviews r
    where r.tenant_id = p.tenant_id and r.product_id = p.id and r.status = 'approved') as rating,
  p.created_at, p.updated_at
from storefront.products p
where p.archived_at is null;

-- Reviews for those who approve them.
create view storefront.reviews_list with (security_invoker = true) as
select r.id, r.tenant_id, r.product_id, jsonb_build_object('id', p.id, 'name', p.name) as product, r.user_id,
  jsonb_build_object('id', f.id, 'full_name', f.full_name) as customer,
  r.rating, r.comment, r.status, r.reviewed_by, r.reviewed_at, r.created_at, r.updated_at
from storefront.product_reviews r
join storefront.products p on p.tenant_id = r.tenant_id and p.id = r.product_id
left join tenancy.profiles f on f.id = r.user_id;

grant select on storefront.categories_list, storefront.variants_list, storefront.products_list, storefront.reviews_list to barid_caller;

-- The details of a product that lists leave out: {description, variants} with all that the caller sees of them.
create or replace function storefront.product_details(product storefront.products_list) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object(
    'description', (select p.description from storefront.products p where p.tenant_id = product.tenant_id and p.id = product.id),
    'variants', (
      select coalesce(jsonb_agg(to_jsonb(v) - '{tenant_id,product_id,position}'::text[] order by v.position, v.sku), '[]')
      from storefront.variants_list v where v.tenant_id = product.tenant_id and v.product_id = product.id));
end $$;
