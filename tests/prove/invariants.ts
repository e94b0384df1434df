/**
 * The invariants of money, stock, orders and assignments in every committed state: each by a name, as a query whose rows
 * are the breaches. Those of one tenant (`$1`) read what his keys lead to and may be asked after every step of a test;
 * the others read whole tables.
 */
import type postgres from "postgres";
import { priceOf } from "../support/orders.ts";

export interface Invariant {
  name: string;
  /** Rows are breaches; `$1` is the tenant. */
  sql: string;
}

/** The kinds of the journals about each thing of a type, read once for all of them: no index begins with the thing. */
const journalsOf = (type: string): string =>
  `select t.reference_id, array_agg(t.kind order by t.kind) as kinds from money.ledger_transactions t
    where t.tenant_id = $1 and t.reference_type = '${type}' group by t.reference_id`;

/** About one tenant, cheap. */
export const ofTenant: readonly Invariant[] = [
  {
    name: "money: in each currency all accounts of a tenant add up to what came from outside",
    sql: `select a.currency, sum(a.balance) from money.accounts a where a.tenant_id = $1
      group by a.currency having sum(a.balance) <> 0`,
  },
  {
    name: "money: a balance is the sum of its entries, and its version counts them",
    sql: `select a.id from money.accounts a
      left join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id
      where a.tenant_id = $1 group by a.id
      having a.balance <> coalesce(sum(e.amount), 0) or a.version <> count(e.id)`,
  },
  {
    name: "money: each entry goes on from the one before it, without a gap",
    sql: `select e.id from (
        select e.*, lag(e.balance_after, 1, 0) over w as before, row_number() over w as place
        from money.ledger_entries e where e.tenant_id = $1 window w as (partition by e.account_id order by e.version)) e
      where e.balance_after <> e.before + e.amount or e.version <> e.place`,
  },
  {
    name: "money: every journal adds up to nothing",
    sql: `select e.transaction_id from money.ledger_entries e where e.tenant_id = $1
      group by e.transaction_id, e.currency having sum(e.amount) <> 0`,
  },
  {
    name: "money: nothing is spent that is not there",
    sql: `select a.id from money.accounts a where a.tenant_id = $1 and a.balance < a.floor
      union all
      select e.account_id from money.ledger_entries e join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
      where e.tenant_id = $1 and a.kind in ('wallet', 'driver_cash', 'driver_shortage', 'carrier_cash', 'driver_payable') and e.balance_after < a.floor`,
  },
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
      "cash: handing it in moves no wallet; paying from one takes the total there and gives the tenant the fees",
    sql: `select s.payment_id from money.cod_settlements s
      join money.ledger_transactions t on t.tenant_id = s.tenant_id and t.kind = 'cod_settlement' and t.reference_id = s.payment_id
      left join lateral (
        select coalesce(sum(e.amount) filter (where a.owner_type = 'driver' and a.owner_user_id = s.driver_id), 0) as driver,
          coalesce(sum(e.amount) filter (where a.owner_type = 'tenant'), 0) as tenant,
          count(*) filter (where a.owner_type not in ('driver', 'tenant')) as others
        from money.ledger_entries e join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'wallet'
        where e.tenant_id = t.tenant_id and e.transaction_id = t.id) w on true
      where s.tenant_id = $1 and (w.driver, w.tenant, w.others) is distinct from
        case s.method when 'remit' then (0::numeric, 0::numeric, 0::bigint) else (-s.total, s.fee_total, 0::bigint) end`,
  },
  {
    name: "cash: what a driver holds in the ledger is what his rows say",
    sql: `select d.user_id from delivery.drivers d where d.tenant_id = $1 and
      coalesce((select sum(c.amount) from money.cod_collections c
        where c.tenant_id = d.tenant_id and c.driver_id = d.user_id and c.status = 'collected'), 0)
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
      where p.tenant_id = $1 and p.category = 'DELIVERY' and p.type = 'REFUND' and p.payment_method = 'cash'
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
        select 'tenant', null, r.currency, r.amount from money.carrier_remittances r
        where r.tenant_id = $1 and r.reversed_at is null
        union all
        select case when u.user_id is null then 'tenant' else 'staff' end, u.user_id, h.currency, h.counted_amount - h.declared_amount
        from money.cash_handovers h
        left join tenancy.tenant_users u on u.tenant_id = h.tenant_id and u.user_id = h.counted_by
        where h.tenant_id = $1 and h.resolution in ('driver_owes', 'written_off') and not exists (
          select from money.cod_settlements s
          where s.tenant_id = h.tenant_id and s.shortage_handover_id = h.id and s.reversed_at is null)
        union all
        select t.from_owner_type, t.from_user_id, t.currency, -t.amount
        from money.cash_transfers t where t.tenant_id = $1 and t.reversed_at is null
        union all
        select 'staff', t.to_user_id, t.currency, t.amount
        from money.cash_transfers t where t.tenant_id = $1 and t.reversed_at is null and t.kind = 'handover'
        union all
        select 'staff', t.actor_id, t.currency, -t.amount
        from money.driver_payouts t where t.tenant_id = $1 and t.reversed_at is null and t.method = 'cash') m
      group by m.owner_type, m.user_id, m.currency having sum(m.amount) <> 0`,
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
    name: "pay: what a driver is owed in the ledger is what accrued and was not paid out",
    sql: `select m.driver_id, m.currency from (
        select p.driver_id, p.currency, p.amount from money.driver_pay p where p.tenant_id = $1 and p.status = 'accrued'
        union all
        select a.owner_user_id, a.currency, -a.balance from money.accounts a where a.tenant_id = $1 and a.kind = 'driver_payable') m
      group by m.driver_id, m.currency having sum(m.amount) <> 0`,
  },
  {
    name:
      "pay: what it costs is what was earned, of delivered parcels alone, each once, by one journal",
    sql: `select m.currency::text as id from (
        select p.currency, p.amount from money.driver_pay p where p.tenant_id = $1 and p.status <> 'reversed'
        union all
        select a.currency, a.balance from money.accounts a where a.tenant_id = $1 and a.kind = 'driver_cost') m
      group by m.currency having sum(m.amount) <> 0
      union all
      select p.id::text from money.driver_pay p
      left join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
      left join (${journalsOf("driver_pay")}) j on j.reference_id = p.id
      where p.tenant_id = $1 and ((p.status <> 'reversed' and d.status <> 'delivered')
        or j.kinds is distinct from array['driver_pay'] || case when p.status = 'reversed' then array['driver_pay_REVERSAL'] end)
      union all
      select p.delivery_id::text from money.driver_pay p where p.tenant_id = $1 and p.status <> 'reversed'
      group by p.delivery_id having count(*) > 1`,
  },
  {
    name:
      "pay: a payout is the sum of its pay, once in the books, its mirror exactly when it was reversed, and pays no pay twice",
    sql: `select t.id from money.driver_payouts t
      left join lateral (select count(*) as n, sum(i.amount) as amount,
          bool_and(p.driver_id = t.driver_id and p.currency = t.currency and p.amount = i.amount
            and case when t.reversed_at is null then p.status = 'paid' and p.payout_id = t.id else i.reversed_at is not null end) as own
        from money.driver_payout_items i
        join money.driver_pay p on p.tenant_id = i.tenant_id and p.id = i.driver_pay_id
        where i.tenant_id = t.tenant_id and i.payout_id = t.id) i on true
      left join (${journalsOf("driver_payout")}) j on j.reference_id = t.id
      where t.tenant_id = $1 and ((i.n, i.amount, i.own) is distinct from (t.accruals::bigint, t.amount, true)
        or (select count(*) from money.driver_pay p where p.tenant_id = t.tenant_id and p.payout_id = t.id)
          <> case when t.reversed_at is null then t.accruals else 0 end
        or (select array_agg(k order by k) from unnest(j.kinds) k) is distinct from (select array_agg(k order by k) from unnest(
          array['driver_payout'] || case t.method when 'cash' then array['driver_payout_cash'] end
          || case when t.reversed_at is not null then array['driver_payout_REVERSAL'] end
          || case when t.reversed_at is not null and t.method = 'cash' then array['driver_payout_cash_REVERSAL'] end) k))`,
  },
  {
    name:
      "cash: a carrier's payment is the sum of what it paid, closed by it alone, once in the books, its mirror exactly when it was taken back",
    sql: `select m.id from money.carrier_remittances m
      left join lateral (select count(*) as n, sum(i.amount) as amount, sum(i.cod_amount) as cod,
          bool_and(c.carrier_code = m.carrier_code and c.currency = m.currency
            and (m.reversed_at is not null or c.status = 'remitted' and c.remittance_id = m.id)) as own
        from money.carrier_remittance_items i
        join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
        where i.tenant_id = m.tenant_id and i.remittance_id = m.id) i on true
      left join (${journalsOf("carrier_remittance")}) j on j.reference_id = m.id
      where m.tenant_id = $1 and ((i.n, i.amount, i.cod, i.own) is distinct from (m.collections::bigint, m.amount, m.cod_amount, true)
        or (select count(*) from money.carrier_collections c where c.tenant_id = m.tenant_id and c.remittance_id = m.id)
          <> case when m.reversed_at is null then m.collections else 0 end
        or j.kinds is distinct from array['carrier_remittance'] || case when m.reversed_at is not null then array['carrier_remittance_REVERSAL'] end)`,
  },
  {
    name:
      "cash: at the door it is taken once, by a driver or by a carrier, of a delivered parcel, and its COD paid out once",
    sql: `select c.delivery_id from money.carrier_collections c
      left join delivery.deliveries d on d.tenant_id = c.tenant_id and d.id = c.delivery_id
      where c.tenant_id = $1 and (d.status is distinct from 'delivered'
        or exists (select from money.cod_collections x
          where x.tenant_id = c.tenant_id and x.delivery_id = c.delivery_id and x.collection_stage = 'dropoff')
        or c.cod_amount <> (select coalesce(sum(p.amount), 0) from money.payments p where p.tenant_id = c.tenant_id
          and p.delivery_id = c.delivery_id and p.type = 'COD_COLLECTION' and p.status = 'SUCCESS'))`,
  },
  {
    name: "cash: one settlement a key",
    sql:
      `select s.idempotency_key from money.cod_settlements s where s.tenant_id = $1 and s.idempotency_key is not null
      group by s.actor_id, s.idempotency_key having count(*) > 1`,
  },
  {
    name: "wallets: an adjustment is one payment with one journal of its amount",
    sql:
      `select p.id from money.payments p where p.tenant_id = $1 and p.type = 'WALLET_ADJUSTMENT' and p.amount is distinct from (
        select sum(abs(e.amount)) from money.ledger_transactions t
        join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
        where t.tenant_id = p.tenant_id and t.kind = 'WALLET_ADJUSTMENT' and t.reference_id = p.id)`,
  },
  {
    name:
      "wallets: an adjustment is taken back once, by a payment and a journal that are its mirror",
    sql:
      `select p.id from money.payments p where p.tenant_id = $1 and p.type = 'WALLET_ADJUSTMENT_REVERSAL' and 0 is distinct from (
        select sum(e.amount) + sum(distinct b.amount) from money.ledger_transactions t
        join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
        join money.ledger_transactions a on a.tenant_id = t.tenant_id and a.kind = 'WALLET_ADJUSTMENT' and a.reference_id = t.reference_id
        join money.ledger_entries b on b.tenant_id = a.tenant_id and b.transaction_id = a.id and b.account_id = p.account_id
        where t.tenant_id = p.tenant_id and t.kind = 'WALLET_ADJUSTMENT_REVERSAL'
          and t.reference_id = (p.snapshot ->> 'reverses')::uuid and abs(e.amount) = p.amount)
      union all
      select (p.snapshot ->> 'reverses')::uuid from money.payments p
      where p.tenant_id = $1 and p.type = 'WALLET_ADJUSTMENT_REVERSAL' group by 1 having count(*) > 1`,
  },
  {
    name: "stock: a row holds what its movements left in it, never less than nothing",
    sql: `select s.id from warehousing.stock s
      left join lateral (select coalesce(sum(case when t.to_stock_id = s.id then t.quantity else 0 end
          - case when t.from_stock_id = s.id then t.quantity else 0 end), 0) as moved
        from warehousing.inventory_transactions t where t.tenant_id = s.tenant_id and t.item_id = s.item_id
          and (t.to_stock_id = s.id or t.from_stock_id = s.id)) m on true
      where s.tenant_id = $1 and (s.quantity < 0 or s.quantity <> m.moved)`,
  },
  {
    name: "stock: what leaves one warehouse in a transfer comes to the other",
    sql: `select t.id from warehousing.inventory_transfers t
      left join lateral (select coalesce(sum(m.quantity) filter (where m.transaction_type = 'transfer_out'), 0) as gone,
          coalesce(sum(m.quantity) filter (where m.transaction_type = 'transfer_in'), 0) as come
        from warehousing.inventory_transactions m where m.tenant_id = t.tenant_id and m.reference_id = t.id) m on true
      left join lateral (select sum(i.quantity) as asked from warehousing.inventory_transfer_items i
        where i.tenant_id = t.tenant_id and i.transfer_id = t.id) i on true
      where t.tenant_id = $1 and (m.gone <> m.come or m.gone <> i.asked)`,
  },
  {
    name: "stock: a count is what its lines add up to, and each difference is one movement",
    sql: `select c.id from warehousing.inventory_counts c
      left join lateral (select count(*) as n, count(*) filter (where l.counted <> l.expected) as differing,
          sum(greatest(l.counted - l.expected, 0)) as found, sum(greatest(l.expected - l.counted, 0)) as missing
        from warehousing.inventory_count_lines l where l.tenant_id = c.tenant_id and l.count_id = c.id) l on true
      left join lateral (select count(*) as n, coalesce(sum(m.quantity) filter (where m.from_stock_id is null), 0) as found,
          coalesce(sum(m.quantity) filter (where m.to_stock_id is null), 0) as missing
        from warehousing.inventory_transactions m
        where m.tenant_id = c.tenant_id and m.reference_id = c.id and m.transaction_type = 'count') m on true
      where c.tenant_id = $1 and (c.lines <> l.n or (c.differences, c.units_found, c.units_missing) is distinct from (l.differing, l.found, l.missing)
        or (c.differences, c.units_found, c.units_missing) is distinct from (m.n, m.found, m.missing))`,
  },
  {
    name: "stock: what an order reserves or has picked is set aside for it, and nothing else is",
    sql: `select coalesce(g.order_id, s.order_id) as id
      from (
        select n.order_id, n.inventory_item_id, n.warehouse_id, sum(n.reserved + n.picked) as held from storefront.order_part_goods n
        where n.tenant_id = $1 and n.inventory_item_id is not null group by 1, 2, 3) g
      full join (
        select k.reserved_for_id as order_id, k.item_id as inventory_item_id, k.warehouse_id, sum(k.quantity) as held from warehousing.stock k
        where k.tenant_id = $1 and k.reserved_for_type = 'order' group by 1, 2, 3) s using (order_id, inventory_item_id, warehouse_id)
      where coalesce(g.held, 0) <> coalesce(s.held, 0)`,
  },
  {
    name: "orders: no unit is lost sight of, and what left was booked out once",
    sql: `select g.order_id as id from storefront.order_goods g
      where g.tenant_id = $1 and (g.ordered <> g.to_reserve + g.reserved + g.picked + g.out + g.delivered + g.back + g.short + g.released + g.lost
        or least(g.to_reserve, g.reserved, g.picked, g.out, g.delivered, g.back, g.short, g.released, g.lost) < 0)
      union all
      select g.order_id from (
        select n.order_id, sum(n.out + n.delivered + n.back + n.lost) as gone from storefront.order_part_goods n
        where n.tenant_id = $1 and n.inventory_item_id is not null group by 1) g
      where g.gone <> (select coalesce(sum(m.quantity), 0) from warehousing.inventory_transactions m
        where m.tenant_id = $1 and m.reference_type = 'order' and m.reference_id = g.order_id and m.transaction_type = 'pick')`,
  },
  {
    name: "orders: what its deliveries collect at the door is what it costs, until one has ended",
    sql: `select o.id from storefront.storefront_orders o
      where o.tenant_id = $1 and o.payment_method = 'cash_on_delivery' and o.status in ('confirmed', 'shipped') and exists (
        select from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id)
      and not exists (select from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id
        and d.status in ('delivered', 'returned', 'cancelled'))
      and o.total_price <> (select sum(d.cod_amount) from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id)`,
  },
  {
    name:
      "stock: a pick under way has what it asks for set aside; a cancelled or ended one nothing",
    sql: `select p.id from warehousing.picking_orders p where p.tenant_id = $1 and (
        select coalesce(sum(s.quantity), 0) from warehousing.stock s
        where s.tenant_id = p.tenant_id and s.reserved_for_type = 'picking_order' and s.reserved_for_id = p.id)
      <> case when p.order_id is null and (p.status = 'in_progress' or (p.status = 'completed' and p.delivery_id is not null))
        then (select coalesce(sum(i.quantity), 0) from warehousing.picking_order_items i
          where i.tenant_id = p.tenant_id and i.picking_order_id = p.id) else 0 end`,
  },
  {
    name: "stock: a serial number is in one place",
    sql:
      `select s.serial_number from warehousing.stock s where s.tenant_id = $1 and s.serial_number is not null and s.quantity > 0
      group by s.item_id, s.serial_number having sum(s.quantity) > 1`,
  },
  {
    name:
      "stock: rows, reservations, write-offs, picks and orders add up (warehousing.stock_differences)",
    sql: "select d.* from warehousing.stock_differences($1, 'infinity') d",
  },
  {
    name: "orders: paid means exactly one payment of its amount and currency",
    sql:
      `select o.id from storefront.storefront_orders o where o.tenant_id = $1 and (o.payment_status = 'paid') <> (
        select count(*) = 1 and bool_and(p.amount = ${priceOf} and p.currency = o.currency) from money.payments p
        where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS')`,
  },
  {
    name: "assignments: at most one live one a delivery, and the delivery knows",
    sql: `select d.id from delivery.deliveries d
      left join lateral (select count(*) as n from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted')) a on true
      where d.tenant_id = $1 and (a.n > 1 or (d.status in ('assigned', 'accepted') and a.n <> 1))`,
  },
  {
    name:
      "assignments: a driver's load is what his live assignments add up to, and his vehicle carries it",
    sql: `select d.user_id from delivery.drivers d
      left join delivery.vehicles v on v.tenant_id = d.tenant_id and v.id = d.vehicle_id
      where d.tenant_id = $1 and (d.capacity_used > coalesce(v.unit_capacity, d.capacity_used) or d.capacity_used <> (
        select coalesce(sum(a.units), 0) from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.driver_id = d.user_id and a.status in ('pending', 'assigned', 'accepted')))`,
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
        select p.amount from money.payments p where p.tenant_id = d.tenant_id and p.delivery_id = d.id
          and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS'))`,
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
    name: "deliveries: a fee is paid once",
    sql: `select p.delivery_id from money.payments p
      where p.tenant_id = $1 and p.type = 'DELIVERY_FEE' and p.status in ('pending', 'SUCCESS') group by p.delivery_id having count(*) > 1`,
  },
];

