/** The measured paths, each with the request that a benchmark repeats. */
import { type Ask, get, post } from "../ask.ts";
import { parcels } from "../scan.ts";
import { destination, newItems } from "../set-destination.ts";
import type { Ground } from "./ground.ts";

export interface Path {
  path: string;
  kind: "list" | "other";
  ask: Ask;
  /** How often, where each asking uses something up. */
  times?: number;
}

/** The paths on tables with `rows` rows of each tenant. */
export async function pathsAt(ground: Ground, rows: number): Promise<Path[]> {
  const { bench, admin } = ground;
  const { plain } = parcels(rows);
  const list = (path: string, ask: (i: number) => string, who = bench): Path => ({
    path,
    kind: "list",
    ask: (i) => get(who, ask(i)),
  });
  const other = (path: string, ask: Ask, times?: number): Path => ({
    path,
    kind: "other",
    ask,
    times,
  });
  const deliveries = "/delivery/deliveries";
  const cod = "/delivery/cod-collections";
  const driver = await cashDriver(ground);
  const middle = await middleOf(ground);
  const cursor = await cursorAfter(ground, middle);
  const { url, etag } = await versioned(ground);
  const collections = await waiting(ground, 600);
  const batches = await itemBatches(ground, 80);
  const to = await destination(bench);
  return [
    list("delivery list", () => deliveries),
    list("delivery list, search", (i) => `${deliveries}?search=${plain(i)}`),
    list("COD list with summary", () => cod),
    list("COD list by driver", () => `${cod}?driver_id=${driver}`),
    list("order list", () => "/storefront/orders?limit=20", { ...bench, ...admin }),
    list("picking list", () => "/warehousing/picking-orders", { ...bench, ...admin }),
    other("package scan", (i) => get(bench, `/warehousing/package-scan/BENCH${plain(i)}`)),
    other("changes since a time", () => get(bench, `${deliveries}?updated_since=${middle}`)),
    other("changes after a cursor", () => get(bench, `${deliveries}?cursor=${cursor}`)),
    other("unchanged detail (304)", () => unchanged(ground, url, etag)),
    other(
      "set-destination of 20",
      () =>
        post(bench, "/delivery/transfer-manifest-items/bulk/set-destination", {
          item_ids: batches.pop(),
          destination_address_id: to,
        }),
      60,
    ),
    other("settlement of one", () => post(bench, settlementPath, settlementOf(collections.pop()))),
  ];
}

export const settlementPath = `/delivery/cod-collections/remit`;

export const settlementOf = (id: string | undefined) => ({
  scope: "selected",
  cod_collection_ids: [id],
});

/** Ids of cash that waits to be settled. */
export async function waiting({ bench }: Ground, count: number): Promise<string[]> {
  const rows = await bench.stack.sql`select id from money.cod_collections
    where tenant_id = ${bench.tenantId} and status = 'collected' and currency = 'IQD'
      and driver_id in (select id from bench.drivers) limit ${count}`;
  return rows.map((row) => row.id);
}

/** Ids of deliveries that nobody carries yet, newest first. */
export async function unassigned({ bench }: Ground, count: number): Promise<string[]> {
  const rows = await bench.stack.sql`select id from delivery.deliveries
    where tenant_id = ${bench.tenantId} and status = 'pending' and delivery_flow = 'standard' and barcode like 'BENCH5%'
    order by created_at desc limit ${count}`;
  return rows.map((row) => row.id);
}

/** Ids of items that were received and have no order, in batches of 20. */
export async function itemBatches({ bench }: Ground, count: number): Promise<string[][]> {
  const batches: string[][] = [];
  for (let i = 0; i < count; i++) batches.push(await newItems(bench, 20));
  return batches;
}

async function cashDriver({ bench }: Ground): Promise<string> {
  const [row] = await bench.stack.sql`select id from bench.drivers where n = 7`;
  return row!.id;
}

/** The time of the delivery in the middle of all. */
async function middleOf({ bench }: Ground): Promise<string> {
  const [row] = await bench.stack
    .sql`select percentile_disc(0.5) within group (order by updated_at) as at
    from delivery.deliveries where tenant_id = ${bench.tenantId} and barcode like 'BENCH%'`;
  return (row!.at as Date).toISOString();
}

async function cursorAfter({ bench }: Ground, since: string): Promise<string> {
  const { stack, token } = bench;
  const response = await fetch(`${stack.apiUrl}/delivery/deliveries?updated_since=${since}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { next_cursor } = await response.json() as { next_cursor?: string };
  if (!next_cursor) throw new Error("changes since a time came without a cursor");
  return next_cursor;
}

async function versioned(ground: Ground): Promise<{ url: string; etag: string }> {
  const [id] = await unassigned(ground, 1);
  const { stack, token } = ground.bench;
  const url = `${stack.apiUrl}/delivery/deliveries/${id}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  const etag = response.headers.get("etag");
  if (!etag) throw new Error(`${response.status} without an entity tag`);
  return { url, etag };
}

async function unchanged({ bench: { token } }: Ground, url: string, etag: string): Promise<void> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, "if-none-match": etag },
  });
  await response.arrayBuffer();
  if (response.status !== 304) throw new Error(`${response.status} instead of 304`);
}
