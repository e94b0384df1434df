create table if not exists storefront.custom_domains (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  market_id uuid not null,
  -- The host name alone, in lower case and Punycode.
  custom_domain text not null check (custom_domain ~ '^[a-z0-9.-]{4,253}$'),
  status text not null default 'pending_dns' check (status in ('pending_dns', 'active', 'archived')),
  -- [{type, name, name_full, value, purpose}]: what the owner has to put into the zone; name is relative to it, as DNS panels ask for it.
  dns_records jsonb not null check (jsonb_typeof(dns_records) = 'array'),
  dns_checked_at timestamptz,
  dns_verified_at timestamptz,
  -- Only of an active domain: since when its DNS records are missing.
  dns_missing_since timestamptz,
  -- Since when it waits for its DNS records, or last waited.
  pending_since timestamptz not null default now(),
  disconnected_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint active_domains_are_verified check (status <> 'active' or dns_verified_at is not null),
  constraint archived_says_when check ((status = 'archived') = (disconnected_at is not null)),
  foreign key (tenant_id, market_id) references storefront.markets (tenant_id, id) on delete restrict
);

-- A domain belongs to the market that verified it; pending claims of others do not prevent that.
create unique index if not exists custom_domain_taken on storefront.custom_domains (custom_domain) where status = 'active';
create index if not exists custom_domains_claims on storefront.custom_domains (custom_domain) where status <> 'archived';
create unique index if not exists custom_domain_already_connected on storefront.custom_domains (tenant_id, market_id)
  where status <> 'archived';
create index if not exists custom_domains_market on storefront.custom_domains (tenant_id, market_id);
create index if not exists custom_domains_pending on storefront.custom_domains (pending_since) where status = 'pending_dns';
create index if not exists custom_domains_archived on storefront.custom_domains (disconnected_at) where status = 'archived';
create index if not exists custom_domains_verified on storefront.custom_domains (dns_checked_at) where status = 'active';
