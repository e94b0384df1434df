/** `fields=`: every list and detail with no more than what is asked for, whatever the function. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Rows, rowsOf } from "../../shared/api/fields.ts";
import { listOf } from "../../shared/api/list-declaration.ts";
import type { Answer, Person } from "../support/api.ts";
import { settled } from "../support/changes.ts";
import { sql } from "../support/db.ts";
import { addEverything, type Everything } from "../support/everything.ts";
import { tries } from "../prove/proof.ts";
import { newSystemAdmin, newTenant } from "../support/people.ts";
import { offerTracking, tokenOf } from "../support/tracking.ts";
import { type Operation, operations } from "./functions.ts";
import { sampleOf, urlOf } from "./requests.ts";

const reads = operations.filter(({ endpoint }) =>
  endpoint.method === "get" && typeof endpoint.response !== "string"
);
const narrowed = reads.flatMap((operation) => {
  const rows = rowsOf(operation.endpoint);
  return rows ? [[operation.name, operation, rows] as const] : [];
});

/** Neither lists nor one row: reports, and answers of several things. */
const whole = [
  "GET /delivery/price",
  "GET /delivery/cod-summary",
  "GET /delivery/cod-reconciliation",
  "GET /delivery/cod-settlements/:settlement_payment_id/receipt",
  "GET /delivery/wallets/me",
  "GET /delivery/revenue",
  "GET /delivery/driver-performance/detail",
  "GET /warehousing/stock-reconciliation",
  "GET /warehousing/dashboard",
  "GET /warehousing/package-scan/:delivery_barcode",
  "GET /storefront/market",
  "GET /tenants/me",
  "GET /tenants/me/api-key",
  "GET /tenants/:tenantId/settings",
  "GET /system/settings",
];

/** Lists and details without a row here; they are read all the same. */
const empty = [
  "GET /delivery/merchant-statements/verify",
  "GET /delivery/assignments/open",
  "GET /tenants/me/invitations",
];

let all: Everything;
let system: Person;
let domain: string;
let token: string;
let event: string;
beforeAll(async () => {
  system = await newSystemAdmin();
  const settings = { "general.driver": { driver_can_self_assign: true } };
  all = await addEverything(await newTenant({ settings }), "received");
  const { id } = all.tenant;
  await sql`update storefront.markets set status = 'approved', is_live = true where tenant_id = ${id}`;
  [{ domain }] =
    await sql`select custom_domain as domain from storefront.custom_domains where tenant_id = ${id}`;
  await offerTracking({ service: all.things.service });
  token = await tokenOf(all.tenant.ops, all.things.delivery);
  [{ event }] =
    await sql`select id as event from integration.system_events where tenant_id = ${id} limit 1`;
});

test("every list and detail takes fields; reports do not", () => {
  expect(reads.filter(({ endpoint }) => !rowsOf(endpoint)).map(({ name }) => name).sort())
    .toEqual([...whole].sort());
  expect(reads.filter(({ endpoint }) => listOf(endpoint.query) && !rowsOf(endpoint))).toEqual([]);
});

/** Where to read what a tenant's ids do not say. */
function pathOf(operation: Operation): string {
  if (operation.name === "GET /storefront/public/markets") {
    return `${operation.path}?domain=${domain}`;
  }
  if (operation.name === "GET /delivery/public/tracking/:token") {
    return `/delivery/public/tracking/${token}`;
  }
  // The newest of all tenants are those of other tests.
  if (operation.name === "GET /system/events") {
    return `${operation.path}?tenant_id=${all.tenant.id}`;
  }
  if (operation.name === "GET /system/events/:event_id") return `/system/events/${event}`;
  return urlOf(operation, sampleOf(operation, all.things));
}

/** A caller who may read it, and what they read. Undefined where there is nothing of the kind. */
async function read(operation: Operation): Promise<[Person, string] | undefined> {
  const url = pathOf(operation);
  const { tenant } = all;
  const people = [tenant.admin, tenant.ops, tenant.driver, tenant.institution, tenant.customer];
  for (const person of [...people, system]) {
    if ((await person.get(url)).status === 200) return [person, url];
  }
}

/** The rows of an answer, or the one row. */
function rowsIn(answer: Answer, { path }: Rows): Record<string, unknown>[] {
  const found = path.reduce<unknown>(
    (value, key) => (value as Record<string, unknown> | null)?.[key],
    answer.body,
  );
  return (Array.isArray(found) ? found : found ? [found] : []) as Record<string, unknown>[];
}

/** Without the moment of the answer. */
const withoutClock = ({ as_of: _, ...row }: Record<string, unknown>) => row;

