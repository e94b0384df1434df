-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.cash_due_on(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_cod numeric := d.cod_amount;
  v_fee numeric := d.delivery_fee;
  v_by_sender boolean := d.payer_type = 'sender';
  v_in_cash boolean := d.payment_method = 'cash' or (d.payment_method = 'gateway' and d.order_id is null);
  v_no_pickup boolean;
  v_no_door boolean;
  p delivery.deliveries;
begin
  -- Of a leg the terms are those of its parcel.
  if d.parent_id is not null then
    select x.* into p from delivery.deliveries x where x.tenant_id = v_tenant and x.id = d.parent_id;
    v_cod := p.cod_amount;
    v_fee := p.delivery_fee;
    v_by_sender := p.payer_type = 'sender';
    v_in_cash := p.payment_method = 'cash' or (p.payment_method = 'gateway' and p.order_id is null);
  end if;
  if not v_in_cash then
    v_fee := 0;
  elsif v_by_sender and coalesce(p.picked_up_at, d.picked_up_at) is not null then
    -- Since it was picked up a wallet may have borne a change of it.
    v_fee := v_fee - money.delivery_fee_borne(coalesce(d.parent_id, d.id));
  end if;
  -- Returned, a leg that waits to be received sets out again.
  v_no_door := d.status in ('delivered', 'cancelled') or d.delivery_flow = 'pnd_inbound' or delivery.is_transferred(d)
    or d.status = 'returned' and delivery.has_ended(case when d.parent_id is null then d else p end);
  v_no_pickup := d.status = 'cancelled' or v_fee = 0 or not v_by_sender;
  if not v_no_pickup then
    v_no_pickup := exists (select from money.cod_collections c
      where c.tenant_id = v_tenant and c.delivery_id = coalesce(d.parent_id, d.id) and c.collection_stage = 'pickup' and c.reversed_at is null)
    or d.delivery_flow = 'pnd_outbound' and exists (select from delivery.deliveries a
      where a.tenant_id = v_tenant and a.parent_id = d.parent_id and a.delivery_flow = 'pnd_inbound'
        and a.status in ('draft', 'pending', 'assigned', 'accepted'));
  end if;
  return jsonb_build_object(
    'pickup', jsonb_build_object('cod', 0, 'delivery_fee', case when v_no_pickup then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)),
    'delivery', jsonb_build_object('cod', case when v_no_door then 0 else v_cod end,
      'delivery_fee', case when v_by_sender or v_no_door then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128133131';
end $$;

grant execute on function private.schema_version() to barid_api;
