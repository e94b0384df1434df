/**
 * In which order the files of `sql/` make a database, and which part may call which.
 *
 * A file's place says what it is: `<area>/<feature>/<kind>.sql`. Kinds apply in the order below, over all areas; within
 * one kind the areas in theirs, then by name. Tables come in the order that their foreign keys ask for, views in that in
 * which they read each other. Every other name (`settle.sql`, `reads.sql`, `api.sql`) holds functions, whose bodies PostgreSQL
 * resolves when they run.
 */

/** From the ground up: a function calls its own area and those before it. tests/sql/layers.test.ts holds it. */
export const areas = [
  "base",
  "money",
  "tenants",
  "delivery",
  "warehousing",
  "payment",
  "storefront",
  "carriers",
  "webhooks",
  "system",
] as const;

/**
 * The functions an area offers to those below it by name, because the order of steps and refusals is theirs: a delivery
 * that leaves takes its goods along in the same locks. Everything else that follows from a delivery is heard by a trigger.
 */
export const ports: Record<string, string> = {
  "integration.shipments_end": "a booking whose carrier has brought the parcel back ends when that goes another way",
  "integration.shipments_place_changed": "a carrier that is booked was given the address of before",
  "integration.shipments_withdraw": "a carrier does not come for a parcel that is sent back",
  "money.wallet_refunds_open": "a top-up that a gateway gave back is not paid out of its wallet",
  "storefront.require_order_picked": "a store's parcel leaves when its goods are picked",
  "storefront.lock_receipt_numbers": "the numbers of what it will expect back are locked before wallets",
  "storefront.order_fee_back": "of an order's deliveries one has its fee, also after a late report",
  "storefront.orders_settle": "an order's money is settled when its deliveries have ended",
  "warehousing.stock_reserve": "goods of a delivery are set aside when it is confirmed",
  "warehousing.stock_release": "and offered again when it is cancelled",
  "warehousing.stock_exit": "goods are booked out by the pickup",
  "warehousing.picking_event_emit": "a picking order ends with the delivery it serves",
  "warehousing.waybill_remove_delivery": "a parcel that goes nowhere leaves its waybill",
  "warehousing.transfer_arrives": "a parcel that arrives continues on its next leg",
  "warehousing.transfer_ends": "a transfer without an open leg is over",
  "warehousing.parcel_arrives": "a parcel brought to a warehouse is expected there",
  "warehousing.arrival_withdraw": "and is not, when its arrival is undone",
  "warehousing.receipt_awaits": "a returned leg is on the road while a warehouse expects it",
  "warehousing.receipt_expect": "what comes back is expected where it goes",
  "warehousing.receipt_of": "by the receipt that the answer names",
  "warehousing.receipts_withdraw": "what was expected does not come any more",
  "warehousing.return_shelved": "what goes back from a warehouse is picked there",
  "warehousing.return_unshelved": "and is not, when it does not go back after all",
  "warehousing.return_is_lost": "nor can it, when it was lost",
  "warehousing.parcel_is_missing": "and what was received with nothing in it goes nowhere",
  "warehousing.return_to_pick": "a return takes along what of it is available",
  "warehousing.parcel_lies_in": "and what lies there in another status",
  "warehousing.units_available": "what became available since is picked as well",
  "warehousing.parcel_leaves": "a parcel that is picked up is out of stock",
};

/** The schema in which a file keeps its functions; the folder is finer than the schema where one schema has one wall. */
export function schemaOf(path: string): string[] {
  const [area, feature] = path.split("/");
  if (area === "base") return ["app", "private", "integration", "public"];
  if (area === "tenants") return ["tenancy", "public"];
  // Code that holds or moves money is behind the ledger's own access rule.
  if (area === "payment" || ["charges", "cod", "cash-desks", "carrier-cash", "driver-pay", "cod-holds", "merchant-statements", "merchant-balances", "revenue"].includes(feature)) return ["money"];
  if (area === "system" && feature === "settings") return ["tenancy"];
  if (area === "carriers" || area === "webhooks" || area === "system") return ["integration"];
  return [area];
}

/** The files that every other needs, in this order. */
const ground = ["schemas", "context", "failures", "audit", "guards", "values"].map((name) =>
  `base/${name}.sql`
);

const kinds = ["tables", "references", "functions", "views", "policies", "data"] as const;
type Kind = typeof kinds[number];

/** The files that need all tables and all functions; after everything else. */
const last = ["sizes.sql", "cron.sql"];

/** The paths of `files` (relative to `sql/`, `/` between folders) in the order in which they apply. `read` gives a file's text. */
export function inOrder(files: string[], read: (path: string) => string): string[] {
  const rest = files.filter((path) => !ground.includes(path) && !last.includes(path));
  const byKind = kinds.map((kind) => rest.filter((path) => kindOf(path) === kind).sort(byArea));
  const [tables, references, functions, views, ...others] = byKind;
  return [
    ...ground,
    ...byUse(tables, read, table),
    ...references,
    ...functions,
    ...byUse(views, read, view),
    ...others.flat(),
    ...last,
  ];
}

function kindOf(path: string): Kind {
  const name = path.slice(path.lastIndexOf("/") + 1, -".sql".length);
  return kinds.find((kind) => kind === name) ?? "functions";
}

function byArea(one: string, other: string): number {
  return rankOf(one) - rankOf(other) || (one < other ? -1 : 1);
}

function rankOf(path: string): number {
  const rank = areas.findIndex((area) => path.startsWith(`${area}/`));
  if (rank < 0) throw new Error(`sql/${path} lies in no area: name its area in sql/order.ts or move it.`);
  return rank;
}

/** How a file makes a relation, and how it uses one: a table by a foreign key, a view by reading it. */
const table = { made: /^create (?:unlogged )?table (?:if not exists )?([a-z_.]+)/gm, used: /\breferences ([a-z_]+\.[a-z_]+)/g };
const view = { made: /^create view ([a-z_.]+)/gm, used: /\b(?:from|join) ([a-z_]+\.[a-z_]+)/g };

/** Files each after those that make what it uses. Fails on a circle: of two tables one key then belongs in `references.sql`. */
function byUse(files: string[], read: (path: string) => string, { made, used }: typeof table): string[] {
  const texts = new Map(files.map((path) => [path, read(path)]));
  const home = new Map<string, string>();
  for (const [path, text] of texts) {
    for (const [, name] of text.matchAll(made)) home.set(name, path);
  }
  const ordered: string[] = [];
  const place = (path: string, asking: string[]) => {
    if (ordered.includes(path)) return;
    if (asking.includes(path)) {
      throw new Error(`${[...asking, path].join(" -> ")} use each other: move a key to references.sql, or a view to the other file.`);
    }
    for (const [, name] of texts.get(path)!.matchAll(used)) {
      const needed = home.get(name);
      if (needed && needed !== path) place(needed, [...asking, path]);
    }
    ordered.push(path);
  };
  for (const path of files) place(path, []);
  return ordered;
}
