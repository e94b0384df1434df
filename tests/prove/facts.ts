/**
 * Compares the responses to clients with the database. A fact is the content of an acknowledged response; it must be there
 * exactly once, as it was said, and nothing may be there without a response.
 */
import { sql } from "../support/db.ts";

/** Kinds of facts, each with the query of all there are: `marker` is what the client chose, `value` what they were answered. */
const kinds = {
  adjusted:
    `select snapshot ->> 'reason' as marker, id || ' ' || amount::float8 || ' ' || (snapshot ->> 'direction') as value
    from money.payments where tenant_id = $1 and type = 'WALLET_ADJUSTMENT' and payment_method = 'manual'`,
  settled:
    `select reference as marker, payment_id || ' ' || method || ' ' || total::float8 || ' ' || collections
      || case when reversed_at is null then '' else ' reversed' end as value
    from money.cod_settlements where tenant_id = $1`,
  received:
    `select reason as marker, reference_id || ' ' || sum(quantity) as value from warehousing.inventory_transactions
    where tenant_id = $1 and reference_type = 'receipt' group by reason, reference_id`,
  corrected:
    `select reason as marker, reference_id || ' ' || sum(case when to_stock_id is null then -quantity else quantity end) as value
    from warehousing.inventory_transactions where tenant_id = $1 and reference_type = 'adjustment' group by reason, reference_id`,
  writtenOff:
    `select reason as marker, reference_id || ' ' || sum(quantity) as value from warehousing.inventory_transactions
    where tenant_id = $1 and reference_type = 'write_off' group by reason, reference_id`,
  takenBack:
    `select reason as marker, reference_id || ' ' || sum(quantity) as value from warehousing.inventory_transactions
    where tenant_id = $1 and reference_type = 'return' group by reason, reference_id`,
  shelved:
    `select reason as marker, reference_id || ' ' || sum(quantity) as value from warehousing.inventory_transactions
    where tenant_id = $1 and reference_type = 'move' group by reason, reference_id`,
  counted:
    `select notes as marker, id || ' ' || differences || ' ' || units_found || ' ' || units_missing as value
    from warehousing.inventory_counts where tenant_id = $1`,
  transferred:
    `select t.reference_number as marker, t.id || ' ' || sum(i.quantity) as value from warehousing.inventory_transfers t
    join warehousing.inventory_transfer_items i on i.tenant_id = t.tenant_id and i.transfer_id = t.id
    where t.tenant_id = $1 group by t.id`,
  picked:
    `select reference_number as marker, id || ' ' || status as value from warehousing.picking_orders
    where tenant_id = $1 and delivery_id is null and order_id is null`,
  ordered:
    `select barcode as marker, id || ' ' || coalesce(ordered_cod_amount, cod_amount)::float8 as value from delivery.deliveries
    where tenant_id = $1 and barcode ~ '^[0-9a-f-]{36}$' and parent_id is null`,
  collected:
    `select delivery_id || case collection_stage when 'pickup' then ' pickup' else '' end as marker,
      driver_id || ' ' || count(*) || ' ' || sum(amount)::float8 as value
    from money.cod_collections where tenant_id = $1 and reversed_at is null group by delivery_id, driver_id, collection_stage`,
  // Outcomes that were undone, and the cash that counts as not taken by it.
  undone:
    `select undo_reason as marker, delivery_id || ' ' || result as value from delivery.outcomes
    where tenant_id = $1 and undone_at is not null`,
  uncollected:
    `select delivery_id::text as marker, driver_id || ' ' || count(*) || ' ' || sum(amount)::float8 as value
    from money.cod_collections where tenant_id = $1 and reversed_at is not null group by delivery_id, driver_id`,
  changed:
    `select reason as marker, delivery_id || ' ' || old_cod_amount::float8 || ' ' || new_cod_amount::float8 || ' ' || status as value
    from delivery.amount_changes where tenant_id = $1 and reason like 'amount %'`,
  redirected:
    `select d.id::text as marker, d.dropoff_address_id || ' ' || count(*) || ' ' || sum(p.amount)::float8 as value
    from money.payments p join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = $1 and p.type = 'DELIVERY_FEE_CHANGE' group by d.id`,
  stated:
    `select id::text as marker, 'MS-' || lpad(number::text, 6, '0') || ' ' || net::float8 || ' ' || lines as value
    from money.merchant_statements where tenant_id = $1`,
  merchantPaid:
    `select reference as marker, id || ' ' || statement_id || ' ' || method || ' ' || amount::float8 as value
    from money.merchant_payouts where tenant_id = $1`,
  merchantPaidBack:
    `select reversal_reason as marker, statement_id || ' ' || amount::float8 as value
    from money.merchant_payouts where tenant_id = $1 and reversed_at is not null`,
  voided:
    `select void_reason as marker, id || ' ' || net::float8 as value from money.merchant_statements
    where tenant_id = $1 and status = 'void'`,
  // The counted handovers and their outcomes, and the shortage of each when it was remitted. Who counted one is not the
  // caller who settles its cash another way and so cancels it: what was counted and resolved before stands.
  declared: `select notes as marker, id || ' ' || case when status <> 'cancelled' then status
      when resolution is null then 'discrepancy' else 'resolved' end || ' ' || coalesce(resolution, 'none') as value
    from money.cash_handovers where tenant_id = $1`,
  short:
    `select reference as marker, shortage::float8::text as value from money.cod_settlements where tenant_id = $1 and shortage > 0`,
  owed:
    `select delivery_id::text as marker, carrier_code || ' ' || count(*) || ' ' || sum(amount)::float8 as value
    from money.carrier_collections where tenant_id = $1 and reversed_at is null group by delivery_id, carrier_code`,
  paid:
    `select reference as marker, id || ' ' || amount::float8 || ' ' || charges::float8 || ' ' || collections
      || case when reversed_at is null then '' else ' reversed' end as value from money.carrier_remittances where tenant_id = $1`,
  moved:
    `select reference as marker, id || ' ' || kind || ' ' || amount::float8 || case when reversed_at is null then '' else ' reversed' end
    as value from money.cash_transfers where tenant_id = $1`,
  paidOut:
    `select reference as marker, id || ' ' || method || ' ' || amount::float8 || ' ' || accruals
      || case when reversed_at is null then '' else ' reversed' end as value from money.driver_payouts where tenant_id = $1`,
  // Once an outcome is undone, the assignment that brings it back stands for the one that ended with it.
  assigned:
    `select a.delivery_id::text as marker, a.driver_id::text as value from delivery.assignments a
    where a.tenant_id = $1 and a.status not in ('returned', 'rejected') and not exists (select from delivery.outcomes o
      where o.tenant_id = a.tenant_id and o.assignment_id = a.id and o.new_assignment_id is not null)`,
  // The searches for drivers that were begun, how often a driver was asked, and how many said no or nothing.
  searched:
    `select delivery_id::text as marker, status || ' ' || attempts || ' ' || cardinality(declined) as value
    from delivery.driver_searches where tenant_id = $1`,
  destined:
    // The first order of an item; one that was cancelled may be followed by others.
    `select distinct on (i.id) i.id::text as marker, d.id::text as value from delivery.transfer_manifest_items i
    join delivery.deliveries d on d.tenant_id = i.tenant_id and d.manifest_item_id = i.id and d.parent_id is null
    where i.tenant_id = $1 order by i.id, d.created_at, d.delivery_code`,
  bought: `select cart_id::text as marker, id || ' ' || status || ' ' || payment_status as value
    from storefront.storefront_orders where tenant_id = $1`,
  // Orders that leave from more than one warehouse.
  split:
    `select order_id::text as marker, count(*)::text as value from storefront.storefront_order_parts
    where tenant_id = $1 group by order_id having count(*) > 1`,
  charged:
    `select order_id::text as marker, count(*) || ' ' || sum(amount)::float8 as value from money.payments
    where tenant_id = $1 and type = 'ORDER' and status = 'SUCCESS' and gateway_code is not null group by order_id`,
  // Of all that came back, who got which fee back.
  returned:
    `select d.id::text as marker, coalesce(string_agg(a.owner_user_id || ' ' || p.amount::float8, ', '), 'nothing') as value
    from delivery.deliveries d
    left join money.payments p on p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'REFUND' and p.status = 'SUCCESS'
    left join money.accounts a on a.tenant_id = p.tenant_id and a.id = p.account_id
    where d.tenant_id = $1 and d.status = 'returned' and d.parent_id is null group by d.id`,
  // Parcels that were brought into a warehouse which they were not ordered from.
  takenIn: `select r.id::text as marker, d.id || ' ' || r.status as value
    from warehousing.receiving_orders r join delivery.deliveries d on d.tenant_id = r.tenant_id and d.id = r.delivery_id
    where r.tenant_id = $1 and r.source <> 'inbound' and d.delivery_flow = 'standard' and d.order_id is null`,
  // The deliveries that bring them back, and of each what became of its parcel and how much of the fee was given back.
  sentBack:
    `select r.id::text as marker, o.id || ' ' || case r.status when 'cancelled' then r.status else o.status || ' '
      || (select coalesce(sum(p.amount), 0)::float8 from money.payments p
        where p.tenant_id = o.tenant_id and p.delivery_id = o.id and p.type = 'REFUND' and p.status = 'SUCCESS')
      || case r.status when 'delivered' then ' delivered' else ' under way' end end as value
    from delivery.deliveries r join delivery.deliveries o on o.tenant_id = r.tenant_id and o.id = r.original_delivery_id
    where r.tenant_id = $1 and r.delivery_flow = 'operational_return' and not r.made_at_door`,
  diverted: `select t.id::text as marker, string_agg(p.delivery_id::text, ' ') as value
    from warehousing.package_transfers t
    join warehousing.package_transfer_deliveries p on p.tenant_id = t.tenant_id and p.transfer_id = t.id
    where t.tenant_id = $1 and t.operation_type = 'single_delivery' group by t.id`,
  // Goods of orders that came back.
  restocked: `select r.id::text as marker, p.delivery_id || ' ' || r.status || ' '
      || (select coalesce(sum(i.received_quantity), 0) from warehousing.receiving_order_items i
        where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id) as value
    from storefront.order_part_receipts q
    join storefront.storefront_order_parts p on p.tenant_id = q.tenant_id and p.id = q.part_id
    join warehousing.receiving_orders r on r.tenant_id = q.tenant_id and r.id = q.receiving_order_id
    where q.tenant_id = $1`,
  // Bookings with carriers; one whose cancellation was broken off is booked.
  booked:
    `select id::text as marker, delivery_id || ' ' || case status when 'cancelling' then 'booked' else status end || ' '
      || tracking_number || ' ' || cash_due::float8 as value
    from integration.carrier_shipments where tenant_id = $1 and status <> 'booking'`,
  reported: `select carrier_event_id as marker, delivery_id || ' ' || outcome as value
    from integration.carrier_events where tenant_id = $1`,
  // All that a carrier has, and each status that it had.
  carried: `select d.id::text as marker, string_agg(h.to_status, ' ' order by h.id) as value
    from delivery.deliveries d
    join delivery.delivery_status_history h on h.tenant_id = d.tenant_id and h.delivery_id = d.id
    where d.tenant_id = $1 and d.carrier_type = 'external' group by d.id`,
  handed:
    `select id::text as marker, delivery_id || ' ' || driver_id as value from delivery.package_handoffs
    where tenant_id = $1 and status = 'completed'`,
  travelled:
    `select notes as marker, id || ' ' || status as value from warehousing.waybills where tenant_id = $1`,
  // Money that fitted no payment, and what an administrator did with it.
  resolved:
    `select e.facts ->> 'transaction_id' as marker, e.action || ' ' || count(p.id) || ' ' || sum(p.amount)::float8 as value
    from money.payment_webhook_events e
    left join money.payments p on p.tenant_id = e.tenant_id and p.type = 'WALLET_TOPUP' and p.snapshot ->> 'payment_event_id' = e.id::text
    where e.tenant_id = $1 and e.action is not null group by e.id`,
  refunded: `select order_id::text as marker, sum(amount)::float8::text as value from money.payments
    where tenant_id = $1 and type = 'REFUND' and status = 'SUCCESS' and order_id is not null group by order_id`,
} as const;

