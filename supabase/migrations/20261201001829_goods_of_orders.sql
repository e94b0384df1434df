-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.receiving_order_cancel(r warehousing.receiving_orders, notes text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if d.id is null and r.source <> 'supplier' or d.id is not null and (d.status = 'delivered'
    or (d.delivery_flow = 'operational_return' and r.source = 'inbound')
    or (d.status = 'returned' and not (delivery.leaves_warehouse(d) and exists (
      select from delivery.assignments a where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('assigned', 'accepted'))))) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', 'cancelled',
      'text_key', case when d.id is null then 'reason_goods_receipt_only' else 'reason_receipt_only' end));
  end if;
  update warehousing.receiving_orders o set status = 'cancelled', notes = coalesce(receiving_order_cancel.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  if d.status = 'returned' then
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id;
  end if;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201001829';
end $$;

grant execute on function private.schema_version() to barid_api;
