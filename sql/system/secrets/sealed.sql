-- Secrets that are stored sealed (shared/outbound/secrets.ts): those of webhooks, credentials of carriers and gateways.

-- How much is sealed with which key of BARID_SECRETS_KEY, by the key's name. For operators, and for npm run deploy.
create or replace function integration.sealed_keys() returns table (key text, count bigint)
language plpgsql stable set search_path = '' as $$
begin
  return query
  select split_part(s.sealed, '.', 2), count(*)
  from (
    select w.secret from integration.webhook_subscriptions w
    union all
    select unnest(string_to_array(w.previous_secret, ' ')) from integration.webhook_subscriptions w where w.previous_secret_until > now()
    union all
    select unnest(array[c.credentials, c.webhook_secret]) from integration.tenant_carriers c
    union all
    select v.value from money.payment_gateways g, jsonb_each_text(g.secrets) v
    union all
    select g.previous_webhook_secret from money.payment_gateways g
    union all
    select v.value from money.payment_gateways g, jsonb_each(g.previous_accounts) a, jsonb_each_text(a.value -> 'secrets') v
  ) s (sealed)
  where s.sealed is not null
  group by 1;
end $$;
revoke execute on function integration.sealed_keys() from barid_caller;
