-- Cancels the deliveries of a file that nobody has in hand yet. {id, reason, notes?}
-- -> {import_id, cancelled: how many by this call, left: those that are not cancelled, by line, each with its refusal [{delivery_id, delivery_code,
-- status, code, params}]}
-- A parcel that a warehouse has begun with is left: it would go back, and its goods are locked before wallets, which the first refund holds.
-- Locks: the import, the deliveries by id, for operations the drivers who would be freed, the wallets of senders, what each cancellation locks.
-- Fails: import_not_found.
create or replace function delivery.import_cancel(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_import delivery.delivery_imports;
  v_deliveries uuid[];
  v_senders uuid[];
  v_delivery uuid;
  v_cancelled uuid[] := '{}';
  v_left jsonb := '{}';
  v_detail text;
begin
  select * into v_import from delivery.delivery_imports i where i.id = (input ->> 'id')::uuid for no key update;
  if not found then
    perform app.fail('import_not_found');
  end if;
  v_deliveries := array(
    select l.delivery_id from delivery.delivery_import_lines l
    join delivery.deliveries d on d.tenant_id = l.tenant_id and d.id = l.delivery_id and d.status <> 'cancelled'
    where l.tenant_id = v_import.tenant_id and l.import_id = v_import.id order by l.line);
  perform delivery.lock_deliveries(v_deliveries);
  if app.has_permission('manage:operations:tenant') then
    perform delivery.lock_drivers_of(v_deliveries);
  end if;
  select array_agg(distinct s.id) into v_senders
  from delivery.deliveries d cross join unnest(array[d.customer_id, d.institution_user_id]) s (id)
  where d.tenant_id = v_import.tenant_id and d.id = any (v_deliveries) and d.payment_method = 'wallet';
  if v_senders is not null then
    perform money.lock_wallets(v_senders);
  end if;
  foreach v_delivery in array v_deliveries loop
    begin
      perform delivery.require_unhandled(v_delivery);
      perform delivery.parcel_cancel(input || jsonb_build_object('id', v_delivery));
      v_cancelled := v_cancelled || v_delivery;
    exception when sqlstate 'RULE0' then
      get stacked diagnostics v_detail = pg_exception_detail;
      v_left := v_left || jsonb_build_object(v_delivery, jsonb_build_object('code', sqlerrm, 'params', v_detail::jsonb - 'language'));
    end;
  end loop;
  if cardinality(v_cancelled) > 0 then
    update delivery.delivery_imports i set cancelled_at = clock_timestamp(), cancelled_by = app.user_id() where i.id = v_import.id;
  end if;
  return (
    select jsonb_build_object('import_id', v_import.id, 'cancelled', cardinality(v_cancelled), 'left', coalesce(jsonb_agg(jsonb_build_object(
      'delivery_id', d.id, 'delivery_code', d.delivery_code, 'status', d.status) || (v_left -> d.id::text) order by p.position), '[]'))
    from unnest(v_deliveries) with ordinality p (id, position)
    join delivery.deliveries d on d.tenant_id = v_import.tenant_id and d.id = p.id
    where v_left ? d.id::text);
end $$;

-- Fails: invalid_status_transition, of a parcel that would not simply end: its goods are being picked, or it waits in a warehouse on its way.
-- SECURITY DEFINER: its owner sees no picking orders.
create or replace function delivery.require_unhandled(parcel uuid) returns void
language plpgsql stable security definer set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = parcel;
  if (delivery.waiting_on_its_way(d)).id is not null or exists (
      select from delivery.deliveries f
      join warehousing.picking_orders p on p.tenant_id = f.tenant_id and p.delivery_id = f.id and p.status in ('pending', 'in_progress', 'completed')
      where f.tenant_id = d.tenant_id and (f.id = d.id or f.parent_id = d.id) and f.status in ('pending', 'assigned', 'accepted')) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled', 'text_key', 'reason_handled'));
  end if;
end $$;
grant execute on function delivery.require_unhandled(uuid) to barid_caller;
