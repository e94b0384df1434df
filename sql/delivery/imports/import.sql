-- Orders the deliveries of a file, each as delivery_create does, charged like any other.
-- {lines, dry_run, refused?} -> what app.import_lines answers, with {import_id: null for a dry run, imported_before, duplicates,
-- duplicate_count}: what was there before, see delivery.import_of_content and delivery.import_duplicates; neither is refused.
-- Fails: import_has_errors; a line: as delivery_create.
-- Rows that several lines need are locked before the first, in the common lock order, so that two files, or a file and a refund, never wait
-- for each other crosswise: returned deliveries, the counter of delivery codes, wallets.
create or replace function delivery.delivery_import(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_returned uuid[];
  v_senders uuid[];
  v_hash bytea := sha256(convert_to((input -> 'lines')::text, 'UTF8'));
  v_known jsonb;
  v_import uuid;
  v_answer jsonb;
begin
  -- A return that names no sender is paid by that of the delivery which comes back.
  select array_agg(o.id) filter (where l -> 'input' ->> 'delivery_flow' = 'customer_return'),
    array_agg(distinct s.id) filter (where l -> 'input' ->> 'payment_method' = 'wallet')
  into v_returned, v_senders
  from jsonb_array_elements(input -> 'lines') l
  left join delivery.deliveries o on o.id = (l -> 'input' ->> 'original_delivery_id')::uuid
  cross join unnest(array[(l -> 'input' ->> 'customer_id')::uuid, (l -> 'input' ->> 'institution_user_id')::uuid,
    o.customer_id, o.institution_user_id]) s (id);
  if v_returned is not null then
    perform delivery.lock_deliveries(v_returned);
  end if;
  perform app.lock_numbers('delivery_code', not (input ->> 'dry_run')::boolean);
  if v_senders is not null then
    perform money.lock_wallets(case when app.sees_tenant() then v_senders else array[app.user_id()] end);
  end if;
  v_known := delivery.import_duplicates(input -> 'lines') || jsonb_build_object('imported_before', delivery.import_of_content(v_hash));
  v_answer := app.import_lines('delivery.delivery_create', '{id}', input);
  if not (input ->> 'dry_run')::boolean then
    insert into delivery.delivery_imports (tenant_id, content_hash, created_by) values (app.tenant_id(), v_hash, app.user_id())
    returning id into v_import;
    insert into delivery.delivery_import_lines (tenant_id, import_id, delivery_id, line)
    select app.tenant_id(), v_import, i.id::uuid, (l.line ->> 'line')::integer
    from jsonb_array_elements(input -> 'lines') with ordinality l (line, position)
    join jsonb_array_elements_text(v_answer -> 'ids') with ordinality i (id, position) using (position);
  end if;
  return v_answer || v_known || jsonb_build_object('import_id', v_import);
end $$;

-- The last import of the same lines that is not cancelled as a whole: {import_id, created_at, imported, cancelled}, or null.
create or replace function delivery.import_of_content(hash bytea) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('import_id', v.id, 'created_at', v.created_at, 'imported', v.imported, 'cancelled', v.cancelled)
    from delivery.delivery_imports i join delivery.delivery_imports_list v on v.id = i.id
    where i.tenant_id = app.tenant_id() and i.content_hash = hash and v.cancelled < v.imported
    order by i.created_at desc limit 1);
end $$;

-- Lines that order what is ordered already, as far as the caller sees it: with the reference of a delivery that is not cancelled or of an earlier
-- line; or for a sender, telephone number, however it is written, and COD as a delivery of the last three days or an earlier line has. Returns are none.
-- -> {duplicate_count, duplicates: the first 100 [{line, same: reference|recipient, other_line or null, delivery {id, delivery_code, status,
-- created_at} or null}]}
create or replace function delivery.import_duplicates(lines jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    with line as (
      select (l ->> 'line')::integer as line, nullif(l -> 'input' ->> 'external_reference_id', '') as reference,
        nullif(right(app.dialled(l #>> '{input,recipient,phone}'), 9), '') as phone, coalesce((l -> 'input' ->> 'cod_amount')::numeric, 0) as cod,
        coalesce(l -> 'input' ->> 'institution_user_id', l -> 'input' ->> 'customer_id')::uuid as sender
      from jsonb_array_elements(lines) l
      where coalesce(l -> 'input' ->> 'delivery_flow', 'standard') = 'standard'
    ), earlier as (
      select x.*, case when x.reference is not null then min(x.line) over (partition by x.reference) end as same_reference,
        case when x.phone is not null then min(x.line) over (partition by x.phone, x.cod, x.sender) end as same_recipient
      from line x
    ), ordered as (
      select distinct on (f.line) f.line, f.same, d.id, d.delivery_code, d.status, d.created_at
      from (
        select x.line, 'reference' as same, d.id from line x
        join delivery.deliveries d on d.tenant_id = app.tenant_id() and d.external_reference_id = x.reference
        where d.status <> 'cancelled' and d.delivery_flow in ('standard', 'pnd_parent')
        union all
        select x.line, 'recipient', d.id from line x
        join delivery.deliveries d on d.tenant_id = app.tenant_id() and right(app.dialled(d.recipient ->> 'phone'), 9) = x.phone and d.cod_amount = x.cod
        where d.created_at > now() - interval '3 days' and d.status <> 'cancelled' and d.delivery_flow in ('standard', 'pnd_parent')
          and (x.sender is null or x.sender in (d.customer_id, d.institution_user_id))) f
      join delivery.deliveries d on d.tenant_id = app.tenant_id() and d.id = f.id
      order by f.line, f.same = 'recipient', d.created_at desc
    ), found as (
      select e.line, o.same, null::integer as other_line,
        jsonb_build_object('id', o.id, 'delivery_code', o.delivery_code, 'status', o.status, 'created_at', o.created_at) as delivery
      from earlier e join ordered o on o.line = e.line
      union all
      select e.line, case when e.same_reference < e.line then 'reference' else 'recipient' end,
        case when e.same_reference < e.line then e.same_reference else e.same_recipient end, null
      from earlier e
      where (e.same_reference < e.line or e.same_recipient < e.line) and not exists (select from ordered o where o.line = e.line)
    )
    select jsonb_build_object('duplicate_count', count(*), 'duplicates', coalesce(jsonb_agg(jsonb_build_object('line', n.line, 'same', n.same,
      'other_line', n.other_line, 'delivery', n.delivery) order by n.line) filter (where n.number <= 100), '[]'))
    from (select f.*, row_number() over (order by f.line) as number from found f) n);
end $$;
