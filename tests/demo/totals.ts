/** The end of the day: every figure that was counted from answers is asked of Barid, by the reports people read. */
import { done, type Person } from "./barid.ts";
import type { Count, OfDriver, Units } from "./count.ts";
import { balanceOf, type Warehouse, type World } from "./people.ts";
import { each } from "./progress.ts";
import { eventTypes, type Subscriber } from "./webhooks.ts";

export interface Total {
  what: string;
  counted: number;
  found: number;
}

/** A line of the summary with its parts; a part that differs is named on its own. */
class Totals {
  readonly lines: Total[] = [];
  readonly differences: Total[] = [];

  add(what: string, ...parts: Total[]): void {
    this.lines.push({
      what,
      counted: parts.reduce((sum, { counted }) => sum + counted, 0),
      found: parts.reduce((sum, { found }) => sum + found, 0),
    });
    this.differences.push(...parts.filter(({ counted, found }) => counted !== found));
  }

  one(what: string, counted: number, found: number): void {
    this.add(what, { what, counted, found });
  }
}

export interface Compared {
  lines: Total[];
  differences: Total[];
}

/** Asks Barid for everything that was counted. */
export async function compare(
  world: World,
  count: Count,
  buyers: Person[],
  subscriber: Subscriber | undefined,
): Promise<Compared> {
  const totals = new Totals();
  await parcels(world, count, totals);
  await drivers(world, count, totals);
  await stock(world, count, totals);
  await wallets(world, count, buyers, totals);
  if (subscriber) await events(count, subscriber, totals);
  return totals;
}

async function parcels(
  { admin: { barid }, institution, merchant, main }: World,
  { numbers }: Count,
  totals: Totals,
): Promise<void> {
  const manifests = await done(barid.GET("/delivery/transfer-manifests", {
    params: { query: { institution_user_id: institution.id, limit: 1 } },
  }));
  totals.one("manifests", numbers.manifests, manifests.pagination.total);
  const deliveries = async (query: { institution_user_id: string } | { customer_id: string }) =>
    (await done(barid.GET("/delivery/deliveries", {
      params: {
        query: { ...query, limit: 1, column_filters: JSON.stringify({ is_leg: false }) },
      },
    }))).pagination.total;
  totals.one(
    "orders by bulk scan",
    numbers.scanned,
    await deliveries({ institution_user_id: institution.id }),
  );
  totals.one(
    "orders of the merchant",
    numbers.orders,
    await deliveries({ customer_id: merchant.id }),
  );
  const waybills = await done(barid.GET("/warehousing/waybills", {
    params: { query: { source_warehouse_id: main.id, status: "closed", limit: 1 } },
  }));
  totals.one("waybills closed", numbers.waybills, waybills.pagination.total);
  const receiving = await done(barid.GET("/warehousing/receiving-orders", {
    params: {
      query: {
        warehouse_id: main.id,
        source: "failed_delivery_return",
        status: "received",
        limit: 1,
      },
    },
  }));
  totals.one("returned parcels taken in", numbers.received, receiving.pagination.total);
}

/** Cash by the reconciliation and by each driver's own list, achievements by the performance report. */
async function drivers(world: World, count: Count, totals: Totals): Promise<void> {
  const { barid } = world.admin;
  const book = await done(world.dispatcher.barid.GET("/delivery/cod-reconciliation"));
  // Of the company's clock: in its evening the month may be another one than in UTC.
  const { current_month: { year, month } } = await done(
    barid.GET("/delivery/driver-performance/detail", {
      params: { query: { driver_id: world.drivers[0]!.id } },
    }),
  );
  await done(barid.POST("/delivery/driver-performance/rebuild", { body: { month, year } }));
  const found = await each(world.drivers, async ({ id, barid: own }) => {
    const { data: [report] } = await done(barid.GET("/delivery/driver-performance", {
      params: { query: { driver_id: id } },
    }));
    const { cod } = await done(own.GET("/delivery/cod-collections", {
      params: { query: { limit: 1 } },
    }));
    const { summary } = await done(own.GET("/delivery/cod-summary"));
    const position = book.drivers.find((one) => one.driver_id === id);
    return { report, rows: cod.pagination.total, holds: summary.total_unremitted, position };
  });
  const line = (
    what: string,
    counted: (driver: OfDriver) => number,
    said: (answers: typeof found[number]) => number | undefined,
  ) =>
    totals.add(
      what,
      ...world.drivers.map(({ id }, n) => {
        const driver = count.driver(id);
        return {
          what: `${what}, ${driver.name}`,
          counted: counted(driver),
          found: said(found[n]) ?? 0,
        };
      }),
    );
  line("deliveries ended", (d) => d.ended, ({ report }) => report?.total_deliveries);
  line("  delivered", (d) => d.delivered, ({ report }) => report?.successful_deliveries);
  line("  not delivered", (d) => d.ended - d.delivered, ({ report }) => report?.failed_deliveries);
  line("  value delivered", (d) => d.value, ({ report }) => report?.total_delivery_value);
  line("legs carried", (d) => d.legs, ({ report }) => report?.handled_legs);
  line("rows of cash", (d) => d.collections, ({ rows }) => rows);
  line("cash collected", (d) => d.collected, ({ position }) => position?.collected);
  line("  remitted", (d) => d.remitted, ({ position }) => position?.remitted);
  line("  settled by wallet", (d) => d.byWallet, ({ position }) => position?.settled_by_wallet);
  const inHand = (d: OfDriver) => d.collected - d.remitted - d.byWallet;
  line("  in hand, by the rows", inHand, ({ position }) => position?.in_hand);
  line("  in hand, by the ledger", inHand, ({ position }) => position?.ledger);
  line("  in hand, as drivers see it", inHand, ({ holds }) => holds);
  totals.add(
    "differences in the reconciliation",
    { what: "differences in the reconciliation", counted: 0, found: book.differences.length },
  );
}

