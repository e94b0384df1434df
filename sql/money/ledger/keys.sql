-- Idempotency-Keys that payments keep for good: the request engine forgets them after 24 hours.

-- The caller's payment of this type that the key of the request made, at any time; no row without a key, or the first time.
-- hash: the request's fingerprint (money.request_hash). Fails: idempotency_conflict.
create or replace function money.payment_of_key(p_type text, hash bytea) returns money.payments
language plpgsql stable set search_path = '' as $$
declare
  p money.payments;
begin
  select x.* into p from money.payments x
  where x.tenant_id = app.tenant_id() and x.actor_id = app.user_id() and x.type = p_type
    and x.idempotency_key = app.request_setting('idempotency_key');
  if p.input_hash <> hash then
    perform app.fail('idempotency_conflict');
  end if;
  return p;
end $$;

-- The fingerprint of a request, which its key belongs to: nulls are left out. Null without a key.
create or replace function money.request_hash(input jsonb) returns bytea
language plpgsql stable set search_path = '' as $$
begin
  return case when app.request_setting('idempotency_key') is not null then sha256(convert_to(jsonb_strip_nulls(input)::text, 'UTF8')) end;
end $$;
