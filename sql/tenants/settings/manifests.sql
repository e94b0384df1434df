-- The effective settings of transfer manifests: what the tenant saved over the defaults. Stored values
-- that are none of the allowed ones are read as the default (writing them is refused elsewhere).
create or replace function tenancy.manifest_settings() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object(
        'enabled', false,
        'allow_warehouse_staging_without_assigned_driver', false,
        'available_delivery_service_ids', '[]'::jsonb,
        'reasons', '[]'::jsonb)
      || s.saved
      || jsonb_build_object(
        'receiving_mode', case when s.saved ->> 'receiving_mode' in ('item_scan', 'manifest_bulk')
          then s.saved ->> 'receiving_mode' else 'item_scan' end,
        'driver_scan_mode', case when s.saved ->> 'driver_scan_mode' in ('continuous', 'manual')
          then s.saved ->> 'driver_scan_mode' else 'continuous' end,
        'delivery_fee_origin', case when s.saved ->> 'delivery_fee_origin' in ('processing_point', 'source_location')
          then s.saved ->> 'delivery_fee_origin' else 'processing_point' end,
        'allow_driver_select_processing_point', app.boolean_or(s.saved -> 'allow_driver_select_processing_point', false),
        'allow_driver_create_manifest_from_form', app.boolean_or(s.saved -> 'allow_driver_create_manifest_from_form', true),
        'allow_driver_scan_institution_qr', app.boolean_or(s.saved -> 'allow_driver_scan_institution_qr', false),
        'allow_driver_scan_item_barcode', app.boolean_or(s.saved -> 'allow_driver_scan_item_barcode', false),
        'proof_settings', jsonb_build_object(
          'pickup', jsonb_build_object(
            'photo_required', app.boolean_or(s.saved #> '{proof_settings,pickup,photo_required}', true),
            'signature_required', app.boolean_or(s.saved #> '{proof_settings,pickup,signature_required}', false)),
          'delivery', jsonb_build_object(
            'photo_required', app.boolean_or(s.saved #> '{proof_settings,delivery,photo_required}', true),
            'signature_required', app.boolean_or(s.saved #> '{proof_settings,delivery,signature_required}', true))))
    -- offset 0 keeps the settings from being read again for each of their uses above.
    from (select jsonb_strip_nulls(app.settings('delivery', 'transfer_manifest')) as saved offset 0) s);
end $$;