export type Kind = keyof typeof kinds;

export class Facts {
  readonly #told = new Map<Kind, Map<string, string>>();
  /** How often each kind was answered. */
  readonly said: Partial<Record<Kind, number>> = {};
  /** Answers that no answer to that question can be. */
  readonly wrong: string[] = [];
  /** Answers that said what was done. */
  acknowledged = 0;

  /** A client got this answer; the last one about a marker counts. */
  report(kind: Kind, marker: string, value: string): void {
    this.said[kind] = (this.said[kind] ?? 0) + 1;
    const known = this.#told.get(kind) ?? new Map<string, string>();
    this.#told.set(kind, known.set(marker, value));
  }

  /** Takes back what an earlier answer said: a later one ended it. */
  ended(kind: Kind, marker: string): void {
    this.#told.get(kind)?.delete(marker);
  }

  /** Kinds without a response: they prove nothing. */
  never(): Kind[] {
    return (Object.keys(kinds) as Kind[]).filter((kind) => !this.said[kind]);
  }

  /** The differences between responses and database: lost, duplicated, or present without a response. */
  async compare(
    tenant: string,
  ): Promise<{ facts: number; lost: string[]; doubled: string[]; unacknowledged: string[] }> {
    const result = {
      facts: 0,
      lost: [] as string[],
      doubled: [] as string[],
      unacknowledged: [] as string[],
    };
    for (const kind of Object.keys(kinds) as Kind[]) {
      const told = this.#told.get(kind) ?? new Map<string, string>();
      const there = new Map<string, string[]>();
      for (const { marker, value } of await sql.unsafe(kinds[kind], [tenant])) {
        there.set(marker, [...there.get(marker) ?? [], value]);
      }
      result.facts += told.size;
      for (const [marker, value] of told) {
        const found = there.get(marker) ?? [];
        if (!found.includes(value)) {
          result.lost.push(
            `${kind} ${marker}: told ${value}, there: ${found.join(" and ") || "none"}`,
          );
        } else if (found.length > 1) {
          result.doubled.push(`${kind} ${marker}: ${found.join(" and ")}`);
        }
      }
      for (const [marker, found] of there) {
        if (!told.has(marker)) {
          result.unacknowledged.push(`${kind} ${marker}: ${found.join(" and ")}`);
        }
      }
    }
    return result;
  }
}
