-- Refuses the request: everything the transaction did is undone and the client gets `code`.
-- `params` fill the holes of the code's text; only those the code declares public leave the server. `language` is the one
-- the refusal is said in when the client asked for none. The request's engine makes an answer of it (private.call).
-- SQLSTATE RULE0 is ours: five capitals or digits that no PostgreSQL class uses.
create or replace function app.fail(code text, params jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  raise exception using errcode = 'RULE0', message = code,
    detail = (params || jsonb_build_object('language', current_setting('app.language', true)))::text;
end $$;

-- The same as an expression: coalesce(x, app.refuse('thing_not_found')) reads as a rule.
create or replace function app.refuse(code text, params jsonb default '{}') returns uuid
language plpgsql set search_path = '' as $$
begin
  perform app.fail(code, params);
  return null;
end $$;

-- The document, or a refusal where there is none: what reading one record answers.
create or replace function app.found(document jsonb, code text) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  if document is null then
    perform app.fail(code);
  end if;
  return document;
end $$;

-- Refuses a request that names another tenant than its caller's: asked by definers that are told a tenant, by its id or by a row. Jobs
-- and the clock have no caller and name the tenant they work for; a null is no tenant's. Fails: forbidden.
create or replace function app.require_tenant(tenant uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  if current_setting('role', true) = 'barid_caller' and tenant is distinct from app.tenant_id() and tenant is not null then
    perform app.fail('forbidden');
  end if;
end $$;
