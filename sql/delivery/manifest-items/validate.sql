-- Judges items for orders: why each cannot become one although its manifest is fit, or null when it can.
-- item_already_has_order, item_void, item_has_open_exception, item_status_not_allowed.
-- Only items that the caller reaches are answered.
create or replace function delivery.items_evaluate(item_ids uuid[])
returns table (id uuid, manifest_id uuid, obstacle text)
language plpgsql stable set search_path = '' as $$
begin
  return query
  select i.id, i.manifest_id, case
      when i.status = 'order_created' or i.delivery_id is not null then 'item_already_has_order'
      when i.status = 'void' then 'item_void'
      when exists (select from delivery.transfer_manifest_exceptions x
        where x.tenant_id = i.tenant_id and x.manifest_item_id = i.id and x.status = 'open') then 'item_has_open_exception'
      when i.status not in ('picked_up', 'in_transit', 'received') then 'item_status_not_allowed'
      when m.status in ('received', 'received_with_exceptions', 'processing')
        and (i.status <> 'received' or i.received_at is null) then 'item_status_not_allowed'
    end
  from delivery.transfer_manifest_items i
  join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
  where i.id = any (items_evaluate.item_ids);
end $$;

-- Checks a scanned batch without changing anything.
-- {identifiers: [{item_id} or {barcode} or {}, ...]} -> one row per entry, in order:
--   {error_key, manifest_item_id, barcode_value, manifest_id, manifest_number, manifest_status, current_status}
-- An entry that names nothing ({}) answers {}: the caller already knows why. A barcode that was voided
-- and scanned again means its live item.
create or replace function delivery.manifest_items_validate(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    with found as materialized (
      -- Typed columns, since a cast of a joined value is not leakproof and would keep the index unused.
      select e.position, e.item_id is null and e.barcode is null as is_empty, f.id
      from rows from (jsonb_to_recordset(input -> 'identifiers') as (item_id uuid, barcode text))
        with ordinality e (item_id, barcode, position)
      left join lateral (
        select c.id from (
          select a.id, a.status, a.created_at from delivery.transfer_manifest_items a where a.id = e.item_id
          union all
          select b.id, b.status, b.created_at from delivery.transfer_manifest_items b where b.barcode_value = e.barcode
        ) c
        order by c.status = 'void', c.created_at desc limit 1
      ) f on true
    ), manifest as materialized (
      -- Judged once each, not once an item.
      select j.id, j.manifest, j.obstacle, case j.obstacle when 'manifest_delivery_proof_required'
        then jsonb_build_object('missing', delivery.manifest_proofs_missing(j.id, 'delivery')) else '{}' end as missing
      from delivery.manifests_evaluate((
        select array_agg(distinct i.manifest_id) from found f join delivery.transfer_manifest_items i on i.id = f.id)) j
    )
    select coalesce(jsonb_agg(
      case
        when f.is_empty then '{}'::jsonb
        when i.id is null then jsonb_build_object('error_key', 'item_not_found')
        else jsonb_build_object(
          'error_key', coalesce(m.obstacle, j.obstacle),
          'manifest_item_id', i.id, 'barcode_value', i.barcode_value, 'manifest_id', m.id,
          'manifest_number', (m.manifest).manifest_number, 'manifest_status', (m.manifest).status,
          'current_status', i.status) || coalesce(m.missing, '{}')
      end order by f.position), '[]')
    from found f
    left join delivery.transfer_manifest_items i on i.id = f.id
    left join manifest m on m.id = i.manifest_id
    left join delivery.items_evaluate((select array_agg(f.id) from found f where f.id is not null)) j on j.id = i.id);
end $$;
