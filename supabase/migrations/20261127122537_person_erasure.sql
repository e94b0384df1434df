-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table tenancy.tenants in share row exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE TABLE "tenancy"."erasures" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "begun_at" timestamp with time zone NOT NULL DEFAULT now(), "ended_at" timestamp with time zone, "run_by" text NOT NULL, "row_counts" jsonb NOT NULL, "file_count" bigint NOT NULL, "books_until" date, "subject" jsonb NOT NULL DEFAULT '{}'::jsonb, CONSTRAINT "erased_without_subject" CHECK (((ended_at IS NULL) OR (subject = '{}'::jsonb))), CONSTRAINT "erasures_file_count_check" CHECK ((file_count >= 0)), CONSTRAINT "erasures_pkey" PRIMARY KEY (id), CONSTRAINT "erasures_row_counts_check" CHECK ((jsonb_typeof(row_counts) = 'object'::text)), CONSTRAINT "erasures_run_by_check" CHECK (((run_by <> ''::text) AND (octet_length(run_by) <= 1000))), CONSTRAINT "erasures_subject_check" CHECK ((jsonb_typeof(subject) = 'object'::text)), CONSTRAINT "erasures_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "texts_within_bounds" CHECK ((octet_length(run_by) <= 1000)));

ALTER TABLE "tenancy"."erasures" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "tenancy"."erasures" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION tenancy.without_person(document jsonb, subject jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_word jsonb := subject -> 'word';
  v_person text := subject ->> 'person';
  v_about text := coalesce(document ->> 'delivery_id', case when document ? 'full_name' then document ->> 'id' end);
  v_texts text;
  v_theirs boolean;
  v_place boolean;
begin
  if jsonb_typeof(document) = 'string' then
    return case when document #>> '{}' ~* (subject ->> 'texts') then v_word else document end;
  elsif jsonb_typeof(document) = 'array' then
    return (select coalesce(jsonb_agg(tenancy.without_person(e.value, subject) order by e.place), '[]')
      from jsonb_array_elements(document) with ordinality e (value, place));
  elsif jsonb_typeof(document) <> 'object'
      or not (document::text ~* (subject ->> 'texts') or coalesce(strpos(document::text, '"id": "' || v_person || '"') > 0, false)) then
    return document;
  end if;
  v_texts := case when v_about is null or subject -> 'ids' ? v_about then subject ->> 'texts' else subject ->> 'contact' end;
  v_theirs := coalesce(document ->> 'id' = v_person, false) or exists (select from jsonb_each(document) f
    where jsonb_typeof(f.value) = 'string' and f.value #>> '{}' ~* (subject ->> 'contact'));
  v_place := document ? 'full_address' and document::text ~* v_texts;
  return (
    select jsonb_object_agg(f.key, case
      when f.key in ('city', 'country') then f.value
      when v_place and f.key in ('title', 'contact_info') then '{}'
      when v_place and f.key = 'full_address' then v_word
      when v_place and f.key in ('latitude', 'longitude', 'lat', 'lng', 'long') then 'null'
      when f.key = 'recipient' and jsonb_typeof(f.value) = 'object' and f.value::text ~* v_texts
        then jsonb_build_object('name', v_word, 'phone', null)
      when f.key = 'contact_info' and f.value::text ~* (subject ->> 'contact') then '{}'
      when f.key in ('phone', 'email', 'avatar', 'avatar_url') and (v_theirs or f.value::text ~* v_texts) then 'null'
      when v_theirs and f.key in ('name', 'full_name', 'first_name', 'last_name') and jsonb_typeof(f.value) = 'string' then v_word
      else tenancy.without_person(f.value, subject || jsonb_build_object('texts', v_texts)) end)
    from jsonb_each(document) f);
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."without_person"(jsonb, jsonb) FROM "barid_caller";

ALTER TABLE "tenancy"."erasures" ADD CONSTRAINT "erasures_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

CREATE INDEX erasures_under_way ON tenancy.erasures USING btree (tenant_id) WHERE (ended_at IS NULL);

CREATE POLICY "deny_all" ON "tenancy"."erasures" FOR ALL TO "barid_caller" USING (false);

REVOKE ALL ON FUNCTION "tenancy"."without_person"(jsonb, jsonb) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127122537';
end $$;

grant execute on function private.schema_version() to barid_api;
