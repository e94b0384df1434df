-- A warehouse as somebody who works there sees it. {warehouse_id} -> {warehouse, status, recent_activity}
-- Fails: warehouse_assignment_required (also for a warehouse that does not exist), warehouse_inactive.
create or replace function warehousing.dashboard(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_warehouse warehousing.warehouses;
begin
  select w.* into v_warehouse
  from warehousing.warehouse_staff s
  join warehousing.warehouses w on w.tenant_id = s.tenant_id and w.id = s.warehouse_id
  where s.tenant_id = v_tenant and s.warehouse_id = (input ->> 'warehouse_id')::uuid and s.user_id = app.user_id() and s.is_active;
  if not found then
    perform app.fail('warehouse_assignment_required');
  end if;
  if v_warehouse.status not in ('active', 'full') or v_warehouse.deleted_at is not null then
    perform app.fail('warehouse_inactive');
  end if;
  return jsonb_build_object(
    'warehouse', jsonb_build_object('id', v_warehouse.id, 'name', v_warehouse.name, 'code', v_warehouse.code),
    'status', (
      -- Kept totals: a warehouse has as many rows as it has places and things.
      select jsonb_build_object('available_units', coalesce(sum(u.units) filter (where u.status = 'available'), 0),
        'reserved_units', coalesce(sum(u.units) filter (where u.status = 'reserved'), 0),
        'damaged_units', coalesce(sum(u.units) filter (where u.status = 'damaged'), 0),
        'expired_units', coalesce(sum(u.units) filter (where u.status = 'expired'), 0),
        'other_units', coalesce(sum(u.units) filter (where u.status not in ('available', 'reserved', 'damaged', 'expired')), 0),
        'total_units', coalesce(sum(u.units), 0))
      from (select k.key as status, (k.value ->> 'amount')::bigint as units
        from jsonb_each(app.tally_by('stock', 'status', jsonb_build_object('warehouse_id', v_warehouse.id))) k) u),
    'recent_activity', (
      select coalesce(jsonb_agg(jsonb_build_object('id', t.movement_id, 'type', case t.transaction_type
          when 'initial_stock' then 'inventory_initial_stock' when 'receive' then 'inventory_received' when 'pick' then 'inventory_picked'
          when 'move' then 'inventory_moved' when 'adjust' then 'inventory_adjusted' when 'write_off' then 'inventory_adjusted'
          when 'return' then 'inventory_returned' when 'count' then 'inventory_counted' when 'transfer_in' then 'inventory_transferred_in'
          when 'transfer_out' then 'inventory_transferred_out' else 'inventory_transaction' end,
        'quantity', t.quantity, 'timestamp', t.created_at, 'item', jsonb_build_object('id', t.item_id, 'name', i.name, 'sku', i.sku),
        'performed_by', jsonb_build_object('id', t.performed_by, 'name', p.full_name),
        'from_location', case when t.from_bin_id is not null then jsonb_build_object('id', t.from_bin_id, 'code', f.code) end,
        'to_location', case when t.to_bin_id is not null then jsonb_build_object('id', t.to_bin_id, 'code', b.code) end,
        'reference', jsonb_build_object('id', t.reference_id, 'type', t.reference_type)) order by t.created_at desc, t.id desc), '[]')
      from (
        select x.* from warehousing.inventory_transactions x
        where x.tenant_id = v_tenant and x.warehouse_id = v_warehouse.id and x.transaction_type not in ('reserve', 'release')
        order by x.created_at desc, x.id desc limit 10) t
      left join warehousing.inventory_items i on i.tenant_id = t.tenant_id and i.id = t.item_id
      left join warehousing.bins f on f.tenant_id = t.tenant_id and f.id = t.from_bin_id
      left join warehousing.bins b on b.tenant_id = t.tenant_id and b.id = t.to_bin_id
      left join tenancy.profiles p on p.id = t.performed_by));
end $$;