/** About everything, by what the system checks itself with every night. */
export const ofAll: readonly Invariant[] = [
  { name: "the books (money.verify_books)", sql: "select * from money.verify_books()" },
  { name: "the stock (warehousing.verify_stock)", sql: "select * from warehousing.verify_stock()" },
  {
    name: "the cash of every tenant (money.cod_differences)",
    sql:
      "select d.* from tenancy.tenants t cross join lateral money.cod_differences(t.id, 'infinity') d",
  },
  {
    name: "the kept totals of lists (private.tallies_verify)",
    sql: "select * from private.tallies_verify()",
  },
  {
    name: "no row points into another tenant's",
    sql:
      `select e.id from money.ledger_entries e join money.accounts a on a.id = e.account_id where a.tenant_id <> e.tenant_id
      union all
      select t.id from warehousing.inventory_transactions t join warehousing.stock s on s.id in (t.from_stock_id, t.to_stock_id)
      where s.tenant_id <> t.tenant_id`,
  },
];

// One statement, so that all see one state of the database.
const together = ofTenant
  .map(({ sql }, index) =>
    `select ${index} as nr, to_jsonb(x) as breach from (${sql.replaceAll("$1", "$1::uuid")}) x`
  ).join("\nunion all\n");

const named = (rows: { nr?: number; breach?: unknown }[]): string[] =>
  rows.map(({ nr, breach }) => `${ofTenant[nr!]!.name}: ${JSON.stringify(breach)}`);

