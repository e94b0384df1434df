-- The notice to the office when a person leaves the company, by themselves or with their account.

-- Notifies administrators and operations managers, of a driver dispatchers too, that a person left, with what is still theirs to clear up:
-- parcels and cash in hand, cash on their desk, pay that was not paid out, what is in their wallet, their own parcels on the way, open picking
-- orders, manifests that have not arrived, API keys that stopped. Each only when there is any. Heard when a membership ends, and when Auth
-- deletes an account; who is shut out by an administrator is known to the office. Customers and institutions are nobody's colleagues: of them it
-- hears only what they leave.
create or replace function warehousing.member_left() returns trigger
language plpgsql set search_path = '' as $$
declare
  v_left jsonb;
begin
  if new.left_at is null and app.user_id() is not null then
    return null;
  end if;
  select coalesce(jsonb_object_agg(l.part, l.value), '{}') into v_left
  from (
    values ('parcels', to_jsonb(nullif(cardinality(delivery.parcels_in_hand(new.user_id)), 0))),
      ('cash_in_hand', warehousing.money_left(new.tenant_id, new.user_id, 'driver_cash')),
      ('cash_on_desk', warehousing.money_left(new.tenant_id, new.user_id, 'cash_on_hand')),
      ('pay', warehousing.money_left(new.tenant_id, new.user_id, 'driver_payable')),
      ('wallet', warehousing.money_left(new.tenant_id, new.user_id, 'wallet')),
      ('open_parcels', (select to_jsonb(nullif(count(*), 0)) from delivery.deliveries d
        where d.tenant_id = new.tenant_id and new.user_id in (d.customer_id, d.institution_user_id) and d.parent_id is null
          and d.status not in ('draft', 'delivered', 'returned', 'cancelled'))),
      ('picking_orders', (select to_jsonb(nullif(count(*), 0)) from warehousing.picking_orders o
        where o.tenant_id = new.tenant_id and o.assigned_to = new.user_id and o.status in ('pending', 'in_progress'))),
      ('manifests', (select to_jsonb(nullif(count(*), 0)) from delivery.transfer_manifests m
        where m.tenant_id = new.tenant_id and m.driver_id = new.user_id and m.status in ('draft', 'picked_up', 'in_transit'))),
      ('api_keys', to_jsonb(nullif(jsonb_array_length(tenancy.api_keys_stopped(new.user_id)), 0)))
  ) l (part, value)
  where l.value is not null;
  if v_left = '{}' and new.tenant_user_type not in ('staff', 'driver') then
    return null;
  end if;
  perform tenancy.notify_roles(new.tenant_id,
    case new.tenant_user_type when 'driver' then '{tenant_admin,operations_manager,dispatcher}' else '{tenant_admin,operations_manager}' end::text[],
    'member_left', jsonb_build_object('user_id', new.user_id, 'full_name', p.full_name, 'tenant_user_type', new.tenant_user_type) || v_left)
  from tenancy.profiles p where p.id = new.user_id;
  return null;
end $$;

-- The money of a person in accounts of a kind: [{amount, currency}], or null.
create or replace function warehousing.money_left(tenant uuid, person uuid, kind text) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_agg(jsonb_build_object('amount', s.amount, 'currency', s.currency) order by s.currency)
    from (
      select sum(a.balance) as amount, a.currency from money.accounts a
      where a.tenant_id = tenant and a.owner_user_id = person and a.kind = money_left.kind
      group by a.currency having sum(a.balance) <> 0) s);
end $$;

-- Nobody calls these but the trigger.
revoke execute on function warehousing.member_left(), warehousing.money_left(uuid, uuid, text) from barid_caller;
