-- Running totals of big lists, so that a total or a sum over all rows of a tenant costs the same at any
-- size. Every statement that changes a counted table inserts its differences as new rows, so writers never
-- wait for each other. A cron job merges the rows of a group into one.

create table if not exists app.tallies (
  id bigint generated always as identity primary key,
  -- Null: counts rows that belong to no tenant.
  tenant_id uuid references tenancy.tenants (id) on delete cascade,
  tally text not null,
  -- The values of the counted table's columns, in the order of app.tally_kinds.dims; '' for null.
  dims text[] not null,
  entries bigint not null,
  amount numeric not null default 0
);
create index if not exists tallies_of on app.tallies (tenant_id, tally, dims) include (entries, amount);

-- The definition of a tally: the table, the columns that make the groups, and a column that is summed.
create table if not exists app.tally_kinds (
  tally text primary key,
  source text not null,
  dims text[] not null,
  amount text,
  -- The tally whose groups this one adds up to fewer, so that who asks by its columns alone reads few rows.
  rollup_of text
);
