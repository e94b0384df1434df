-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE TABLE "tenancy"."deleted_tenants" ("id" uuid NOT NULL, "begun_at" timestamp with time zone NOT NULL DEFAULT now(), "ended_at" timestamp with time zone, "run_by" text NOT NULL, "row_counts" jsonb NOT NULL, "file_count" bigint NOT NULL, "person_count" bigint NOT NULL, "leaving" uuid[] NOT NULL DEFAULT '{}'::uuid[], CONSTRAINT "deleted_tenants_file_count_check" CHECK ((file_count >= 0)), CONSTRAINT "deleted_tenants_person_count_check" CHECK ((person_count >= 0)), CONSTRAINT "deleted_tenants_pkey" PRIMARY KEY (id, begun_at), CONSTRAINT "deleted_tenants_row_counts_check" CHECK ((jsonb_typeof(row_counts) = 'object'::text)), CONSTRAINT "deleted_tenants_run_by_check" CHECK ((run_by <> ''::text)), CONSTRAINT "ended_without_people" CHECK (((ended_at IS NULL) OR (leaving = '{}'::uuid[]))), CONSTRAINT "texts_within_bounds" CHECK ((octet_length(run_by) <= 1000)));

ALTER TABLE "tenancy"."deleted_tenants" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "tenancy"."deleted_tenants" FORCE ROW LEVEL SECURITY;

CREATE UNIQUE INDEX deletion_under_way ON tenancy.deleted_tenants USING btree (id) WHERE (ended_at IS NULL);

CREATE POLICY "deny_all" ON "tenancy"."deleted_tenants" FOR ALL TO "barid_caller" USING (false);

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127075939';
end $$;

grant execute on function private.schema_version() to barid_api;
