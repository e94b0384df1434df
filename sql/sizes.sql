-- Everything that is kept has a size: the last guard behind the schemas of requests (shared/schemas/sizes.ts).
--   texts      what people write and where browsers go (notes, reasons, comments, addresses, URLs): 4,000 bytes;
--              names, codes, numbers and words: 1,000 bytes; what other systems send as a whole is listed here.
--              One constraint a table, `texts_within_bounds`, since PostgreSQL reads every constraint at each statement.
--   documents  the bytes that are listed here, a constraint each, `<column>_above_<bytes>_bytes`: the request that meets
--              one is refused with field_too_large.
-- Documents that Barid itself puts together of bounded parts have no bound of their own: answers that are remembered,
-- payloads of jobs and events, the audit log, snapshots of services and branches, the steps of a wizard (tests/sql/sizes.test.ts).
do $$
declare
  v_table record;
  v_document record;
  v_listed jsonb := '{
    "integration.tenant_carriers": {"credentials": 65536},
    "integration.webhook_attempts": {"response_body": 65536},
    "integration.webhook_events": {"body": 1048576},
    "money.payment_webhook_events": {"raw_body": 196608},
    "warehousing.stock": {"lot_number": 400, "serial_number": 400}
  }';
begin
  for v_table in
    select c.oid::regclass as name,
      string_agg(format('octet_length(%I) <= %s', a.attname, coalesce(
        v_listed #>> array[c.oid::regclass::text, a.attname],
        case when a.attname ~ '(^|_)(notes?|reason|comment|url|ref|error|description|address|message)(_(public|internal))?$' then '4000' else '1000' end)),
        ' and ' order by a.attnum) as rule
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.atttypid = 'text'::regtype
    where c.relkind in ('r', 'p') and n.nspname in ('tenancy', 'delivery', 'warehousing', 'storefront', 'money', 'integration')
    group by c.oid
  loop
    execute format('alter table %s drop constraint if exists texts_within_bounds', v_table.name);
    execute format('alter table %s add constraint texts_within_bounds check (%s)', v_table.name, v_table.rule);
  end loop;

  for v_document in
    select * from (values
      -- Names and descriptions in the languages people read.
      ('tenancy.currencies', 'name', 4096), ('tenancy.tenants', 'name', 4608), ('tenancy.roles', 'name', 4096), ('tenancy.permissions', 'name', 4096),
      ('tenancy.modules', 'name', 4096), ('delivery.delivery_types', 'name', 4096), ('delivery.delivery_services', 'name', 4096),
      ('delivery.delivery_services', 'description', 12288), ('storefront.payment_method_types', 'name', 4096),
      ('storefront.markets', 'tagline', 4096), ('storefront.product_categories', 'name', 4096),
      ('storefront.product_categories', 'description', 12288), ('storefront.products', 'name', 4096),
      ('storefront.products', 'description', 12288), ('storefront.storefront_order_items', 'product_name', 4096),
      -- People and places.
      ('tenancy.tenants', 'contact_info', 4096), ('delivery.addresses', 'title', 4096), ('delivery.addresses', 'contact_info', 4096),
      ('delivery.institution_branches', 'contact_info', 4096), ('delivery.deliveries', 'recipient', 4096),
      ('delivery.deliveries', 'pickup_snapshot', 5120), ('delivery.deliveries', 'ordered_from_snapshot', 5120),
      ('delivery.deliveries', 'dropoff_snapshot', 5120),
      ('storefront.storefront_orders', 'shipping_address', 5120), ('warehousing.warehouses', 'features', 8192), ('delivery.zones', 'polygon', 1048576),
      -- The contents of a parcel.
      ('delivery.deliveries', 'package_details', 65536), ('delivery.transfer_manifest_items', 'package_details', 65536),
      ('delivery.delivery_exceptions', 'items', 12288), ('delivery.amount_changes', 'kept_items', 65536),
      -- Settings.
      ('tenancy.tenant_settings', 'settings', 65536), ('tenancy.system_settings', 'value', 65536), ('delivery.policy_profiles', 'policy', 4096),
      ('delivery.delivery_services', 'service_options', 1024), ('delivery.delivery_services', 'policy_overrides', 1024),
      ('money.payment_gateways', 'settings', 65536), ('money.payment_gateways', 'secrets', 65536), ('money.payment_gateways', 'previous_accounts', 1048576),
      ('storefront.markets', 'settings', 8192),
      ('storefront.markets', 'theme_settings', 8192), ('storefront.markets', 'banners', 65536),
      -- The client's own.
      ('tenancy.tenants', 'metadata', 8192), ('delivery.transfer_processing_points', 'metadata', 8192), ('delivery.institution_branches', 'metadata', 8192),
      ('delivery.transfer_manifest_items', 'metadata', 8192), ('storefront.product_variants', 'attributes', 8192),
      ('storefront.products', 'images', 8192)
    ) as listed (table_name, column_name, bytes)
  loop
    execute format('alter table %s drop constraint if exists %I', v_document.table_name, v_document.column_name || '_above_' || v_document.bytes || '_bytes');
    execute format('alter table %s add constraint %I check (octet_length(%I::text) <= %s)', v_document.table_name,
      v_document.column_name || '_above_' || v_document.bytes || '_bytes', v_document.column_name, v_document.bytes);
  end loop;
end $$;

-- A place with who is met there, as deliveries copy it.
alter table delivery.addresses drop constraint if exists address_above_4096_bytes;
alter table delivery.addresses add constraint address_above_4096_bytes check (
  octet_length(title::text) + octet_length(full_address) + coalesce(octet_length(city), 0) + coalesce(octet_length(country), 0)
  + octet_length(contact_info::text) <= 4096);

-- Lists of words and of URLs.
alter table tenancy.api_keys drop constraint if exists scopes_above_20000_bytes;
alter table tenancy.api_keys add constraint scopes_above_20000_bytes check (cardinality(scopes) <= 200 and octet_length(scopes::text) <= 20000);
alter table integration.webhook_subscriptions drop constraint if exists event_types_above_50000_bytes;
alter table integration.webhook_subscriptions add constraint event_types_above_50000_bytes
  check (cardinality(event_types) <= 500 and octet_length(event_types::text) <= 50000);
alter table delivery.transfer_manifest_exceptions drop constraint if exists photo_urls_above_8192_bytes;
alter table delivery.transfer_manifest_exceptions add constraint photo_urls_above_8192_bytes
  check (cardinality(photo_urls) <= 10 and octet_length(photo_urls::text) <= 8192);
