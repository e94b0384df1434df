-- Orders the deliveries of a file, each as delivery_create does, charged like any other.
-- {lines, dry_run, refused?} -> see app.import_lines. Fails: import_has_errors; a line: as delivery_create.
-- Rows that several lines need are locked before the first, in the common lock order, so that two files, or a file and a refund, never wait
-- for each other crosswise: returned deliveries, the counter of delivery codes, wallets.
create or replace function delivery.delivery_import(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_returned uuid[];
  v_senders uuid[];
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
  return app.import_lines('delivery.delivery_create', '{id}', input);
end $$;
