-- The grants in a tenant of the bearer whose token Realtime has verified and set for its policies; {} when that bearer may not
-- act there at all. As private.identify has it: people lose what is taken from them. With the rights of delivery.may_listen,
-- since `authenticated` reaches no table of ours.
create or replace function app.token_grants(tenant_id uuid) returns text[]
language plpgsql stable set search_path = '' as $$
declare
  v_token jsonb := coalesce(nullif(current_setting('request.jwt.claims', true), ''), '{}')::jsonb;
begin
  if v_token ->> 'sub' is null then
    return '{}';
  end if;
  return (private.identify(jsonb_build_object('sub', v_token -> 'sub', 'issued_at', v_token -> 'iat', 'asked_tenant_id', token_grants.tenant_id,
    'mailbox', false, 'tenant_mode', 'required'))).grants;
exception when sqlstate 'RULE0' then
  return '{}';
end $$;

revoke execute on function app.token_grants(uuid) from barid_caller;
