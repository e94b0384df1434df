/** The database in the model's words, and the model in the same. */
import type postgres from "postgres";
import type { Real } from "./real.ts";
import { debt } from "./carriers.ts";
import { whereabouts } from "./customer-returns.ts";
import { earned } from "./pay.ts";
import type { State } from "./state.ts";

/** The part of a state that is visible in the database. */
export function shown(state: State) {
  const each = <T>(list: Record<string, T>, say: (one: T, place: number) => string) =>
    Object.fromEntries(Object.entries(list).map(([name, one], place) => [name, say(one, place)]));
  const { drivers, customers, house, desk, ownDesks, shortages, units, goods } = state;
  return {
    rows: each(state.rows, ({ status, driver, cod, fee }) => `${status} ${driver} ${cod} ${fee}`),
    counts: each(
      state.counts,
      ({ status, counted, settlement }) => `${status} ${counted} in ${settlement ?? "none"}`,
    ),
    parcels: each(
      state.parcels,
      ({ status, driver, cod, fee, part, of, from, back, there, external, booked, returns }) =>
        `${status} with ${external ? "carrier" : driver ?? "nobody"}${
          of
            ? ` owes ${cod}`
            : returns
            ? ` returns for ${fee} to ${returns.ends ?? "a door"}`
            : from || back
            ? ""
            : ` owes ${cod}${part ? " for part" : ""} and ${fee}`
        }${booked === undefined ? "" : ` booked for ${booked}`}${
          there && ["pending", "accepted"].includes(status) ? " there" : ""
        }`,
    ),
    expected: Object.fromEntries(
      Object.values(state.receipts).filter(({ parcel, status }) =>
        status === "pending" && state.parcels[parcel].returns
      ).map(({ parcel, at = 2 }) => [parcel, at]),
    ),
    statements: each(
      state.statements,
      ({ customer, net, status }) => `${net} of ${customer} ${status}`,
    ),
    due: Object.fromEntries(
      Object.entries(state.parcels).filter(([, { due }]) => due).map((
        [name, { due }],
      ) => [name, due]),
    ),
    picks: each(state.picks, ({ status, picked, line }) => `${status} ${picked} ${line}`),
    orders: Object.fromEntries(
      Object.entries(state.orders).map(([name, { status, total }]) => {
        const { delivered, back, lost } = whereabouts(state, name);
        return [name, `${status} ${total} delivered ${delivered} back ${back} lost ${lost}`];
      }),
    ),
    drivers,
    customers,
    house,
    desk: desk ?? 0,
    ownDesks: ownDesks.map((own) => own ?? 0),
    // In their order, by which a payment for the oldest pays them: two reports at the same moment may come in either.
    owed: each(state.owed, ({ status, cod, fee }, place) => `${place}: ${status} ${cod} ${fee}`),
    debt: debt(state),
    till: state.till ?? 0,
    shortages,
    earned: drivers.map((_, driver) => earned(state, driver)),
    units,
    goods,
    damaged: state.damaged,
  };
}

const uuid = /[0-9a-f]{8}-[0-9a-f-]{27}/;

