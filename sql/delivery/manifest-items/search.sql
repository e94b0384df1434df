-- Scanning: finding items while a dispatcher types, and checking a batch before it is used.

-- Ids of items whose barcode contains `part`, newest first. SECURITY DEFINER because ILIKE is not leakproof:
-- under row-level security PostgreSQL may not use the trigram index for it, and a search over a million
-- items would read them all. It looks at the caller's own tenant only, and answers ids that the caller
-- still has to read through the policies.
create or replace function delivery.items_with_barcode(part text, row_limit integer) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  v_ids uuid[];
begin
  -- Executed as text, so that each search is planned for its own pattern: a rare one by the trigram
  -- index, a common one by reading the newest items.
  execute $query$
    select array_agg(f.id) from (
      select i.id from delivery.transfer_manifest_items i
      where i.tenant_id = $1 and i.status in ('picked_up', 'in_transit', 'received') and i.delivery_id is null
        and i.barcode_value operator(pg_catalog.~~*) $2
      order by i.created_at desc, i.id limit $3) f
  $query$ into v_ids using app.tenant_id(), app.contains_pattern(part), row_limit;
  return coalesce(v_ids, '{}');
end $$;

grant execute on function delivery.items_with_barcode(text, integer) to barid_caller;

-- Items that can still become orders. {q?, limit} -> search rows, newest first.
-- A uuid is an exact item id; other text matches anywhere in the barcode; none lists the newest. Scanners and
-- keyboards add spaces, line ends and digits of their own: the text is read as barcodes are stored.
create or replace function delivery.manifest_items_search(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_text text := coalesce(delivery.barcode_normalise(input ->> 'q'), '');
  v_limit integer := (input ->> 'limit')::integer;
  v_ids uuid[];
begin
  if v_text = '' then
    select array_agg(n.id) into v_ids from (
      select i.id from delivery.transfer_manifest_items i
      where i.status in ('picked_up', 'in_transit', 'received') and i.delivery_id is null
      order by i.created_at desc, i.id limit v_limit) n;
  elsif app.as_uuid(v_text) is not null then
    v_ids := array[app.as_uuid(v_text)];
  else
    v_ids := delivery.items_with_barcode(v_text, v_limit);
  end if;
  return coalesce((
    select jsonb_agg(to_jsonb(r) - 'created_at' order by r.created_at desc, r.manifest_item_id)
    from delivery.manifest_items_search_rows r
    where r.manifest_item_id = any (v_ids)
      and r.status in ('picked_up', 'in_transit', 'received') and r.delivery_id is null), '[]');
end $$;