async function stock(world: World, count: Count, totals: Totals): Promise<void> {
  const houses = [["main", world.main], ["second", world.second]] as const;
  for (const [name, house] of houses) {
    const { status } = await done(world.manager.barid.GET("/warehousing/dashboard", {
      params: { query: { warehouse_id: house.id } },
    }));
    const rows = await units(world, house);
    const counted = count.stock[name];
    for (const state of ["available", "reserved", "damaged"] as const) {
      totals.one(`units ${state}, ${name}`, counted[state], rows[state]);
      const shown = status[`${state}_units`];
      if (shown !== rows[state]) {
        totals.differences.push({
          what: `units ${state} of ${name} on the dashboard`,
          counted: rows[state],
          found: shown,
        });
      }
    }
  }
}

/** The stock of a warehouse, row by row. */
async function units({ manager: { barid } }: World, house: Warehouse): Promise<Units> {
  const sum: Record<string, number> = {};
  for (let page = 1, left = 1; left > 0; page++) {
    const { data, pagination } = await done(barid.GET("/warehousing/inventory", {
      params: { query: { warehouse_id: house.id, limit: 100, page } },
    }));
    left = pagination.total_pages - page;
    for (const { status, quantity } of data) sum[status] = (sum[status] ?? 0) + quantity;
  }
  return {
    available: sum.available ?? 0,
    reserved: sum.reserved ?? 0,
    damaged: sum.damaged ?? 0,
  };
}

async function wallets(
  world: World,
  count: Count,
  buyers: Person[],
  totals: Totals,
): Promise<void> {
  const { institution, merchant, buyers: ofBuyers } = count.wallets;
  const all = async (people: Person[]) =>
    (await each(people, balanceOf)).reduce((sum, balance) => sum + balance, 0);
  totals.one("wallet of the institution", institution, await balanceOf(world.institution));
  await merchantOf(world, count, merchant, totals);
  totals.one("wallets of the buyers", ofBuyers, await all(buyers));
  totals.add(
    "wallets of the drivers",
    ...await each(world.drivers, async (driver) => ({
      what: `wallet of ${driver.name}`,
      counted: count.driver(driver.id).wallet,
      found: await balanceOf(driver),
    })),
  );
}

/** The merchant's wallet, and how its COD became due: all but what drivers kept. */
async function merchantOf(
  { merchant: { barid } }: World,
  { held, paidOut }: Count,
  credited: number,
  totals: Totals,
): Promise<void> {
  const { wallet } = await done(barid.GET("/delivery/wallets/me"));
  const kept = [...held.values()].reduce((sum, cod) => sum + cod, 0);
  const { data: statements } = await done(barid.GET("/delivery/merchant-statements"));
  const stated = (status: string) =>
    statements.filter((one) => one.status === status).reduce((sum, { net }) => sum + net, 0);
  totals.one("wallet of the merchant", credited - paidOut, wallet?.balance ?? 0);
  totals.one("  held, as its cash is not in", kept, wallet?.held_balance ?? 0);
  totals.one("  stated, to be paid", credited - paidOut - kept, stated("open"));
  totals.one("  paid out", paidOut, stated("paid"));
}

/** By type: what has to be heard, what was heard, what Barid's log says was taken. */
async function events(count: Count, subscriber: Subscriber, totals: Totals): Promise<void> {
  const heard: Record<string, number> = {};
  for (const { type, delivery } of subscriber.heard.values()) {
    if (count.parcels.has(delivery)) heard[type] = (heard[type] ?? 0) + 1;
  }
  const log = await subscriber.log(count.parcels);
  for (const type of eventTypes) {
    totals.one(`events ${type}, heard`, count.events[type] ?? 0, heard[type] ?? 0);
    totals.one(`events ${type}, in the log`, count.events[type] ?? 0, log.delivered[type] ?? 0);
  }
  totals.one("events with a wrong signature", 0, subscriber.forged);
}

/** The summary as it is printed. */
export function table({ lines }: Compared): string {
  const number = (value: number) => value.toLocaleString("en").padStart(16);
  return [
    `${"".padEnd(38)}${"counted".padStart(16)}${"Barid".padStart(16)}`,
    ...lines.map(({ what, counted, found }) =>
      `${what.padEnd(38)}${number(counted)}${number(found)}${counted === found ? "" : "  differs"}`
    ),
  ].join("\n");
}

export function differencesOf({ differences }: Compared): string[] {
  return differences.map(({ what, counted, found }) =>
    `${what}: counted ${counted.toLocaleString("en")}, Barid says ${found.toLocaleString("en")}`
  );
}
