-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_carrier(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_carrier text;
begin
  -- Under another company's hands only its name is corrected.
  if d.status <> all (case when d.carrier_type = 'external' and input ->> 'carrier_type' = 'external'
      then '{draft,pending,picked_up,in_transit}' else '{draft,pending}' end::text[]) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', d.status, 'text_key', 'carrier_stays'));
  end if;
  -- Its legs would be given to drivers of ours all the same.
  if input ->> 'carrier_type' = 'external' and d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  end if;
  if input ->> 'carrier_type' = 'external' then
    perform delivery.require_not_for_waybill(d);
  end if;
  v_carrier := delivery.carrier_checked(input);
  if exists (
      select from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and delivery.booking_binds(s)
        and s.carrier_code is distinct from v_carrier) then
    perform app.fail('shipment_with_other_carrier');
  end if;
  perform integration.shipments_end(array[d.id]);
  update delivery.deliveries x set carrier_type = input ->> 'carrier_type', carrier_code = v_carrier
  where x.tenant_id = d.tenant_id and x.id = d.id;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_destination_obstacle(destination jsonb, hold boolean)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_address uuid := destination ->> 'address_id';
  v_branch uuid := destination ->> 'branch_id';
begin
  -- Asked once each: the policies of addresses cost more than all else here.
  if hold then
    perform from delivery.addresses a where a.id = v_address for key share;
  else
    perform from delivery.addresses a where a.id = v_address;
  end if;
  if not found then
    return 'address_not_found';
  elsif v_branch is null then
    return null;
  end if;
  if hold then
    perform from delivery.institution_branches b where b.id = v_branch and b.is_active for key share;
  else
    perform from delivery.institution_branches b where b.id = v_branch and b.is_active;
  end if;
  return case when not found then 'branch_not_found' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_branch_unused(branch_id uuid, institution_user_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- Manifests, items and orders that begin or end at the branch take a key-share lock on it; this lock makes them and us take turns.
  perform from delivery.institution_branches b
  where b.id = branch_id and b.institution_user_id = require_branch_unused.institution_user_id for update;
  if not found then
    perform app.fail('branch_not_found');
  end if;
  perform delivery.require_no_open_manifests('branch_in_use', array(
    select m.id from delivery.transfer_manifests m
    where m.tenant_id = app.tenant_id() and branch_id in (m.source_branch_id, m.destination_branch_id)
      and m.status not in ('completed', 'cancelled')
    union
    select m.id from delivery.transfer_manifest_items i
    join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    where i.tenant_id = app.tenant_id() and i.destination_branch_id = branch_id and i.status not in ('order_created', 'void')
      and m.status not in ('completed', 'cancelled')));
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_destinations(branch_ids uuid[], address_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_known integer;
  v_active boolean;
begin
  select count(*), coalesce(bool_and(b.is_active), true) into v_known, v_active
  from (
    select x.is_active from delivery.institution_branches x where x.tenant_id = app.tenant_id() and x.id = any (branch_ids)
    order by x.id for key share) b;
  if v_known < (select count(distinct id) from unnest(branch_ids) id) then
    perform app.fail('branch_not_found');
  end if;
  if not v_active then
    perform app.fail('branch_inactive');
  end if;
  if (select count(*) from delivery.usable_addresses a where a.id = any (address_ids))
      < (select count(distinct id) from unnest(address_ids) id) then
    perform app.fail('address_not_found');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, carrier_code text, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'carrier_cash', p.carrier_code, p.currency, p.owed, p.ledger, array(
      select c.id from money.carrier_collections c
      where c.tenant_id = tenant and c.carrier_code = p.carrier_code and c.currency = p.currency and c.collected_at <= as_of
        and (c.reversed_at is null or c.reversed_at > as_of)
        and c.id not in (select x.carrier_collection_id from money.carrier_paid(tenant, as_of) x)
      order by c.collected_at, c.id limit 100)
  from money.carrier_positions(tenant, as_of) p where p.owed <> p.ledger
  union all
  select 'carrier_collection', s.carrier_code, d.currency, s.cash_due, c.amount, array[s.id]
  from integration.carrier_shipments s
  join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.status = 'delivered'
  left join money.carrier_collections c on c.tenant_id = s.tenant_id and c.shipment_id = s.id and c.reversed_at is null
  where s.tenant_id = tenant and s.cash_due > 0 and s.status in ('booked', 'cancelling') and d.delivered_at <= as_of
    and c.amount is distinct from s.cash_due
  union all
  select 'carrier_collection_journal', c.carrier_code, c.currency, n.taken, b.amount, array[c.id]
  from money.carrier_collections c
  cross join lateral (select case when c.reversed_at <= as_of then 0 else c.amount end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'carrier_cash' and a.carrier_code = c.carrier_code
    where t.tenant_id = tenant and t.kind in ('cash_collected', 'cash_collected_REVERSAL') and t.reference_type = 'carrier_collection'
      and t.reference_id = c.id and t.created_at <= as_of
  ) b on true
  where c.tenant_id = tenant and c.collected_at <= as_of and n.taken is distinct from b.amount
  union all
  select 'carrier_remittance_rows', r.carrier_code, r.currency, r.amount, i.total, i.rows
  from money.carrier_remittances r
  left join lateral (
    select sum(i.amount) as total, sum(i.delivery_fee_amount) as fees, count(*) as entries,
      (array_agg(c.id order by c.id))[1:100] as rows,
      coalesce(bool_and(c.carrier_code = r.carrier_code and c.currency = r.currency and c.amount = i.amount
        and (r.reversed_at is not null or c.remittance_id = r.id and c.remitted_at = r.remitted_at)), false) as alike
    from money.carrier_remittance_items i
    join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
    where i.tenant_id = tenant and i.remittance_id = r.id
  ) i on true
  cross join lateral (
    select count(*) as entries from money.carrier_collections c where c.tenant_id = tenant and c.remittance_id = r.id) c
  where r.tenant_id = tenant and r.remitted_at <= as_of
    and (r.amount is distinct from i.total or r.delivery_fee_amount is distinct from i.fees or r.collections is distinct from i.entries
      or not i.alike or c.entries <> case when r.reversed_at is null then r.collections else 0 end)
  union all
  select 'carrier_remittance_journal', r.carrier_code, r.currency, e.taken, b.taken, array[r.id]
  from money.carrier_remittances r
  cross join lateral (values (money.carrier_journal(r), r.amount - r.charges),
    ('carrier_charge', r.charges)) k (kind, amount)
  cross join lateral (
    select case when r.reversed_at <= as_of then 0 else -k.amount end as taken,
      case when k.amount = 0 then 0 when r.reversed_at <= as_of then 2 else 1 end as journals
  ) e
  left join lateral (
    select coalesce(sum(l.amount), 0) as taken, count(distinct j.kind) as journals
    from money.ledger_transactions j
    join money.ledger_entries l on l.tenant_id = j.tenant_id and l.transaction_id = j.id
    join money.accounts a on a.tenant_id = l.tenant_id and a.id = l.account_id and a.kind = 'carrier_cash' and a.carrier_code = r.carrier_code
    where j.tenant_id = tenant and j.kind in (k.kind, k.kind || '_REVERSAL')
      and j.reference_type = 'carrier_remittance' and j.reference_id = r.id and j.created_at <= as_of
  ) b on true
  where r.tenant_id = tenant and r.remitted_at <= as_of and (b.taken, b.journals) is distinct from (e.taken, e.journals::bigint)
$function$;

CREATE OR REPLACE FUNCTION money.carrier_rows_paid(rows money.carrier_collections[], amount numeric, named boolean)
 RETURNS money.carrier_collections[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_currency text := rows[1].currency;
  v_owed numeric;
  v_expected numeric;
  v_paid money.carrier_collections[];
begin
  select sum(r.amount) into v_owed from unnest(rows) r;
  if amount > v_owed then
    perform app.fail('remittance_exceeds_owed', jsonb_build_object('field', 'amount', 'owed', v_owed, 'currency', v_currency));
  end if;
  -- Equal to the amount only where whole rows add up to it.
  select case when named then v_owed else min(p.sum) filter (where p.sum >= amount) end,
    array_agg(rows[p.place] order by p.place) filter (where p.sum <= amount)
  into v_expected, v_paid
  from (
    select r.ordinality as place, sum(r.amount) over (order by r.ordinality) as sum from unnest(rows) with ordinality r
  ) p;
  if v_expected <> amount then
    perform app.fail('remittance_amount_mismatch', jsonb_build_object('field', 'amount', 'expected', v_expected, 'currency', v_currency));
  end if;
  return v_paid;
end $function$;

CREATE OR REPLACE FUNCTION private.identify(claims jsonb, OUT user_id uuid, OUT tenant_id uuid, OUT grants text[], OUT sees_tenant boolean, OUT language text, OUT api_key_id uuid, OUT is_company_key boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_asked uuid := (claims ->> 'asked_tenant_id')::uuid;
  v_mode text := claims ->> 'tenant_mode';
  v_by_key boolean := claims ? 'api_key_hash';
  -- A key by which an institution's own program acts as that institution.
  v_own boolean := false;
  v_service boolean := coalesce((claims ->> 'service')::boolean, false);
  v_mailbox boolean := coalesce((claims ->> 'mailbox')::boolean, false);
  v_system boolean := false;
  v_key record;
  v_member text[];
  v_effective boolean;
begin
  user_id := (claims ->> 'sub')::uuid;
  tenant_id := coalesce(v_asked, (claims ->> 'tenant_id')::uuid);
  grants := '{anyone}';

  if v_by_key then
    v_key := private.api_key_use(claims);
    if v_asked <> v_key.tenant_id then
      perform app.fail('forbidden');
    end if;
    tenant_id := coalesce(v_key.tenant_id, tenant_id);
    v_system := v_key.tenant_id is null;
    v_own := private.acts_as_maker(v_key.scopes);
    grants := grants || '{api_key}';
    if not v_own then
      grants := grants || array(select 'permission:' || s from unnest(v_key.scopes) s);
    elsif v_mode is distinct from 'none' then
      -- Outside its company it is nobody, as every key.
      user_id := (select k.created_by from tenancy.api_keys k where k.id = v_key.id);
      grants := grants || '{type:institution,role:institution}';
    end if;
    if v_own and not 'own:institution' = any (v_key.scopes) then
      grants := grants || '{only:reads}';
    end if;
    api_key_id := v_key.id;
    is_company_key := v_key.tenant_id is not null;
  elsif user_id is not null then
    -- A token issued before the account was confirmed may belong to the person who created the account. Tokens name seconds. One that
    -- was issued before Auth deleted or banned the account holds no more.
    select exists (select from tenancy.system_users s where s.user_id = p.id) into v_system
    from tenancy.profiles p
    join private.open_accounts a on a.id = p.id
    where p.id = identify.user_id
      and (p.proven_at is null or v_mailbox or v_service or to_timestamp((claims ->> 'issued_at')::bigint) > p.proven_at);
    if not found then
      perform app.fail('unauthorized');
    end if;
    if v_mailbox then
      grants := grants || array['mailbox'];
    end if;
    -- A system administrator acts in the tenant that the call names, never in one that a token still carries.
    if v_system then
      tenant_id := v_asked;
      grants := grants || array['role:system_admin'] || (select array_agg('permission:' || p.key) from tenancy.permissions p);
    end if;
  end if;
  if v_service then
    grants := grants || array['service'];
  end if;

  if tenant_id is not null then
    select app.is_effective(t), s.settings ->> 'default' into v_effective, language
    from tenancy.tenants t
    left join tenancy.tenant_settings s on s.tenant_id = t.id and s.module = 'general' and s.group_key = 'language'
    where t.id = identify.tenant_id;
    if user_id is not null and not v_by_key then
      v_member := private.member_grants(tenant_id, user_id);
    end if;
    if v_effective is null or (v_member is null and user_id is not null and not (v_by_key or v_system or v_service)) then
      -- Calls outside any tenant continue without the one that the token still names.
      if v_asked is not null or v_mode <> 'none' then
        perform app.fail(case when v_effective is null and (v_system or v_service) then 'tenant_not_found' else 'forbidden' end);
      end if;
      tenant_id := null;
      language := null;
    elsif not v_effective and not v_system and v_mode <> 'none' then
      perform set_config('app.language', coalesce(claims ->> 'language', language, 'en'), true);
      perform app.fail('tenant_inactive');
    end if;
    grants := grants || v_member;
  elsif v_mode = 'required' then
    perform app.fail('tenant_id_required');
  end if;
  sees_tenant := (v_by_key and not v_own) or v_system or v_service or coalesce('type:staff' = any (v_member), false);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130201522';
end $$;

grant execute on function private.schema_version() to barid_api;