/** The breaches of a tenant's invariants in one state of the database, by name; empty when all hold. */
export async function breachesOf(sql: postgres.Sql, tenant: string): Promise<string[]> {
  return named(await sql.unsafe(together, [tenant], { prepare: true }));
}

/**
 * `breachesOf` for who asks after every step, on a connection whose plans serve every tenant (`openReader`), with the body of
 * `warehousing.stock_differences` in its place: PostgreSQL plans a call of it each time, which costs more than what it reads.
 */
export async function openBreaches(
  sql: postgres.Sql,
): Promise<(tenant: string) => Promise<string[]>> {
  const [{ body }] = await sql`select prosrc as body from pg_proc
    where oid = 'warehousing.stock_differences(uuid, timestamptz)'::regprocedure`;
  const call = "warehousing.stock_differences($1::uuid, 'infinity')";
  const inPlace = body.replace(/\btenant\b/g, "$1::uuid").replace(/\bas_of\b/g, "'infinity'");
  const statement = together.replace(call, `(${inPlace})`);
  if (statement === together) throw new Error(`No invariant asks ${call}.`);
  return async (tenant) => named(await sql.unsafe(statement, [tenant], { prepare: true }));
}

/** All breaches of all tenants. */
export async function allBreaches(sql: postgres.Sql): Promise<string[]> {
  const found: string[] = [];
  for (const { name, sql: query } of ofAll) {
    for (const row of await sql.unsafe(query)) found.push(`${name}: ${JSON.stringify(row)}`);
  }
  for (const { id } of await sql`select id from tenancy.tenants`) {
    found.push(...await breachesOf(sql, id));
  }
  return found;
}
