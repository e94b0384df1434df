-- Invitations: a person with an account becomes a member of a tenant only by accepting one.
create table if not exists tenancy.invitations (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  email text not null check (email = lower(email)),
  -- The future member: {full_name, phone?, avatar_url?, tenant_user_type, roles, is_business, employee_id?}.
  person jsonb not null check (jsonb_typeof(person) = 'object' and octet_length(person::text) <= 8192),
  -- Pending and past expires_at is shown as expired.
  status text not null default 'pending' check (status in ('pending', 'accepted', 'declined', 'revoked')),
  -- The account that the invitation creates for an address without one; its id is chosen before Auth creates it.
  account_id uuid,
  -- The first password of that account, encrypted, until Auth has it.
  sealed_password text,
  invited_by uuid references tenancy.profiles (id) on delete set null,
  expires_at timestamptz not null,
  answered_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The functions were given the first password for Auth: from then on the tenant knows it, whatever became of the invitation since.
  password_given boolean not null default false
);
create unique index if not exists invitation_pending_once on tenancy.invitations (tenant_id, email) where status = 'pending';
create index if not exists invitations_recent on tenancy.invitations (tenant_id, created_at desc nulls last, id desc);
create index if not exists invitations_email on tenancy.invitations (email) where status = 'pending';
create index if not exists invitations_account on tenancy.invitations (account_id) where account_id is not null;
create index if not exists invitations_invited_by on tenancy.invitations (invited_by);
create index if not exists invitations_ended on tenancy.invitations (expires_at);
