/** Cash that drivers collected, its settlement, and the desks it goes to. */
import { type Invariant, journalsOf } from "./invariant.ts";

export const cash: readonly Invariant[] = [
  {
    name: "cash: a row is collected, or went one way, once, by a settlement that took it as it is",
    sql: `select c.id from money.cod_collections c
      left join money.cod_settlement_items i on i.tenant_id = c.tenant_id and i.cod_collection_id = c.id and i.reversed_at is null
      left join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
      where c.tenant_id = $1 and (
        (c.status = 'collected') <> (i.payment_id is null)
        or (c.status = 'collected') <> (c.settlement_payment_id is null)
        or (c.status = 'remitted') <> (c.remitted_at is not null)
        or (c.status = 'settled_by_wallet') <> (c.settled_at is not null)
        or i.payment_id <> c.settlement_payment_id or s.driver_id <> c.driver_id or s.currency <> c.currency
        or (i.amount, i.cod_amount, i.delivery_fee_amount) is distinct from (case when i.amount is not null then c.amount end,
          case when i.amount is not null then c.cod_amount end, case when i.amount is not null then c.delivery_fee_amount end)
        or s.reversed_at is not null
        or c.status <> case s.method when 'remit' then 'remitted' when 'wallet' then 'settled_by_wallet' else c.status end)`,
  },
  {
    name:
      "cash: a settlement is the sum of its rows, and its payment says so and whether it counts",
    sql: `select s.payment_id from money.cod_settlements s
      left join money.payments p on p.tenant_id = s.tenant_id and p.id = s.payment_id and p.type = 'COD_SETTLEMENT'
        and p.status = case when s.reversed_at is null then 'SUCCESS' else 'CANCELLED' end and p.amount = s.total and p.currency = s.currency
      left join lateral (select count(*) as n, sum(i.amount) as amount, sum(i.delivery_fee_amount) as fees,
          bool_or(i.reversed_at is distinct from s.reversed_at) as torn
        from money.cod_settlement_items i where i.tenant_id = s.tenant_id and i.payment_id = s.payment_id) i on true
      where s.tenant_id = $1 and (p.id is null or i.torn or (i.n, i.amount, i.fees) is distinct from (s.collections::bigint, s.total, s.fee_total))`,
  },
  {
    name:
      "cash: a settlement, and a reversal, has its journal and its event, each once, and a receipt; a payment has its settlement",
    sql: `select s.payment_id from money.cod_settlements s
      cross join lateral (select array['cod_settlement'] || case when s.reversed_at is not null then array['cod_settlement_REVERSAL'] end
          as journals, array['cod_settlement.created'] || case when s.reversed_at is not null then array['cod_settlement.reversed'] end
          as events) n
      left join (${journalsOf("payment")}) j on j.reference_id = s.payment_id
      where s.tenant_id = $1 and (
        n.journals is distinct from j.kinds
        or n.events is distinct from (select array_agg(e.event_type order by e.event_type) from integration.system_events e
          where e.tenant_id = s.tenant_id and e.entity_id = s.payment_id)
        or 1 <> (select count(*) from money.settlement_receipts r where r.tenant_id = s.tenant_id and r.payment_id = s.payment_id))
      union all
      select p.id from money.payments p where p.tenant_id = $1 and p.type = 'COD_SETTLEMENT'
        and not exists (select from money.cod_settlements s where s.tenant_id = p.tenant_id and s.payment_id = p.id)`,
  },
  {
    name:
      "cash: handing it in moves no wallet but for a shortage that the driver owes; paying from one takes the total there and gives the tenant the fees",
    sql: `select s.payment_id from money.cod_settlements s
      join money.ledger_transactions t on t.tenant_id = s.tenant_id and t.kind = 'cod_settlement' and t.reference_id = s.payment_id
      left join lateral (
        select coalesce(sum(e.amount) filter (where a.owner_type = 'driver' and a.owner_user_id = s.driver_id), 0) as driver,
          coalesce(sum(e.amount) filter (where a.owner_type = 'tenant'), 0) as tenant,
          count(*) filter (where a.owner_type not in ('driver', 'tenant')) as others
        from money.ledger_entries e join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'wallet'
        where e.tenant_id = t.tenant_id and e.transaction_id = t.id) w on true
      left join lateral (
        -- Resolved before it was remitted: it never stood on the driver.
        select s.shortage as amount from money.cash_handovers h
        where h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id and h.resolution = 'driver_owes' and not exists (
          select from money.ledger_entries e join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
          where e.tenant_id = t.tenant_id and e.transaction_id = t.id and a.kind = 'driver_shortage')) owes on true
      where s.tenant_id = $1 and (w.driver, w.tenant, w.others) is distinct from
        case s.method when 'remit' then (-coalesce(owes.amount, 0), coalesce(owes.amount, 0), 0::bigint) else (-s.total, s.fee_total, 0::bigint) end`,
  },
  {
    name: "cash: what a driver holds in the ledger is what their rows say",
    sql: `select d.user_id from delivery.drivers d where d.tenant_id = $1 and
      coalesce((select sum(c.amount) from money.cod_collections c
        where c.tenant_id = d.tenant_id and c.driver_id = d.user_id and c.status = 'collected' and c.reversed_at is null), 0)
      <> coalesce((select sum(a.balance) from money.accounts a
        where a.tenant_id = d.tenant_id and a.owner_user_id = d.user_id and a.kind = 'driver_cash'), 0)`,
  },
  {
    name:
      "cash: what a driver is short of in the ledger is what open counts say, remitted as it is",
    sql: `select m.driver_id, m.currency from (
        select s.driver_id, s.currency, s.shortage as amount from money.cod_settlements s
        join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
          and h.status = 'discrepancy' and h.settlement_payment_id = s.payment_id
        where s.tenant_id = $1 and s.reversed_at is null
        union all
        select a.owner_user_id, a.currency, -a.balance from money.accounts a where a.tenant_id = $1 and a.kind = 'driver_shortage') m
      group by m.driver_id, m.currency having sum(m.amount) <> 0
      union all
      select s.driver_id, s.currency from money.cod_settlements s
      join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
      where s.tenant_id = $1 and (s.method <> 'remit' or h.declared_amount <> s.total or h.driver_id <> s.driver_id)`,
  },
  {
    name: "cash: a fee that is due back in cash is open, or paid by one transfer of its amount",
    sql: `select p.id from money.payments p
      left join lateral (select count(*) as n, sum(t.amount) as amount from money.cash_transfers t
        where t.tenant_id = p.tenant_id and t.refund_id = p.id and t.reversed_at is null) t on true
      where p.tenant_id = $1 and p.category = 'DELIVERY' and p.type = 'REFUND' and p.payment_method = 'cash' and p.status <> 'CANCELLED'
        and (p.status, t.n, coalesce(t.amount, p.amount)) is distinct from
          (case when t.n = 1 then 'SUCCESS' else 'pending' end, least(t.n, 1), p.amount)`,
  },
  {
    name: "cash: what a carrier owes in the ledger is what its rows say",
    sql: `select coalesce(r.carrier_code, a.carrier_code) as carrier from (
        select c.carrier_code, c.currency, sum(c.amount) filter (where c.status = 'owed') as owed
        from money.carrier_collections c where c.tenant_id = $1 group by c.carrier_code, c.currency) r
      full join (select a.carrier_code, a.currency, a.balance from money.accounts a where a.tenant_id = $1 and a.kind = 'carrier_cash') a
        on a.carrier_code = r.carrier_code and a.currency = r.currency
      where coalesce(r.owed, 0) <> coalesce(a.balance, 0)
`,
  },
  {
    name:
      "desks: one holds what was remitted to it, less shortages and what it gave, and what it got",
    sql: `select m.owner_type, m.user_id, m.currency, sum(m.amount) from (
        select a.owner_type, a.owner_user_id as user_id, a.currency, -a.balance as amount from money.accounts a
        where a.tenant_id = $1 and a.kind = 'cash_on_hand'
        union all
        select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency, s.total
        from money.cod_settlements s where s.tenant_id = $1 and s.method = 'remit' and not s.historical and s.reversed_at is null
        union all
        select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency, -s.shortage
        from money.cod_settlements s join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
        where s.tenant_id = $1 and s.reversed_at is null and h.resolution is distinct from 'recounted'
        union all
        select 'tenant', null, r.currency, r.amount - r.charges from money.carrier_remittances r
        where r.tenant_id = $1 and r.reversed_at is null and r.kind = 'payment'
        union all
        -- Up to 1.6.0 a shortage that was resolved before its remittance left the desk of who had counted it.
        select a.owner_type, a.owner_user_id, h.currency, e.amount
        from money.cash_handovers h
        join money.ledger_transactions t on t.tenant_id = h.tenant_id and t.reference_id = h.id
          and t.kind in ('cash_shortage', 'cash_shortage_REVERSAL')
        join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
        join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'cash_on_hand'
        where h.tenant_id = $1 and h.resolution in ('driver_owes', 'written_off')
        union all
        select t.from_owner_type, t.from_user_id, t.currency, -t.amount
        from money.cash_transfers t where t.tenant_id = $1 and t.reversed_at is null and t.kind not in ('bank_withdrawal', 'wallet_deposit')
        union all
        select t.to_owner_type, t.to_user_id, t.currency, t.amount
        from money.cash_transfers t where t.tenant_id = $1 and t.reversed_at is null and t.kind in ('bank_withdrawal', 'wallet_deposit')
        union all
        select 'staff', t.to_user_id, t.currency, t.amount
        from money.cash_transfers t where t.tenant_id = $1 and t.reversed_at is null and t.kind = 'handover'
        union all
        select 'staff', t.actor_id, t.currency, -t.amount
        from money.driver_payouts t where t.tenant_id = $1 and t.reversed_at is null and t.method = 'cash'
        union all
        select 'staff', t.actor_id, t.currency, -t.amount
        from money.merchant_payouts t where t.tenant_id = $1 and t.reversed_at is null and t.method = 'cash') m
      group by m.owner_type, m.user_id, m.currency having sum(m.amount) <> 0`,
  },
  {
    name:
      "desks: a wallet gained what was paid in at a desk and lost what was paid out, and nothing of what was reversed",
    sql: `select t.id from money.cash_transfers t
      left join money.payments p on p.tenant_id = t.tenant_id and p.id = t.payment_id and p.type = 'WALLET_ADJUSTMENT'
        and p.payment_method = 'cash' and p.amount = t.amount and p.currency = t.currency
      left join lateral (select sum(e.amount) as amount, count(*) as entries from money.ledger_transactions j
        join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id and e.account_id = p.account_id
        where j.tenant_id = p.tenant_id and j.reference_type = 'payment' and j.reference_id = p.id) w on true
      where t.tenant_id = $1 and t.kind in ('wallet_deposit', 'wallet_payout') and (w.amount, w.entries) is distinct from (case
        when t.reversed_at is not null then 0 when t.kind = 'wallet_deposit' then t.amount else -t.amount end,
        case when t.reversed_at is null then 1 else 2 end::bigint)`,
  },
  {
    name:
      "desks: a transfer has its journal and its event, each once, its mirror exactly when it was taken back, and gives what is there",
    sql: `select t.id from money.cash_transfers t
      left join (${journalsOf("cash_transfer")}) j on j.reference_id = t.id
      left join lateral (select count(*) filter (where e.event_type = 'cash_transfer.created') as made,
          count(*) filter (where e.event_type = 'cash_transfer.reversed') as reversed
        from integration.system_events e where e.tenant_id = t.tenant_id and e.entity_id = t.id) e on true
      where t.tenant_id = $1 and (j.kinds, e.made, e.reversed) is distinct from
        (array['cash_transfer'] || case when t.reversed_at is not null then array['cash_transfer_REVERSAL'] end,
          1::bigint, (t.reversed_at is not null)::int::bigint)
      union all
      select t.id from money.cash_transfers t
      join money.ledger_transactions j on j.tenant_id = t.tenant_id and j.reference_type = 'cash_transfer' and j.reference_id = t.id
      join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id and e.amount < 0
      join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'cash_on_hand'
      where t.tenant_id = $1 and (e.balance_after < 0 or e.amount <> -t.amount)
      union all
      select null where exists (select from money.cash_transfers t where t.tenant_id = $1 and t.idempotency_key is not null
        group by t.actor_id, t.idempotency_key having count(*) > 1)`,
  },
  {
    name:
      "cash: a carrier's payment or write-off is the sum of what it covers, closed by it alone, once in the books, its mirror exactly when it was taken back",
    sql: `select m.id from money.carrier_remittances m
      left join lateral (select count(*) as n, sum(i.amount) as amount, sum(i.cod_amount) as cod,
          bool_and(c.carrier_code = m.carrier_code and c.currency = m.currency
            and (m.reversed_at is not null or c.remittance_id = m.id
              and c.status = case m.kind when 'write_off' then 'written_off' else 'remitted' end)) as own
        from money.carrier_remittance_items i
        join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
        where i.tenant_id = m.tenant_id and i.remittance_id = m.id) i on true
      left join (${journalsOf("carrier_remittance")}) j on j.reference_id = m.id
      where m.tenant_id = $1 and ((i.n, i.amount, i.cod, i.own) is distinct from (m.collections::bigint, m.amount, m.cod_amount, true)
        or (select count(*) from money.carrier_collections c where c.tenant_id = m.tenant_id and c.remittance_id = m.id)
          <> case when m.reversed_at is null then m.collections else 0 end
        or j.kinds is distinct from (select array_agg(k.kind || r.mirror order by k.kind || r.mirror)
          from (values (case m.kind when 'write_off' then 'carrier_write_off' else 'carrier_remittance' end, m.amount - m.charges),
            ('carrier_charge', m.charges)) k (kind, amount)
          join (values ('', true), ('_REVERSAL', m.reversed_at is not null)) r (mirror, booked) on r.booked
          where k.amount > 0))`,
  },
  {
    name:
      "cash: a carrier's payment gives the till what came and goes out of the books with what was kept; its mirror takes both back",
    sql: `select m.id from money.carrier_remittances m
      join money.ledger_transactions t on t.tenant_id = m.tenant_id and t.reference_type = 'carrier_remittance' and t.reference_id = m.id
      cross join lateral (select coalesce(sum(e.amount) filter (where a.kind = 'carrier_cash'), 0) as carrier,
          coalesce(sum(e.amount) filter (where a.kind = 'cash_on_hand'), 0) as till,
          coalesce(sum(e.amount) filter (where a.kind = 'external'), 0) as outside
        from money.ledger_entries e join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
        where e.tenant_id = t.tenant_id and e.transaction_id = t.id) e
      cross join lateral (select case when t.kind like '%\\_REVERSAL' then -1 else 1 end as sign,
        case when t.kind like 'carrier_charge%' then m.charges else m.amount - m.charges end as amount) w
      where m.tenant_id = $1 and (e.carrier, e.till, e.outside) is distinct from (-w.sign * w.amount,
        case when t.kind like 'carrier_remittance%' then w.sign * w.amount else 0 end,
        case when t.kind like 'carrier_remittance%' then 0 else w.sign * w.amount end)`,
  },
  {
    name:
      "cash: at the door it is taken once, by a driver or by a carrier, of a delivered parcel, and its COD paid out once",
    sql: `select c.delivery_id from money.carrier_collections c
      left join delivery.deliveries d on d.tenant_id = c.tenant_id and d.id = c.delivery_id
      where c.tenant_id = $1 and c.reversed_at is null and (d.status is distinct from 'delivered'
        or exists (select from money.cod_collections x
          where x.tenant_id = c.tenant_id and x.delivery_id = c.delivery_id and x.collection_stage = 'dropoff' and x.reversed_at is null)
        or c.cod_amount <> (select coalesce(sum(p.amount), 0) from money.payments p where p.tenant_id = c.tenant_id
          and p.delivery_id = c.delivery_id and p.type = 'COD_COLLECTION' and p.status = 'SUCCESS'))
      union all
      select c.delivery_id from money.carrier_collections c where c.tenant_id = $1 and c.reversed_at is null
      group by c.delivery_id having count(*) > 1`,
  },
  {
    name:
      "cash: what a carrier took is reversed exactly with the outcome it was taken with: mirrored once in the books, its payments cancelled",
    sql: `select c.id from money.carrier_collections c
      left join (${journalsOf("carrier_collection")}) j on j.reference_id = c.id
      left join lateral (select bool_or(o.undone_at is not null) as undone from delivery.outcomes o
        join delivery.deliveries d on d.tenant_id = o.tenant_id and d.id = o.delivery_id and c.delivery_id in (d.id, d.parent_id)
        where o.tenant_id = c.tenant_id and o.created_at = c.collected_at) o on true
      where c.tenant_id = $1 and ((c.reversed_at is not null) <> coalesce(o.undone, false)
        or (c.reversed_at is not null) <> (c.status = 'reversed')
        or coalesce('cash_collected_REVERSAL' = any (j.kinds), false) <> (c.reversed_at is not null)
        or coalesce('cod_credit_REVERSAL' = any (j.kinds), false) <> (c.reversed_at is not null and c.cod_amount > 0)
        or c.reversed_at is not null and exists (select from money.payments p where p.tenant_id = c.tenant_id
          and p.delivery_id = c.delivery_id and p.processed_at = c.collected_at and p.status <> 'CANCELLED'))`,
  },
  {
    name:
      "cash: a row is reversed exactly with the outcome or pickup it was taken with: mirrored once in the books, its payments cancelled, its pay reversed",
    sql: `select c.id from money.cod_collections c
      left join (${journalsOf("cod_collection")}) j on j.reference_id = c.id
      left join lateral (select bool_or(o.undone_at is not null) as undone from delivery.outcomes o
        join delivery.deliveries d on d.tenant_id = o.tenant_id and d.id = o.delivery_id and c.delivery_id in (d.id, d.parent_id)
        where o.tenant_id = c.tenant_id and o.created_at = c.collected_at) o on true
      cross join lateral (select c.collection_stage = 'pickup' and exists (select from delivery.delivery_status_history h
        join delivery.deliveries d on d.tenant_id = h.tenant_id and d.id = h.delivery_id and c.delivery_id in (d.id, d.parent_id)
        where h.tenant_id = c.tenant_id and h.created_at >= c.collected_at and h.to_status in ('assigned', 'accepted')
          and h.from_status in ('picked_up', 'in_transit')) as undone) p
      where c.tenant_id = $1 and ((c.reversed_at is not null) <> (coalesce(o.undone, false) or p.undone)
        or coalesce('cash_collected_REVERSAL' = any (j.kinds), false) <> (c.reversed_at is not null)
        or coalesce('cod_credit_REVERSAL' = any (j.kinds), false) <> (c.reversed_at is not null and c.cod_amount > 0)
        or (c.reversed_at is not null and (c.status <> 'collected'
          -- A change of the fee, of a redirect that came too late, is mirrored by another one.
          or exists (select from money.payments p where p.tenant_id = c.tenant_id and p.delivery_id = c.delivery_id
            and p.processed_at = c.collected_at and p.status <> 'CANCELLED' and p.type <> 'DELIVERY_FEE_CHANGE')
          or exists (select from money.driver_pay w where w.tenant_id = c.tenant_id and w.driver_id = c.driver_id
            and w.accrued_at = c.collected_at and w.status <> 'reversed'))))
      union all
      select null where exists (select from money.cod_collections c where c.tenant_id = $1 and c.reversed_at is null
        group by c.delivery_id, c.collection_stage having count(*) > 1)`,
  },
  {
    name: "cash: one settlement a key",
    sql:
      `select s.idempotency_key from money.cod_settlements s where s.tenant_id = $1 and s.idempotency_key is not null
      group by s.actor_id, s.idempotency_key having count(*) > 1`,
  },
];
