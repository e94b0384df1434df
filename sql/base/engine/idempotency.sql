-- Idempotency keys. Scope: tenant and caller, so equal keys of two people, or of two API keys, never meet.
-- SECURITY DEFINER, because the keys are nobody's rows to read; the caller's identity is the request's own.

create or replace function private.idempotency_scope() returns text
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(app.tenant_id()::text, '-') || '/' || coalesce(app.request_setting('api_key'), app.user_id()::text, '-');
end $$;

-- The remembered answer, or null when this transaction may do the work.
-- A concurrent duplicate waits here for the first to end. A null in the input is not a field left out: it
-- may empty one. Fails: `conflict` when the input differs.
create or replace function private.idempotency_claim(operation text, key text, input jsonb, conflict text) returns jsonb
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_hash bytea := sha256(convert_to(coalesce(input, 'null')::text, 'UTF8'));
  v_row app.idempotency_keys;
begin
  loop
    insert into app.idempotency_keys (scope, operation, key, input_hash)
    values (private.idempotency_scope(), idempotency_claim.operation, idempotency_claim.key, v_hash)
    on conflict do nothing;
    if found then
      return null;
    end if;
    -- Locked: of several transactions under one key one is at work at a time, and a later one sees its answer.
    select k.* into v_row from app.idempotency_keys k
    where k.scope = private.idempotency_scope() and k.operation = idempotency_claim.operation and k.key = idempotency_claim.key
    for update;
    -- Gone when the call that had it has just failed and forgotten it: then it is ours to take.
    exit when found;
  end loop;
  if v_row.input_hash <> v_hash then
    perform app.fail(conflict);
  end if;
  return v_row.answer;
end $$;

-- Keeps other calls under a key from continuing until this transaction ends. Of a call of several transactions each takes its key first,
-- as private.idempotency_claim does: one that came to it last would wait for a duplicate that waits for its other rows.
create or replace function private.idempotency_hold(operation text, key text) returns void
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
begin
  perform from app.idempotency_keys k
  where k.scope = private.idempotency_scope() and k.operation = idempotency_hold.operation and k.key = idempotency_hold.key
  for update;
end $$;

-- The time at which a key was first used, by a call that did not come to its end: its work is of then. Null without a key.
create or replace function private.idempotency_since(operation text, key text) returns timestamptz
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select k.created_at from app.idempotency_keys k
    where k.scope = private.idempotency_scope() and k.operation = idempotency_since.operation and k.key = idempotency_since.key);
end $$;

-- Remembers the answer, and gives back the one that stands: of two calls under one key that both came to
-- the end, the first to store its answer answers for both.
create or replace function private.idempotency_store(operation text, key text, answer jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_standing jsonb;
begin
  update app.idempotency_keys k set answer = coalesce(k.answer, idempotency_store.answer)
  where k.scope = private.idempotency_scope() and k.operation = idempotency_store.operation and k.key = idempotency_store.key
  returning k.answer into v_standing;
  return coalesce(v_standing, idempotency_store.answer);
end $$;

-- Forgets a key whose call of several transactions ended in a refusal: failures are not remembered.
create or replace function private.idempotency_forget(operation text, key text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  delete from app.idempotency_keys k
  where k.scope = private.idempotency_scope() and k.operation = idempotency_forget.operation
    and k.key = idempotency_forget.key and k.answer is null;
end $$;

-- Removes keys older than 24 hours. Run by cron.
create or replace function private.idempotency_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from app.idempotency_keys where created_at < now() - interval '24 hours';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function private.idempotency_scope(), private.idempotency_claim(text, text, jsonb, text), private.idempotency_hold(text, text),
  private.idempotency_since(text, text), private.idempotency_store(text, text, jsonb), private.idempotency_forget(text, text) to barid_caller;

-- Claims the Idempotency-Key of a call in several steps (`key`), if it has one: the answer of an earlier call, or null.
-- Fails: idempotency_conflict.
create or replace function integration.key_claim(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return case when input ? 'key' then
    private.idempotency_claim(app.request_setting('operation'), input ->> 'key', input - 'key', 'idempotency_conflict') end;
end $$;

-- Holds the key that integration.key_claim claimed, in a later step of its call, before anything else is locked.
create or replace function integration.key_hold(input jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  if input ? 'key' then
    perform private.idempotency_hold(app.request_setting('operation'), input ->> 'key');
  end if;
end $$;