/** Each field is in one of so many calls. */
const groups = tries(4, 2);

describe.each(narrowed)("%s", (_, operation, rows) => {
  test("answers what is asked for, with the values of the whole", async () => {
    const found = await read(operation);
    if (!found) throw new Error(`nobody reads ${operation.name}`);
    const [person, url] = found;
    // A platform's list has rows of other tests, which come and change meanwhile: there ours alone are compared.
    const ask = async (more: Record<string, string>) => {
      const limit: Record<string, string> = person === system ? { limit: "100" } : {};
      const answer = await person.get(url, { query: { ...limit, ...more } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return rowsIn(answer, rows);
    };
    const wanted = (await ask({})).filter((row) =>
      person !== system || JSON.stringify(row).includes(all.tenant.id)
    );
    expect(wanted.length > 0).toBe(!empty.includes(operation.name));
    const keys = new Set(wanted.map((row) => row[rows.key ?? ""]));
    const names = Object.keys(rows.shape);
    for (let group = 0; group < groups; group++) {
      const fields = names.filter((_, i) => i % groups === group);
      if (!fields.length) continue;
      const part = await ask({ fields: fields.join(",") });
      const expected = wanted.map((row) =>
        Object.fromEntries(
          Object.entries(row).filter(([name]) => fields.includes(name) || name === rows.key),
        )
      );
      const ours = part.filter((row) => keys.has(row[rows.key ?? ""]));
      expect(ours.map(withoutClock)).toEqual(expected.map(withoutClock));
    }
  });
});

describe("of deliveries", () => {
  const path = "/delivery/deliveries";
  const ask = (query: Record<string, string>, url = path) => all.tenant.ops.get(url, { query });

  test("unknown names are named as ignored, and the key is always there", async () => {
    const answer = await ask({ fields: "status, nothing,also_nothing" });
    expect(answer).toSucceed(200);
    expect(answer.body.ignored).toEqual(["nothing", "also_nothing"]);
    for (const row of answer.body.data as object[]) {
      expect(Object.keys(row)).toEqual(["id", "status"]);
    }
    const none = await ask({ fields: "nothing" });
    for (const row of none.body.data as object[]) expect(Object.keys(row)).toEqual(["id"]);
    expect(none.body.pagination).toEqual(answer.body.pagination);
  });

  test("more names than any answer has are refused", async () => {
    const answer = await ask({ fields: "status,".repeat(400) });
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe("fields");
  });

  test("a file has the columns that are asked for", async () => {
    const { body } = await ask({ fields: "delivery_code,pickup_address", format: "csv" });
    const [headings] = new TextDecoder().decode(body as unknown as Uint8Array).split("\r\n");
    const columns = headings.split(",");
    expect(columns[0]).toBe("id");
    expect(columns).toContain("delivery_code");
    expect(columns.every((name) => /^(id|delivery_code|pickup_address(\..+)?)$/.test(name))).toBe(
      true,
    );
  });

  test("what changed is followed with them", async () => {
    await settled(all.tenant.id, ["delivery.deliveries"]);
    const first = await ask({ fields: "status", updated_since: "2020-01-01", limit: "1" });
    expect(Object.keys((first.body.data as object[])[0])).toEqual(["id", "status"]);
    const next = await ask({ fields: "status", cursor: first.body.next_cursor as string });
    expect(next).toSucceed(200);
    expect(next.body.data).not.toEqual(first.body.data);
  });

  test("a detail's ETag names the whole row: a change with it goes through", async () => {
    const url = `${path}/${all.things.delivery}`;
    const part = await ask({ fields: "notes" }, url);
    const whole = await ask({}, url);
    const tag = part.headers.get("etag")!;
    expect(tag.split(".")[0]).toBe(whole.headers.get("etag")!.split(".")[0]);
    expect(tag).not.toBe(whole.headers.get("etag"));
    const again = (query: Record<string, string>) =>
      all.tenant.ops.get(url, { query, headers: { "if-none-match": tag } });
    expect((await again({ fields: "notes" })).status).toBe(304);
    expect((await again({ fields: "status" })).status).toBe(200);
    const headers = { "if-match": tag };
    expect(await all.tenant.ops.patch(url, { notes: "Third floor" }, { headers })).toSucceed(200);
    expect(await all.tenant.ops.patch(url, { notes: "Fourth" }, { headers }))
      .toFailWith(412, "version_conflict");
  });

  test("an endpoint without rows ignores it as any parameter", async () => {
    const answer = await all.tenant.ops.get("/tenants/me", { query: { fields: "user" } });
    expect(answer.body.ignored).toEqual(["fields"]);
    expect(answer.body.memberships).toBeDefined();
  });
});
