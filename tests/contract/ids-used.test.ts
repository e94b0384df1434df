/**
 * Naming a thing is using it: what somebody may not read of their own company they cannot name in a write either. Every id field of
 * every write, in path, query and body, is tried with what belongs to another driver, institution, customer or warehouse. What belongs
 * to another company is tried in tenants.test.ts, by all roles and in reads as well.
 */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer, Person } from "../support/api.ts";
import { sql } from "../support/db.ts";
import {
  addEverything,
  type Everything,
  newEverything,
  tenantTables,
  type Things,
} from "../support/everything.ts";
import { newAddress } from "../support/make.ts";
import { newBarcode } from "../support/manifests.ts";
import { newPerson, type Part } from "../support/people.ts";
import { type Operation, operations } from "./functions.ts";
import { bodyOf, headersOf, sampleOf, urlOf, withValue } from "./requests.ts";
import { type Input, kindOf, type Slot, slotsOf } from "./slots.ts";

const roles = ["driver", "institution", "customer", "staff"] as const satisfies Part[];
type Role = typeof roles[number];

type Rows = Map<string, Set<string>>;

/** Records that every member of a tenant may see, so naming one is not a question of ownership. */
const everybodys = [
  // The company itself, what it offers and where it works.
  ...["tenant", "service", "delivery_type", "zone", "tag", "point", "warehouse", "other_warehouse"],
  // The contents of its public store.
  ...["market", "store_name", "category", "product", "variant"],
  // The system's.
  ...["module", "carrier", "payment_method"],
  // Not yet a member's: found by the address of its mail, for every caller (tests/tenants/invitations/answer.test.ts).
  "invitation",
];
/** The records of a single warehouse; its workers see everything else of the tenant. */
const warehouses = [
  ...[
    "warehouse",
    "bin",
    "other_bin",
    "staff",
    "picking_order",
    "receiving_order",
    "sorting_session",
  ],
  ...[
    "sorting_assignment",
    "waybill",
    "discrepancy",
    "inventory_count",
    "inventory_transfer",
    "notification",
  ],
];
const isHidden: Record<Role, (kind: string) => boolean> = {
  // A driver may be sent to any branch.
  driver: (kind) => ![...everybodys, "branch", "branch_code"].includes(kind),
  institution: (kind) => !everybodys.includes(kind),
  customer: (kind) => !everybodys.includes(kind),
  staff: (kind) => warehouses.includes(kind),
};

/** Slots in which a role may name what it cannot read, and why. Shorter is better. */
const allowed: Partial<Record<Role, Record<string, string>>> = {
  institution: {
    "POST /delivery/transfer-manifests body.driver_id":
      "an institution makes a manifest for any driver of the company, as the office does",
  },
};

interface World {
  own: Everything;
  /** The same once more in the same company, of other people and in another warehouse. */
  theirs: Everything;
  /** The rows that are theirs, as text, by table. */
  rows: Rows;
  /** The records that each role needs to order. */
  mine: Record<Role, Things>;
}
const worlds = {} as Record<"draft" | "received", World>;
beforeAll(async () => {
  for (const manifest of ["draft", "received"] as const) {
    worlds[manifest] = await newWorld(manifest);
  }
}, 180_000);

async function newWorld(manifest: "draft" | "received"): Promise<World> {
  const own = await newEverything(manifest);
  const { tenant, things } = own;
  const mine = Object.fromEntries(
    await Promise.all(roles.map(async (role) => [role, await belongings(own, role)])),
  );
  await sql`insert into warehousing.warehouse_staff ${
    sql({ tenant_id: tenant.id, warehouse_id: things.warehouse, user_id: tenant.staff.id })
  }`;
  const before = await rowsOf(tenant.id);
  const theirs = await addEverything({
    ...tenant,
    driver: tenant.driver2,
    driver2: await newPerson(tenant.id, "driver", "driver"),
    institution: tenant.institution2,
    customer: await newPerson(tenant.id, "customer", "customer"),
  }, manifest);
  // Where an order of theirs goes, and nothing else.
  theirs.things.address = await newAddress(tenant, { phone: "+9647800000000" });
  await sql`update delivery.deliveries set dropoff_address_id = ${theirs.things.address}
    where id = ${theirs.things.delivery}`;
  const rows = new Map([...await rowsOf(tenant.id)].map(([table, list]) => [
    table,
    new Set([...list].filter((row) => !before.get(table)!.has(row))),
  ]));
  return { own, theirs, rows, mine };
}

/** The role's pickup and drop-off addresses, and a draft of their own if they make drafts. */
async function belongings({ tenant, things }: Everything, role: Role): Promise<Things> {
  if (role === "staff") return things;
  const at = { full_address: "Home", latitude: 33.3, longitude: 44.4 };
  const made = await tenant[role].post("/delivery/addresses", at);
  expect(made).toSucceed(201);
  const address = made.body.data.id;
  if (role === "driver") return { ...things, address };
  const draft = await tenant[role].post("/delivery/deliveries", {
    delivery_service_id: things.service,
    pickup_address_id: address,
    dropoff_address_id: address,
    payment_method: "cash",
    payer_type: "receiver",
    unit_size: 1,
    status: "draft",
  });
  expect(draft).toSucceed(201);
  return { ...things, address, user: tenant[role].id, draft: draft.body.delivery.id };
}

async function rowsOf(tenant: string): Promise<Rows> {
  const tables = await tenantTables();
  const found: Rows = new Map(tables.map((table) => [table, new Set()]));
  const each = tables.map((table) =>
    `select '${table}' as table, t::text as row from ${table} t where t.tenant_id = $1`
  );
  for (const { table, row } of await sql.unsafe(each.join(" union all "), [tenant])) {
    found.get(table)!.add(row);
  }
  return found;
}

