-- Idempotency keys. Scope: tenant and caller, so equal keys of two people never meet.
-- Definers, because the keys are nobody's rows to read; the caller's identity is the request's own.

create or replace function private.idempotency_scope() returns text
language sql stable set search_path = '' as $$
  select coalesce(app.tenant_id()::text, '-') || '/' || coalesce(app.user_id()::text, '-')
$$;

-- The remembered answer, or null when this transaction may do the work.
-- A concurrent duplicate waits here for the first to end. Fails: `conflict` when the input differs.
create or replace function private.idempotency_claim(operation text, key text, input jsonb, conflict text) returns jsonb
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_hash bytea := sha256(convert_to(jsonb_strip_nulls(coalesce(input, 'null'))::text, 'UTF8'));
  v_row app.idempotency_keys;
begin
  insert into app.idempotency_keys (scope, operation, key, input_hash)
  values (private.idempotency_scope(), idempotency_claim.operation, idempotency_claim.key, v_hash)
  on conflict do nothing;
  if found then
    return null;
  end if;
  select k.* into v_row from app.idempotency_keys k
  where k.scope = private.idempotency_scope() and k.operation = idempotency_claim.operation and k.key = idempotency_claim.key;
  if v_row.input_hash <> v_hash then
    perform app.fail(conflict);
  end if;
  return v_row.answer;
end $$;

-- Remembers the answer; the first one stored stands.
create or replace function private.idempotency_store(operation text, key text, answer jsonb) returns void
language sql security definer set search_path = '' as $$
  update app.idempotency_keys k set answer = idempotency_store.answer
  where k.scope = private.idempotency_scope() and k.operation = idempotency_store.operation
    and k.key = idempotency_store.key and k.answer is null
$$;

-- Forgets a key whose call of several transactions ended in a refusal: failures are not remembered.
create or replace function private.idempotency_forget(operation text, key text) returns void
language sql security definer set search_path = '' as $$
  delete from app.idempotency_keys k
  where k.scope = private.idempotency_scope() and k.operation = idempotency_forget.operation
    and k.key = idempotency_forget.key and k.answer is null
$$;

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

grant execute on function private.idempotency_scope(), private.idempotency_claim(text, text, jsonb, text),
  private.idempotency_store(text, text, jsonb), private.idempotency_forget(text, text) to barid_caller;