/** The same of the database. */
export async function seen(sql: postgres.Sql, real: Real): Promise<ReturnType<typeof shown>> {
  const { place } = real;
  const [found] = await sql`select
    (select jsonb_agg(jsonb_build_array(id, delivery_id || ' ' || collection_stage, status, driver_id, cod_amount, delivery_fee_amount))
      from money.cod_collections where tenant_id = ${place.id} and reversed_at is null) as rows,
    (select jsonb_agg(jsonb_build_array(delivery_id, status, cod_amount, delivery_fee_amount) order by collected_at, id) from money.carrier_collections
      where tenant_id = ${place.id} and reversed_at is null) as owed,
    (select jsonb_agg(jsonb_build_array(id, net, owner_user_id, status)) from money.merchant_statements where tenant_id = ${place.id}) as statements,
    (select jsonb_agg(jsonb_build_array(id, status, counted_amount, settlement_payment_id)) from money.cash_handovers
      where tenant_id = ${place.id}) as counts,
    (select jsonb_agg(jsonb_build_array(d.id, d.status,
        case d.carrier_type when 'external' then 'carrier' else a.driver_id::text end, concat(case when d.order_id is not null then ' owes ' || trim_scale(d.cod_amount)
          when d.delivery_flow = 'customer_return' and not d.made_at_door then ' returns for ' || trim_scale(d.delivery_fee) || ' to ' || coalesce(d.dropoff_warehouse_id::text, 'a door')
          when d.original_delivery_id is null then ' owes ' || trim_scale(d.cod_amount) ||
          case when (select c.kept_items from delivery.amount_changes c where c.tenant_id = d.tenant_id and c.delivery_id = d.id and c.status = 'approved'
            order by c.decided_at desc, c.id desc limit 1) is not null then ' for part' else '' end || ' and ' || trim_scale(d.delivery_fee) end,
        ' booked for ' || trim_scale(s.cash_due), case when d.current_warehouse_id = ${place.there} and d.status in ('pending', 'accepted') then ' there' end))) from delivery.deliveries d
      left join delivery.assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted')
      left join integration.carrier_shipments s on s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status = 'booked'
      where d.tenant_id = ${place.id}) as parcels,
    (select jsonb_agg(jsonb_build_array(delivery_id, status)) from money.payments
      where tenant_id = ${place.id} and type = 'REFUND' and payment_method = 'cash' and status <> 'CANCELLED') as due,
    (select jsonb_agg(jsonb_build_array(o.id, o.status, i.picked_quantity, i.status)) from warehousing.picking_orders o
      join warehousing.picking_order_items i on i.tenant_id = o.tenant_id and i.picking_order_id = o.id
      where o.tenant_id = ${place.id} and o.order_id is null and o.delivery_id is null) as picks,
    (select jsonb_agg(jsonb_build_array(o.id, o.status, o.total_price, g.delivered, g.back, g.lost)) from storefront.storefront_orders o
      left join storefront.order_goods g on g.tenant_id = o.tenant_id and g.order_id = o.id where o.tenant_id = ${place.id}) as orders,
    (select jsonb_object_agg(kind || ' ' || coalesce(owner_user_id::text, 'house'), balance) from money.accounts
      where tenant_id = ${place.id} and kind in ('wallet', 'cash_on_hand', 'driver_shortage', 'driver_payable', 'carrier_cash')) as accounts,
    (select jsonb_object_agg(k, q) from (select warehouse_id || ' ' || item_id as k, sum(quantity) as q from warehousing.stock
      where tenant_id = ${place.id} and status = 'available' group by 1) s) as units,
    (select jsonb_object_agg(warehouse_id, quantity) from (select warehouse_id, sum(quantity) as quantity from warehousing.stock
      where tenant_id = ${place.id} and status = 'damaged' group by 1) s) as damaged,
    (select jsonb_agg(jsonb_build_array(d.id, r.warehouse_id)) from warehousing.receiving_orders r
      join delivery.deliveries d on d.tenant_id = r.tenant_id and d.id = r.delivery_id
      where r.tenant_id = ${place.id} and r.status = 'pending' and d.delivery_flow = 'customer_return' and not d.made_at_door) as expected`;
  const names = new Map(Object.entries(real.ids).map(([name, id]) => [id, name]));
  const name = (id: string) => names.get(id) ?? id;
  const driver = (id: string) => place.drivers.findIndex((one) => one.id === id);
  const balance = (kind: string, owner: string): number =>
    found.accounts?.[`${kind} ${owner}`] ?? 0;
  const units = (warehouse: string, item: string): number =>
    found.units?.[`${warehouse} ${item}`] ?? 0;
  // A delivery is named by a parcel; those that only carry the rows of cash made by hand are none.
  const parcel = (id: string) => names.get(id);
  const warehouses = [place.shop.shelf.warehouse, real.second.warehouse, place.there];
  const each = (
    list: never[][] | null,
    say: (row: never[], place: number) => [string, string] | undefined,
  ) => Object.fromEntries((list ?? []).map(say).filter((one) => one !== undefined));
  return {
    rows: each(found.rows, ([id, delivery, status, by, cod, fee]) => {
      const [of, stage] = String(delivery).split(" ");
      const row = names.get(id) ?? `${name(of)} ${stage}`;
      // A row that a delivery made gets its name here.
      real.ids[row] = id;
      return [row, `${status} ${driver(by)} ${cod} ${fee}`];
    }),
    counts: each(found.counts, ([id, status, counted, settlement]) => [
      name(id),
      `${status} ${counted} in ${settlement ? name(settlement) : "none"}`,
    ]),
    parcels: each(
      found.parcels,
      ([id, status, by, owes]) =>
        parcel(id) === undefined ? undefined : [
          name(id),
          `${status} with ${by === "carrier" ? by : by ? driver(by) : "nobody"}${
            String(owes ?? "").replace(uuid, (id) => String(warehouses.indexOf(id)))
          }`,
        ],
    ),
    expected: Object.fromEntries(
      ((found.expected ?? []) as string[][]).map(([id, at]) => [name(id), warehouses.indexOf(at)]),
    ),
    statements: each(found.statements, ([id, net, owner, status]) => [
      name(id),
      `${net} of ${place.customers.findIndex((one) => one.id === owner)} ${status}`,
    ]),
    due: each(
      found.due,
      ([id, status]) => [name(id), status === "pending" ? "open" : "paid"],
    ) as never,
    picks: each(
      found.picks,
      ([id, status, picked, line]) => [name(id), `${status} ${picked} ${line}`],
    ),
    orders: each(found.orders, ([id, status, total, delivered, back, lost]) => [
      name(id),
      `${status} ${total} delivered ${delivered} back ${back} lost ${lost}`,
    ]),
    drivers: place.drivers.map(({ id }) => balance("wallet", id)),
    customers: place.customers.map(({ id }) => balance("wallet", id)),
    house: balance("wallet", "house"),
    desk: balance("cash_on_hand", place.dispatcher.id),
    owed: each(
      found.owed,
      (
        [id, status, cod, fee],
        place,
      ) => [`${name(id)} carrier`, `${place}: ${status} ${cod} ${fee}`],
    ),
    debt: balance("carrier_cash", "house"),
    till: balance("cash_on_hand", "house"),
    ownDesks: place.drivers.map(({ id }) => balance("cash_on_hand", id)),
    earned: place.drivers.map(({ id }) => balance("driver_payable", id)),
    shortages: place.drivers.map(({ id }) => balance("driver_shortage", id)),
    units: place.shelves.map(({ warehouse }) => place.items.map((item) => units(warehouse, item))),
    goods: warehouses.map((warehouse) => units(warehouse, place.shop.shelf.item)),
    damaged: warehouses.map((warehouse) => found.damaged?.[warehouse] ?? 0),
  };
}