// Operations that remove a record come last, so the record exists for the others.
const writes = operations.filter(({ endpoint }) => endpoint.method !== "get" && !endpoint.internal)
  .sort((a, b) => Number(a.endpoint.method === "delete") - Number(b.endpoint.method === "delete"));
const slots = writes.flatMap((operation) =>
  slotsOf(operation).map((slot) => ({
    operation,
    slot,
    kind: kindOf(slot, operation) as string,
    title: `${operation.name} ${slot.join(".")}`,
  }))
);

/** Whether the endpoint's rule lets the role in; who it turns away has no ids to use (access.test.ts). */
async function grantsOf(tenant: string, role: Role, person: Person): Promise<string[]> {
  const rows = await sql`select r.role_key, p.permission_key from tenancy.tenant_user_roles r
    left join tenancy.role_permissions p on p.role_key = r.role_key
    where r.tenant_id = ${tenant} and r.user_id = ${person.id}`;
  return [
    "anyone",
    `type:${role}`,
    ...rows.flatMap((row) => [`role:${row.role_key}`, `permission:${row.permission_key}`]),
  ];
}

const drafts =
  /^(PATCH|PUT) \/delivery\/deliveries\/:delivery_id$|\/deliveries\/:delivery_id\/submit$/;

/** A request of the role's own that would be taken; `slot` is in it. */
function requestOf(operation: Operation, slot: Slot, world: World, role: Role): Input {
  const { draft, ...things } = world.mine[role];
  if (draft && drafts.test(operation.name)) things.delivery = String(draft);
  const input = sampleOf(operation, things as Things, slot);
  const body = input.body as Record<string, unknown> | undefined;
  if (
    /^POST \/delivery\/deliveries(\/import)?$/.test(operation.name) && slot[1] !== "customer_id"
  ) {
    if (role === "institution") delete body!.customer_id;
  }
  if (operation.name === "POST /storefront/orders/confirm" && slot[1] !== "addressId") {
    body!.addressId = things.address as string;
  }
  return input;
}

function nothingLike(kind: string): string | number {
  if (kind === "barcode") return newBarcode();
  if (kind === "branch_code") return `BR${Math.floor(Math.random() * 1e6)}`;
  if (kind === "delivery_code") return 600_000_000 + Math.floor(Math.random() * 1e8);
  return randomUUID();
}

const shown = ({ status, body }: Answer, named: string | number) =>
  `${status} ${JSON.stringify(body)}`.replaceAll(String(named), "<id>");

/** Refused with a code, or to the letter what an id of nothing is answered: then nobody looked the thing up. */
const isRefused = ({ status }: Answer) => status === 400 || status === 403 || status === 404;

let tried = 0;

describe.each(roles)("a %s", (role) => {
  test("cannot use what belongs to another, and nothing of it changes", async () => {
    const used: string[] = [];
    const before = new Map<World, Rows>();
    for (const world of Object.values(worlds)) {
      before.set(world, await rowsOf(world.own.tenant.id));
    }
    const grants = await grantsOf(
      worlds.received.own.tenant.id,
      role,
      worlds.received.own.tenant[role],
    );
    for (const { operation, slot, kind, title } of slots) {
      if (!isHidden[role](kind) || allowed[role]?.[title]) continue;
      const { access } = operation.endpoint;
      if (!access.publicAccess && !access.any.some((grant) => grants.includes(grant))) continue;
      const world = worlds[/transfer-manifests/.test(operation.name) ? "draft" : "received"];
      const input = requestOf(operation, slot, world, role);
      const named = world.theirs.things[kind];
      const ask = (put: string | number) =>
        send(operation, withValue(input, slot, put), world.own.tenant[role]);
      const answer = await ask(named);
      tried++;
      if (isRefused(answer)) continue;
      const nothing = nothingLike(kind);
      const other = await ask(nothing);
      if (answer.status >= 500 || shown(answer, named) !== shown(other, nothing)) {
        used.push(
          `${title}\n  theirs:  ${shown(answer, named).slice(0, 400)}\n  nothing: ${
            shown(other, nothing).slice(0, 200)
          }`,
        );
      }
    }
    expect(used).toEqual([]);
    for (const world of Object.values(worlds)) {
      expect(await traces(world, role, before.get(world)!)).toEqual([]);
    }
  }, 300_000);
});

test("there was enough to try", () => expect(tried).toBeGreaterThan(100));

/** Rows of theirs that are no longer what they were, and new rows that name something of theirs. */
async function traces({ own, theirs, rows }: World, role: Role, before: Rows): Promise<string[]> {
  const now = await rowsOf(own.tenant.id);
  const hidden = Object.entries(theirs.things)
    .filter(([kind, id]) => isHidden[role](kind) && own.things[kind] !== id)
    .map(([, id]) => String(id)).filter((id) => id.length === 36);
  return [...now].flatMap(([table, list]) => {
    if (table === "app.tallies") return [];
    const known = rows.get(table)!;
    const changed = [...known].filter((row) => !list.has(row)).map((row) =>
      `changed: ${table} ${row}`
    );
    const names = [...list].filter((row) =>
      !before.get(table)!.has(row) && hidden.some((id) => row.includes(id))
    ).map((row) => `names theirs: ${table} ${row}`);
    return [...changed, ...names];
  });
}

/** Asks again where the system says that it is busy, which is about nobody's ids. */
async function send(operation: Operation, input: Input, person: Person): Promise<Answer> {
  for (let attempt = 1;; attempt++) {
    const answer = await person.send(
      operation.endpoint.method.toUpperCase(),
      urlOf(operation, input),
      bodyOf(operation, input),
      { headers: headersOf(operation) },
    );
    if (answer.body?.code !== "service_unavailable" || attempt === 5) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100 * attempt));
  }
}
