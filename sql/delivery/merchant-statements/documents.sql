-- Statements as people take them away: the document with its mark, the file for the accountant, and whether a document says the truth.

-- The mark of a statement's money, printed in the QR code: the first 32 hex digits of SHA-256 over the statement, its currency, its net
-- and every line, so that changing any of them changes it. Amounts go in as thousandths, however they are written.
create or replace function money.statement_hash(p_id uuid, p_tenant uuid, p_number bigint, p_owner uuid, p_currency text, p_net numeric,
  lines money.merchant_statement_lines[])
returns text
language plpgsql stable set search_path = '' as $$
begin
  return left(encode(sha256(convert_to(concat_ws('|', p_id, p_tenant, p_number, p_owner, p_currency, (p_net * 1000)::bigint, (
      select string_agg(concat_ws(':', l.position, coalesce(l.movement::text, 'kept'), l.kind, (l.amount * 1000)::bigint, l.delivery_code), ';'
        order by l.position) from unnest(lines) l)), 'UTF8')), 'hex'), 32);
end $$;

-- One row of a statement for each delivery, with all its lines, and one for each line without a delivery, in the order of the lines.
-- kind: delivery; kept, kept_before (what stays in the wallet, and what stayed the time before); opening (what the wallet held before there were
-- statements); else the kind of the line. collected_at is when its COD was, else when the first of its lines happened. delivery_fee is a
-- cost, as the fees of the statement are: net = cod - delivery_fee + refund + adjustment. description: money.statement_line_description().
create or replace function money.statement_rows(p_id uuid)
returns table (kind text, delivery_code bigint, external_reference_id text, collected_at timestamptz, released_at timestamptz, cod numeric,
  delivery_fee numeric, refund numeric, adjustment numeric, net numeric, description text)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  return query
  select case when l.delivery_id is not null then 'delivery' when min(l.movement) = 0 then 'opening' when min(l.movement) > 0 then min(l.kind)
      when sum(l.amount) < 0 then 'kept' else 'kept_before' end,
    min(l.delivery_code), min(l.external_reference_id), coalesce(min(l.collected_at) filter (where l.kind = 'cod'), min(l.collected_at)),
    max(l.released_at),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), sum(l.amount),
    min(money.statement_line_description(l))
  from money.merchant_statement_lines l
  where l.tenant_id = app.tenant_id() and l.statement_id = p_id
  group by l.delivery_id, case when l.delivery_id is null then l.position end
  order by min(l.position);
end $$;

-- The rows of a statement for a file. {id} -> {number, rows: [money.statement_rows]}. Fails: statement_not_found.
create or replace function money.statement_file(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_number text := money.statement_to_json(v_id) ->> 'number';
begin
  if v_number is null then
    perform app.fail('statement_not_found');
  end if;
  return jsonb_build_object('number', v_number, 'rows', (select coalesce(jsonb_agg(to_jsonb(r)), '[]') from money.statement_rows(v_id) r));
end $$;

-- Everything that the document of a statement shows. {id} -> {statement, rows: [money.statement_rows], hash, tenant_name, brand, timezone, decimals}
-- Fails: statement_not_found.
create or replace function money.statement_document(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_file jsonb := money.statement_file(input);
  s money.merchant_statements;
begin
  select x.* into s from money.merchant_statements x where x.tenant_id = app.tenant_id() and x.id = v_id;
  return jsonb_build_object('statement', money.statement_to_json(v_id), 'rows', v_file -> 'rows', 'hash', s.hash,
    'tenant_name', (select t.name from tenancy.tenants t where t.id = s.tenant_id), 'brand', app.settings('general', 'brand_settings'),
    'timezone', app.timezone(), 'decimals', money.decimals_of(s.currency::text));
end $$;

-- Whether a document says the truth: its mark is that of a statement that the caller sees, the lines still give it, and the statement is not
-- void. A mark of another one is answered as an invented one is. {hash} -> {valid, printed, unchanged, statement or null}
create or replace function money.statement_verify(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  s money.merchant_statements;
  v_unchanged boolean;
begin
  select x.* into s from money.merchant_statements x where x.tenant_id = app.tenant_id() and x.hash = lower(input ->> 'hash');
  v_unchanged := coalesce(s.hash = money.statement_hash(s.id, s.tenant_id, s.number, s.owner_user_id, s.currency::text, s.net, array(
    select l from money.merchant_statement_lines l where l.tenant_id = s.tenant_id and l.statement_id = s.id)), false);
  return jsonb_build_object('valid', v_unchanged and s.status <> 'void', 'printed', s.id is not null, 'unchanged', v_unchanged,
    'statement', case when s.id is not null then money.statement_to_json(s.id) end);
end $$;
