-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.handover_of(driver uuid, currency text, total numeric)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_required boolean := app.boolean_or(app.settings('delivery', 'cod') -> 'require_handover', false);
  v_row money.cash_handovers;
begin
  select u.* into v_row from money.cash_handovers u
  where u.tenant_id = app.tenant_id() and u.driver_id = driver and u.currency = handover_of.currency
    and u.status in ('counted', 'resolved') and u.settlement_payment_id is null and u.declared_amount = total
  -- A row that another transaction has locked is waited for: one that was skipped would be remitted by nobody.
  order by u.created_at limit 1 for no key update;
  if v_row.id is null and not v_required then
    -- A transaction that resolves or cancels it is waited for as well: a shortage is booked once, and one that was counted
    -- again in full meanwhile is this remittance's all the same.
    select u.* into v_row from money.cash_handovers u
    where u.tenant_id = app.tenant_id() and u.driver_id = driver and u.currency = handover_of.currency
      and (u.status = 'discrepancy' and u.counted_amount < u.declared_amount or u.status = 'resolved')
      and u.settlement_payment_id is null and u.declared_amount = total
    order by u.created_at limit 1 for no key update;
  elsif v_row.id is null then
    perform app.fail('cash_handover_required', jsonb_build_object('amount', total, 'currency', handover_of.currency));
  end if;
  return v_row;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125031810';
end $$;

grant execute on function private.schema_version() to barid_api;
