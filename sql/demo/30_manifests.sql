-- Demo manifests in every status. Orders among them were made by the real core.

do $$
declare
  v_slug text;
  v_tenant uuid;
  v_plan record;
  v_manifest uuid;
  v_batch uuid;
  v_serial integer := 100;
  v_received boolean;
  v_names text[] := array['أدوية القلب', 'کتێبی مێژوو', 'Blood pressure monitor', 'دفاتر مدرسية', 'دەرمانی شەکرە', 'Arabic dictionary',
    'فيتامين د', 'پێنووسی ڕەنگاو ڕەنگ', 'Infrared thermometer', 'رواية الطنطورية'];
begin
  for v_slug in select unnest(array['demo', 'other']) loop
    v_tenant := md5('tenant/' || v_slug)::uuid;
    perform set_config('app.tenant_id', v_tenant::text, true), set_config('app.sees_tenant', 'on', true),
      set_config('app.user_id', md5('user/dispatcher@' || v_slug)::text, true);

    for v_plan in
      select * from (values
        (1, 'draft', 3, 'BR-MNS', 'institution', 'driver1'),
        (2, 'picked_up', 4, 'BR-DRA', 'institution2', 'driver1'),
        (3, 'in_transit', 6, 'BR-ADH', 'institution', 'driver2'),
        (4, 'awaiting_receipt', 60, 'BR-MNS', 'institution', 'driver1'),
        (5, 'receiving', 20, 'BR-DRA', 'institution2', 'driver2'),
        (6, 'received', 5, 'BR-ADH', 'institution', 'driver1'),
        (7, 'received_with_exceptions', 8, 'BR-SLM', 'institution2', 'driver2'),
        (8, 'processing', 6, 'BR-MNS', 'institution', 'driver1'),
        (9, 'completed', 10, 'BR-DRA', 'institution2', 'driver1'),
        (10, 'cancelled', 2, 'BR-ADH', 'institution', 'driver2')
      ) p (number, status, items, branch, owner, driver)
      where v_slug = 'demo' or p.status in ('draft', 'awaiting_receipt')
      order by p.number
    loop
      v_manifest := md5('manifest/' || v_plan.number || v_slug)::uuid;
      v_batch := md5('batch/' || v_plan.number || v_slug)::uuid;
      v_received := v_plan.status in ('received', 'received_with_exceptions', 'processing', 'completed');
      insert into delivery.transfer_barcode_batches (id, tenant_id, batch_number, quantity, service_indicator, issuer, institution_user_id, first_serial)
      values (v_batch, v_tenant, 'BB-' || lpad(app.take_numbers('transfer_barcode_batches')::text, 6, '0'), v_plan.items, 'DM', 'IQ',
        md5('user/' || v_plan.owner || '@' || v_slug)::uuid, v_serial);
      insert into delivery.transfer_barcodes (tenant_id, barcode, batch_id, position, status, used_at)
      select v_tenant, delivery.barcode_build('DM', v_serial + n - 1, 'IQ'), v_batch, n, 'used', now() from generate_series(1, v_plan.items) n;

      insert into delivery.transfer_manifests (id, tenant_id, manifest_number, status, institution_user_id, source_branch_id, source_address_id,
        source_snapshot, processing_point_id, driver_id, creation_source, picked_up_at, departed_at, driver_arrived_at,
        receiving_started_at, receiver_id, received_at, received_by, received_count, processing_started_at, completed_at,
        cancelled_at, cancel_reason, created_by, created_at)
      select v_manifest, v_tenant, delivery.manifest_number(app.take_numbers('manifest_number')),
        -- Those that end with orders begin as received and are moved on below.
        case when v_plan.status in ('processing', 'completed') then 'received' else v_plan.status end,
        b.institution_user_id, b.id, b.address_id,
        jsonb_build_object('branch', jsonb_build_object('id', b.id, 'name', b.name, 'code', b.code, 'contact_info', b.contact_info),
          'address', to_jsonb(a), 'institution', jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone)),
        b.default_processing_point_id, md5('user/' || v_plan.driver || '@' || v_slug)::uuid, 'form',
        case when v_plan.status not in ('draft', 'cancelled') then now() - interval '3 hours' end,
        case when v_plan.status not in ('draft', 'picked_up', 'cancelled') then now() - interval '2 hours' end,
        case when v_plan.status in ('awaiting_receipt', 'receiving') or v_received then now() - interval '1 hour' end,
        case when v_plan.status = 'receiving' or v_received then now() - interval '50 minutes' end,
        case when v_plan.status = 'receiving' or v_received then app.user_id() end,
        case when v_received then now() - interval '40 minutes' end, case when v_received then app.user_id() end,
        case when v_received then v_plan.items end, null, null,
        case when v_plan.status = 'cancelled' then now() end, case when v_plan.status = 'cancelled' then 'The institution withdrew the parcels' end,
        md5('user/' || v_plan.driver || '@' || v_slug)::uuid, now() - interval '4 hours' + v_plan.number * interval '1 minute'
          -- The one that a dispatcher will scan first is the newest.
          + case v_plan.status when 'awaiting_receipt' then interval '1 hour' else interval '0' end
      from delivery.institution_branches b
      join delivery.addresses_list a on a.id = b.address_id
      join tenancy.profiles p on p.id = b.institution_user_id
      where b.tenant_id = v_tenant and b.id = md5('branch/' || v_plan.branch || v_slug)::uuid;

      insert into delivery.transfer_manifest_items (id, tenant_id, manifest_id, barcode_value, status, position, received_at, received_by, package_details, metadata, created_at)
      select md5('item/' || v_plan.number || '/' || n || v_slug)::uuid, v_tenant, v_manifest, delivery.barcode_build('DM', v_serial + n - 1, 'IQ'),
        s.status, n, case when s.status = 'received' then now() - interval '45 minutes' end, case when s.status = 'received' then app.user_id() end,
        case when n % 4 = 0 then jsonb_build_object('items', jsonb_build_array(jsonb_build_object(
          'name', v_names[1 + n % 10], 'quantity', 1, 'weight', 2 + n % 7, 'length', 40, 'width', 30, 'height', 20))) end,
        jsonb_build_object('name', v_names[1 + n % 10]),
        (select m.created_at from delivery.transfer_manifests m where m.id = v_manifest) + n * interval '1 second'
      from generate_series(1, v_plan.items) n
      cross join lateral (select case
        when v_plan.status in ('draft', 'picked_up') then 'picked_up'
        when v_plan.status in ('in_transit', 'awaiting_receipt') then 'in_transit'
        when v_plan.status = 'receiving' then case when n <= v_plan.items / 2 then 'received' else 'in_transit' end
        when v_plan.status = 'received_with_exceptions' and n <= 2 then 'in_transit'
        when v_plan.status = 'cancelled' then 'void'
        else 'received' end as status) s;
      v_serial := v_serial + v_plan.items;

      if v_plan.status not in ('draft', 'cancelled') then
        insert into delivery.transfer_manifest_proofs (tenant_id, manifest_id, stage, kind, url, signed_by, created_by)
        select v_tenant, v_manifest, p.stage, p.kind, v_tenant || '/' || v_manifest || '/' || p.stage || '-' || p.kind || '.jpg',
          case p.kind when 'signature' then 'أحمد سالم' end, md5('user/' || v_plan.driver || '@' || v_slug)::uuid
        from (values ('pickup', 'photo'), ('delivery', 'photo'), ('delivery', 'signature')) p (stage, kind)
        where p.stage = 'pickup' or v_plan.status not in ('picked_up', 'in_transit');
      end if;
      if v_plan.status = 'received_with_exceptions' then
        insert into delivery.transfer_manifest_exceptions (tenant_id, manifest_item_id, manifest_id, reason, notes, previous_item_status, created_by)
        select v_tenant, md5('item/' || v_plan.number || '/' || n || v_slug)::uuid, v_manifest,
          case n when 1 then 'damaged' else 'missing_on_receive' end, case n when 1 then 'العبوة ممزقة' end, 'in_transit', app.user_id()
        from generate_series(1, 2) n;
      end if;
      perform delivery.manifest_events_add((
        select jsonb_agg(jsonb_build_object('manifest_id', v_manifest, 'event_type', e.type) order by e.step)
        from (values (1, 'manifest_created', true), (2, 'manifest_picked_up', v_plan.status not in ('draft', 'cancelled')),
          (3, 'manifest_in_transit', v_plan.status not in ('draft', 'picked_up', 'cancelled')),
          (4, 'driver_arrived', v_plan.status in ('awaiting_receipt', 'receiving') or v_received),
          (5, 'receiving_started', v_plan.status = 'receiving' or v_received), (6, 'receiving_completed', v_received),
          (7, 'manifest_cancelled', v_plan.status = 'cancelled')) e (step, type, happened)
        where e.happened));

      if v_plan.status in ('processing', 'completed') then
        perform delivery.manifest_receive_and_order(jsonb_build_object('orders_max', 1000,
          'item_ids', (select jsonb_agg(i.id order by i.position) from delivery.transfer_manifest_items i
            where i.manifest_id = v_manifest and (v_plan.status = 'completed' or i.position <= 3)),
          'destination_address_id', md5('address/slemani' || v_slug)::uuid));
        update delivery.transfer_manifests set status = 'processing', processing_started_at = now() where id = v_manifest;
        if v_plan.status = 'completed' then
          update delivery.transfer_manifests set status = 'completed', completed_at = now() where id = v_manifest;
        end if;
      end if;
    end loop;
    insert into app.counters (tenant_id, counter, value) values (v_tenant, 'transfer_barcodes', v_serial)
    on conflict (tenant_id, counter) do update set value = greatest(counters.value, excluded.value);
  end loop;
end $$;
