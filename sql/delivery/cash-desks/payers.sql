-- The payer of a parcel's fee, {name, phone}, each null where it is not known.
create or replace function money.payer_contact(d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  if d.payer_type = 'receiver' then
    return jsonb_build_object('name', d.recipient ->> 'name', 'phone', d.recipient ->> 'phone');
  end if;
  return (
    select jsonb_build_object('name', coalesce(p.full_name, app.localized(f.place -> 'title')),
      'phone', coalesce(p.phone, f.place #>> '{contact_info,phone}'))
    from (values (coalesce(d.ordered_from_snapshot, d.pickup_snapshot))) f (place)
    left join tenancy.people p on p.id = coalesce(d.institution_user_id, d.customer_id));
end $$;
