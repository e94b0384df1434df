-- Barcode batches: barcodes to print before there is a parcel.

-- A batch with its barcodes in order. {id}. Fails: barcode_batch_not_found.
create or replace function delivery.barcode_batch_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return app.found((
    select to_jsonb(b) || jsonb_build_object('barcodes', (
      select jsonb_agg(jsonb_build_object('barcode', c.barcode, 'status', c.status) order by c.position)
      from delivery.transfer_barcodes c where c.tenant_id = app.tenant_id() and c.batch_id = b.id))
    from delivery.barcode_batches_list b
    where b.id = (input ->> 'id')::uuid), 'barcode_batch_not_found');
end $$;

-- Makes a batch of new barcodes with serials one after the other; no two batches of a tenant share one.
-- {quantity, institution_user_id?, branch_id?, service_indicator?} -> {id, batch_number, quantity, first_barcode, last_barcode}
-- A branch brings its institution along. Issuer is the tenant's country, setting general.domestic_country.
-- Fails: institution_not_found, branch_not_found, barcode_serials_exhausted.
create or replace function delivery.barcode_batch_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_quantity integer := (input ->> 'quantity')::integer;
  v_institution uuid := (input ->> 'institution_user_id')::uuid;
  v_branch uuid := (input ->> 'branch_id')::uuid;
  v_indicator text := coalesce(input ->> 'service_indicator', 'DM');
  v_issuer text := app.settings('general', 'domestic_country') ->> 'code';
  v_first bigint;
  v_batch delivery.transfer_barcode_batches;
  v_barcodes text[];
begin
  if v_institution is not null then
    perform delivery.institution_get(jsonb_build_object('id', v_institution));
  end if;
  if v_branch is not null then
    select b.institution_user_id into v_institution from delivery.institution_branches b
    where b.id = v_branch and b.institution_user_id = coalesce(v_institution, b.institution_user_id);
    if not found then
      perform app.fail('branch_not_found', '{"field": "branch_id"}');
    end if;
  end if;
  v_issuer := upper(v_issuer);
  if v_issuer is null or v_issuer !~ '^[A-Z]{2}$' then
    v_issuer := 'IQ';
  end if;
  v_first := app.take_numbers('transfer_barcodes', v_quantity);
  if v_first + v_quantity - 1 > 999999999 then
    perform app.fail('barcode_serials_exhausted');
  end if;
  insert into delivery.transfer_barcode_batches (tenant_id, batch_number, quantity, service_indicator, issuer,
    institution_user_id, branch_id, first_serial, created_by)
  values (app.tenant_id(), 'BB-' || to_char(app.take_numbers('transfer_barcode_batches'), 'FM999999000000'), v_quantity,
    v_indicator, v_issuer, v_institution, v_branch, v_first, app.user_id())
  returning * into v_batch;
  with made as (
    insert into delivery.transfer_barcodes (tenant_id, barcode, batch_id, position)
    select v_batch.tenant_id, delivery.barcode_build(v_indicator, v_first + n - 1, v_issuer), v_batch.id, n
    from generate_series(1, v_quantity) n
    returning barcode, position
  )
  select array_agg(made.barcode order by made.position) into v_barcodes from made;
  return jsonb_build_object('id', v_batch.id, 'batch_number', v_batch.batch_number, 'quantity', v_quantity,
    'first_barcode', v_barcodes[1], 'last_barcode', v_barcodes[v_quantity]);
end $$;
