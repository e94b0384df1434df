-- Secrets that are stored sealed (shared/outbound/secrets.ts): those of webhooks, credentials of carriers and gateways.

-- All of them that are still used: the table and the row, and what they are sealed for (shared/outbound/purposes.ts): `code` of a carrier or
-- gateway, else the row. is_signing: the secret of a gateway whose print stands beside it. One that stands twice in a row is named once.
create or replace function integration.sealed_texts()
returns table (place text, id uuid, tenant_id uuid, code text, sealed text, is_signing boolean)
language plpgsql stable set search_path = '' as $$
begin
  return query
  select s.place, s.id, s.tenant_id, s.code, s.sealed, bool_or(s.is_signing) from (
    select 'webhook', w.id, w.tenant_id, null, t.sealed, false
    from integration.webhook_subscriptions w
    cross join unnest(w.secret || case when w.previous_secret_until > now() then string_to_array(w.previous_secret, ' ') end) t (sealed)
    union all
    select 'carrier-credentials', c.id, c.tenant_id, c.carrier_code, c.credentials, false from integration.tenant_carriers c
    union all
    select 'carrier-webhook', c.id, c.tenant_id, c.carrier_code, c.webhook_secret, false from integration.tenant_carriers c
    union all
    select 'gateway', g.id, g.tenant_id, g.gateway_code, t.sealed, t.name = 'webhook_secret'
    from money.payment_gateways g
    cross join lateral (
      select v.key, v.value from jsonb_each_text(g.secrets) v
      union all
      select 'previous', g.previous_webhook_secret
      union all
      select 'previous', v.value from jsonb_each(g.previous_accounts) a, jsonb_each_text(a.value -> 'secrets') v
    ) t (name, sealed)
  ) s (place, id, tenant_id, code, sealed, is_signing)
  where s.sealed is not null
  group by 1, 2, 3, 4, 5;
end $$;
revoke execute on function integration.sealed_texts() from barid_caller;

-- How much is sealed with which key of BARID_SECRETS_KEY, by the key's name. For operators, and for npm run deploy.
create or replace function integration.sealed_keys() returns table (key text, count bigint)
language plpgsql stable set search_path = '' as $$
begin
  return query select split_part(s.sealed, '.', 2), count(*) from integration.sealed_texts() s group by 1;
end $$;
revoke execute on function integration.sealed_keys() from barid_caller;

-- Adds the job that seals anew what is sealed with another key than the first of BARID_SECRETS_KEY. The functions alone know the keys, so there
-- is a job where anything is sealed. -> 1, or 0: nothing is, or the last job is not over. For schedules, and for operators.
create or replace function integration.secrets_seal_anew() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  insert into app.jobs (kind)
  select 'payment.seal_anew'
  where exists (select from integration.sealed_texts())
    and not exists (select from app.jobs j where j.kind = 'payment.seal_anew' and j.status in ('queued', 'running'));
  get diagnostics v_count = row_count;
  return v_count;
end $$;
revoke execute on function integration.secrets_seal_anew() from barid_caller;

-- The secrets that another key than this one sealed, so many after the place that an answer before ended at: [{place, id, tenant_id, code, sealed,
-- is_signing, after}]. SECURITY DEFINER: called by the functions for a job, without a caller.
create or replace function integration.sealed_otherwise(p_key text, p_after text, p_most integer) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select coalesce(jsonb_agg(to_jsonb(t) order by t.after), '[]') from (
    select s.*, concat_ws(' ', s.id, s.sealed) collate "C" as after from integration.sealed_texts() s
    where split_part(s.sealed, '.', 2) <> p_key and concat_ws(' ', s.id, s.sealed) collate "C" > p_after collate "C"
    order by 7 limit p_most) t);
end $$;
revoke execute on function integration.sealed_otherwise(text, text, integer) from barid_caller;

-- Puts a secret that was sealed anew in the place of the text that it was; does nothing where that changed meanwhile. `print`: of a gateway's
-- signing secret by the new key. -> whether it did. SECURITY DEFINER: called by the functions for a job, without a caller.
create or replace function integration.sealed_replace(p_place text, p_id uuid, p_before text, p_sealed text, p_print text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  case p_place
    when 'webhook' then
      update integration.webhook_subscriptions w
      set secret = replace(w.secret, p_before, p_sealed), previous_secret = replace(w.previous_secret, p_before, p_sealed)
      where w.id = p_id and strpos(concat_ws(' ', w.secret, w.previous_secret), p_before) > 0;
    when 'carrier-credentials' then
      update integration.tenant_carriers c set credentials = p_sealed where c.id = p_id and c.credentials = p_before;
    when 'carrier-webhook' then
      update integration.tenant_carriers c set webhook_secret = p_sealed where c.id = p_id and c.webhook_secret = p_before;
    when 'gateway' then
      -- Sealed texts have no character that JSON would write otherwise.
      update money.payment_gateways g
      set secrets = replace(g.secrets::text, p_before, p_sealed)::jsonb,
        previous_accounts = replace(g.previous_accounts::text, p_before, p_sealed)::jsonb,
        previous_webhook_secret = replace(g.previous_webhook_secret, p_before, p_sealed),
        webhook_secret_print = case g.secrets ->> 'webhook_secret' when p_before then coalesce(p_print, g.webhook_secret_print)
          else g.webhook_secret_print end
      where g.id = p_id and strpos(concat_ws(' ', g.secrets, g.previous_webhook_secret, g.previous_accounts), p_before) > 0;
  end case;
  return found;
end $$;
revoke execute on function integration.sealed_replace(text, uuid, text, text, text) from barid_caller;

grant execute on function integration.sealed_otherwise(text, text, integer), integration.sealed_replace(text, uuid, text, text, text) to barid_api;
