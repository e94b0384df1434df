-- The fields of a parcel that its carrier needs, also of a leg whose parcel a driver does not see.

-- The share of a parcel's COD and fee that falls due on a delivery: of the parcel itself all of it; of a leg what is taken in
-- cash where it begins (the sender's fee) or at the door (the COD and the receiver's fee). -> {cod_amount, delivery_fee}
create or replace function delivery.due_on(d delivery.deliveries) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_due record;
begin
  if d.parent_id is null then
    return jsonb_build_object('cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee);
  end if;
  v_due := money.cash_due(delivery.parcel_terms(d), case d.delivery_flow when 'pnd_inbound' then 'pickup' else 'dropoff' end);
  return jsonb_build_object('cod_amount', v_due.cod, 'delivery_fee', v_due.delivery_fee);
end $$;

-- The COD of a leg as its parcel was ordered with it: that of the parcel at the door, 0 where a leg ends in a warehouse.
create or replace function delivery.cod_ordered_on(d delivery.deliveries) returns numeric
language plpgsql stable security definer set search_path = '' as $$
begin
  return case d.delivery_flow when 'pnd_inbound' then 0 else (
    select coalesce(p.ordered_cod_amount, p.cod_amount) from delivery.deliveries p where p.tenant_id = app.tenant_id() and p.id = d.parent_id) end;
end $$;

-- The parcel of a leg, {id, delivery_code, barcode}; null for what is no leg.
create or replace function delivery.parcel_of_leg_to_json(d delivery.deliveries) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select jsonb_build_object('id', p.id, 'delivery_code', p.delivery_code, 'barcode', p.barcode)
    from delivery.deliveries p where p.tenant_id = app.tenant_id() and p.id = d.parent_id);
end $$;

grant execute on function delivery.due_on(delivery.deliveries), delivery.cod_ordered_on(delivery.deliveries),
  delivery.parcel_of_leg_to_json(delivery.deliveries) to barid_caller;

-- The person who gives a parcel to the driver, {name, phone}; null where that is a warehouse.
create or replace function delivery.sender_of(d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (select r.sender from delivery.deliveries_list r where r.tenant_id = d.tenant_id and r.id = d.id);
end $$;

-- The fields beside a delivery wherever it is shown to somebody who may carry it or its cash; lists read them from the view.
-- -> {cod_amount, delivery_fee, currency, cash_due, parcel, sender, recipient}
create or replace function delivery.carried(d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (select r.carried from delivery.deliveries_carried r where r.tenant_id = d.tenant_id and r.id = d.id);
end $$;
