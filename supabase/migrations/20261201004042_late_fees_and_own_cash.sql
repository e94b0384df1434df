-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.redirect_fee_again(parcel uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  r delivery.redirects;
begin
  select * into r from delivery.redirects x
  where x.tenant_id = app.tenant_id() and x.delivery_id = parcel and x.late_at in ('pickup', 'undo') and x.charged = 'cash'
  order by x.redirected_at desc limit 1;
  if r.late_at is distinct from 'pickup' then
    return;
  end if;
  select * into strict p from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = parcel;
  perform delivery.redirect_record(p, 'cash', -r.difference, 'undo');
  update delivery.deliveries x set delivery_fee = x.delivery_fee - r.difference, service_snapshot = r.before -> 'service_snapshot', label_outdated = true
  where x.tenant_id = p.tenant_id and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  perform delivery.change_announce(array[p.id], '{amount}');
end $function$;

CREATE OR REPLACE FUNCTION money.handover_of(driver uuid, open money.cash_handovers[], total numeric, p_currency text)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_required boolean := app.boolean_or(app.settings('delivery', 'cod') -> 'require_handover', false);
  v_row money.cash_handovers;
begin
  -- Most remittances have none.
  if open <> '{}' then
    select h.* into v_row from unnest(open) h
    where h.declared_amount = total
      and (h.status in ('counted', 'resolved') or not v_required
        and (h.status = 'discrepancy' or money.settles_for_office() and handover_of.driver is distinct from app.user_id()))
    order by h.status = 'declared', h.status = 'discrepancy', h.created_at limit 1;
  end if;
  if v_row.id is null and v_required then
    perform app.fail('cash_handover_required', jsonb_build_object('amount', total, 'currency', p_currency) || case when exists (
        select from money.cash_handovers h
        where h.tenant_id = app.tenant_id() and h.driver_id = driver and h.currency = p_currency and h.declared_amount = total and h.status = 'discrepancy')
      then '{"text_key": "reason_handover_differs"}' else '{}' end::jsonb);
  end if;
  return v_row;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201004042';
end $$;

grant execute on function private.schema_version() to barid_api;
