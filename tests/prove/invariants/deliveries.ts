/** Deliveries, their drivers and their manifests. */
import type { Invariant } from "./invariant.ts";

export const deliveries: readonly Invariant[] = [
  {
    name: "assignments: at most one live one a delivery, and the delivery knows",
    sql: `select d.id from delivery.deliveries d
      left join lateral (select count(*) as n from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted')) a on true
      where d.tenant_id = $1 and (a.n > 1 or (d.status in ('assigned', 'accepted') and a.n <> 1))`,
  },
  {
    name:
      "assignments: a driver's load is what their live assignments add up to, and their vehicle carries it",
    sql: `select d.user_id from delivery.drivers d
      left join delivery.vehicles v on v.tenant_id = d.tenant_id and v.id = d.vehicle_id
      -- An undo brings a parcel back into a driver's hands, above the capacity as well.
      left join lateral (select coalesce(sum(a.units), 0) as units from delivery.outcomes o
        join delivery.assignments a on a.tenant_id = o.tenant_id and a.id = o.new_assignment_id and a.status in ('assigned', 'accepted')
        where o.tenant_id = d.tenant_id and a.driver_id = d.user_id) u on true
      where d.tenant_id = $1 and (d.capacity_used - u.units > coalesce(v.unit_capacity, d.capacity_used) or (d.capacity_used, d.live_stops) <> (
        select coalesce(sum(a.units), 0), count(*) from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.driver_id = d.user_id and a.status in ('pending', 'assigned', 'accepted')))`,
  },
  {
    name:
      "searches: what is offered has an unanswered assignment, of a driver who has not declined; what is searched for has none",
    sql: `select s.delivery_id from delivery.driver_searches s
      join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id
      left join delivery.assignments a on a.tenant_id = s.tenant_id and a.delivery_id = s.delivery_id
        and a.status in ('pending', 'assigned', 'accepted')
      where s.tenant_id = $1 and ((s.status = 'offered' and (a.status is distinct from 'pending' or a.driver_id = any (s.declined)))
        or (s.status in ('searching', 'failed') and (a.id is not null or d.status <> 'pending')))`,
  },
  {
    name: "manifests: an item is ordered exactly when it has its one live delivery",
    sql: `select i.id from delivery.transfer_manifest_items i
      left join lateral (select count(*) as n, bool_or(d.id = i.delivery_id) as named from delivery.deliveries d
        where d.tenant_id = i.tenant_id and d.manifest_item_id = i.id and d.parent_id is null and d.status <> 'cancelled') d on true
      where i.tenant_id = $1 and ((i.status = 'order_created') <> (i.delivery_id is not null)
        or d.n <> (i.delivery_id is not null)::int or (i.delivery_id is not null and d.named is not true))`,
  },
  {
    name:
      "manifests: what was paid for an item's order is its price, and it goes where the item says",
    sql: `select d.id from delivery.deliveries d
      join delivery.transfer_manifest_items i on i.tenant_id = d.tenant_id and i.delivery_id = d.id
      left join delivery.institution_branches b on b.tenant_id = i.tenant_id and b.id = i.destination_branch_id
      where d.tenant_id = $1 and (d.dropoff_address_id <> coalesce(b.address_id, i.destination_address_id) or d.delivery_fee is distinct from (
        select sum(p.amount) from money.payments p where p.tenant_id = d.tenant_id and p.delivery_id = d.id
          and p.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE') and p.status = 'SUCCESS'))`,
  },
  {
    name:
      "manifests: the ledger took from the institution what its orders cost, and gave back what was cancelled",
    sql: `select d.id from delivery.deliveries d
      left join lateral (select coalesce(sum(-e.amount), 0) as taken from money.payments p
        join money.ledger_transactions t on t.tenant_id = p.tenant_id and t.reference_type = 'payment' and t.reference_id = p.id
        join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
        where p.tenant_id = d.tenant_id and p.delivery_id = d.id and t.kind in ('delivery_fee', 'delivery_fee_change')) l on true
      where d.tenant_id = $1 and d.manifest_item_id is not null and l.taken <> d.delivery_fee`,
  },
  {
    name: "deliveries: what was paid for one, with all that changed it since, is its fee",
    sql: `select p.delivery_id from money.payments p
      join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.order_id is null
      where p.tenant_id = $1 and p.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE') and p.status = 'SUCCESS'
      group by p.delivery_id having sum(p.amount) <> min(d.delivery_fee)`,
  },
  {
    name: "deliveries: a refund is what was paid for one, with all that changed it since, once",
    sql: `select r.delivery_id from money.payments r
      where r.tenant_id = $1 and r.type = 'REFUND' and r.category = 'DELIVERY' and r.status <> 'CANCELLED'
      group by r.delivery_id
      having count(*) > 1 or sum(r.amount) is distinct from (
        select sum(p.amount) from money.payments p where p.tenant_id = $1 and p.delivery_id = r.delivery_id
          and p.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE') and p.status = 'SUCCESS')`,
  },
  {
    name: "deliveries: the change of a fee is one journal, from its wallet to the tenant's",
    sql: `select p.id from money.payments p
      left join lateral (
        select sum(e.amount) filter (where a.owner_type = 'tenant') as tenant, sum(e.amount) filter (where a.id = p.account_id) as owner
        from money.ledger_transactions t
        join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
        join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'wallet'
        where t.tenant_id = p.tenant_id and t.kind = 'delivery_fee_change' and t.reference_type = 'payment' and t.reference_id = p.id) b on true
      where p.tenant_id = $1 and p.type = 'DELIVERY_FEE_CHANGE' and (b.tenant, b.owner) is distinct from (p.amount, -p.amount)`,
  },
  {
    name:
      "deliveries: each change of an amount continues the one before it, from what was ordered to what is due",
    sql: `select d.id from delivery.deliveries d
      left join lateral (
        select (array_agg(c.old_cod_amount order by c.decided_at, c.id))[1] as first, (array_agg(c.new_cod_amount order by c.decided_at desc, c.id desc))[1] as last,
          bool_or(c.old_cod_amount <> c.before) as torn
        from (select x.*, lag(x.new_cod_amount, 1, x.old_cod_amount) over (order by x.decided_at, x.id) as before
          from delivery.amount_changes x where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.status = 'approved') c) c on true
      where d.tenant_id = $1 and (c.torn or d.ordered_cod_amount is distinct from c.first or (c.last is not null and c.last <> d.cod_amount)
        or (d.status in ('delivered', 'cancelled') and exists (select from delivery.amount_changes x
          where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.status = 'pending')))`,
  },
  {
    name: "deliveries: a fee is paid once",
    sql: `select p.delivery_id from money.payments p
      where p.tenant_id = $1 and p.type = 'DELIVERY_FEE' and p.status in ('pending', 'SUCCESS') group by p.delivery_id having count(*) > 1`,
  },
  {
    name:
      "deliveries: what is postponed waits with its driver or in a warehouse, and its parcel shows the day",
    sql: `select d.id from delivery.deliveries d
      left join lateral (select max(l.postponed_to) as day from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id) l on true
      where d.tenant_id = $1 and case when d.delivery_flow = 'pnd_parent' then d.postponed_to is distinct from l.day
        else d.postponed_to is not null and d.status not in ('failed', 'in_transit', 'returned', 'pending')
          or d.overnight_notice_at is not null and (d.status <> 'failed' or d.postponed_to is null) end`,
  },
  {
    name:
      "returns: of an item no more comes back than there was, and nothing beside a return of all",
    sql: `with r as (
        select d.* from delivery.deliveries d where d.tenant_id = $1 and d.original_delivery_id is not null and case
          -- Cancelled in a warehouse, it counts until its customer has it again.
          when d.status = 'cancelled' then exists (select from delivery.deliveries b where b.tenant_id = d.tenant_id
            and b.original_delivery_id = d.id and b.status not in ('delivered', 'cancelled'))
          -- Given back, unless a store's warehouse received its goods.
          when d.status = 'returned' and d.delivery_flow = 'customer_return' then exists (select from warehousing.receiving_orders n
            where n.tenant_id = d.tenant_id and n.delivery_id = d.id and n.status = 'received' and exists (
              select from delivery.deliveries o where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.order_id is not null))
          else true end)
      select i.id from delivery.delivery_items i
      join delivery.delivery_items x on x.tenant_id = i.tenant_id and x.returned_item_id = i.id
      join r on r.id = x.delivery_id
      where i.tenant_id = $1
      group by i.id, i.quantity, i.delivery_id
      having sum(x.quantity) > i.quantity or bool_or(r.original_delivery_id <> i.delivery_id)
        or exists (select from r w where w.original_delivery_id = i.delivery_id and not w.returns_part)`,
  },
  {
    name: "door: what a receiver kept and what went back from the door is what was ordered",
    sql: `select d.id from delivery.deliveries d
      where d.tenant_id = $1 and d.parent_id is null and d.delivered_in_part and (d.status <> 'delivered' or 1 <> (
        select count(*) from delivery.deliveries r where r.tenant_id = d.tenant_id and r.original_delivery_id = d.id
          and r.made_at_door and r.delivery_flow = 'operational_return' and r.status <> 'cancelled')
        or not exists (select from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = d.id
          and i.quantity > coalesce((select sum(x.quantity) from delivery.delivery_items x
            join delivery.deliveries r on r.tenant_id = x.tenant_id and r.id = x.delivery_id and r.made_at_door and r.status <> 'cancelled'
            where x.tenant_id = i.tenant_id and x.returned_item_id = i.id), 0)))`,
  },
  {
    name:
      "door: a return made there is free, and of all that is in its parcel when it is not of a part",
    sql: `select r.id from delivery.deliveries r
      join delivery.deliveries o on o.tenant_id = r.tenant_id and o.id = r.original_delivery_id
      where r.tenant_id = $1 and r.made_at_door and r.status <> 'cancelled' and (r.cod_amount + r.delivery_fee <> 0
        or o.status not in ('delivered', 'returned') or (not r.returns_part and (
          select jsonb_agg(jsonb_build_array(i.name, i.quantity) order by i.position) from delivery.delivery_items i
          where i.tenant_id = r.tenant_id and i.delivery_id = r.id) is distinct from (
          select jsonb_agg(jsonb_build_array(i.name, i.quantity) order by i.position) from delivery.delivery_items i
          where i.tenant_id = r.tenant_id and i.delivery_id = o.id)))`,
  },
];
