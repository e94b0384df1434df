-- The tenant whose open shop the request is in, or null: what storefront.open_shop() entered. Not the caller's
-- tenant, if they have one at all; policies let it show what is on sale and nothing else.
create or replace function app.shop_tenant_id() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return nullif(current_setting('app.shop_tenant_id', true), '')::uuid;
end $$;
