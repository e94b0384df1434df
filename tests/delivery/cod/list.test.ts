/** Finding collected cash: filters, order, sums, the driver's summary, and the file. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { cashToFind, type Found } from "../../support/cash-to-find.ts";
import { newCash } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const path = "/delivery/cod-collections";
type Query = Record<string, string | number | boolean | object | undefined>;

let a: Tenant;
let b: Tenant;
let cash: Found[];

beforeAll(async () => {
  ({ a, b, cash } = await cashToFind());
});

async function list(query: Query = {}, person: Person = a.dispatcher) {
  const answer = await person.get(path, { query });
  expect(answer).toSucceed(200);
  const { collections, ...rest } = answer.body.cod;
  return {
    ...rest,
    found: collections.map(({ id }: { id: string }) => cash.findIndex((one) => one.id === id)),
    collections,
  };
}
const found = async (query: Query, person?: Person) => (await list(query, person)).found;
const columns = (column_filters: object) => found({ column_filters });

test("a row has everything it is documented with, newest first, with exact sums", async () => {
  const answer = await list();
  expect(answer.found).toEqual([3, 2, 1, 0]);
  expect(answer.pagination).toEqual({ page: 1, limit: 20, total: 4 });
  expect(answer.summary).toEqual({
    total_collected: 1100 + 300 + 4400,
    total_remitted: 2200,
    total_settled_by_wallet: 0,
    total_pending: 5800,
    total_cod_collections: 4,
  });
  expect(answer.collections[3]).toEqual({
    id: cash[0].id,
    delivery_id: cash[0].delivery,
    driver_id: a.driver.id,
    amount: 1100,
    currency: "IQD",
    allocations: { cod: 1000, delivery_fee: 100 },
    cod_amount: 1000,
    delivery_fee_amount: 100,
    collection_stage: "dropoff",
    status: "collected",
    collected_at: expect.stringMatching(/^2026-03-09T21:30:00/),
    remitted_at: null,
    settled_at: null,
    delivery_code: cash[0].code,
    leg_codes: [],
    receiver_name: "",
    delivery_details: {
      delivery_number: String(cash[0].code),
      customer_name: "Ahmad 100%",
      delivery_address: "Street 1",
      receiver_name: "",
    },
    driver_info: {
      full_name: expect.stringContaining("driver"),
      email: expect.stringContaining("@"),
      avatar: null,
    },
    remitted_to_user_id: null,
    settlement_payment_id: null,
    external_reference_id: "EXT-1",
    held: false,
    released_at: answer.collections[3].collected_at,
  });
});

describe("filters", () => {
  test("each direct parameter finds its rows", async () => {
    expect(await found({ status: "remitted" })).toEqual([1]);
    expect(await found({ driver_id: a.driver2.id })).toEqual([3]);
    expect(await found({ delivery_id: cash[2].delivery })).toEqual([2]);
    expect(await found({ delivery_code: cash[2].code })).toEqual([2]);
    expect(await found({ amount_min: 1100, amount_max: 2200 })).toEqual([1, 0]);
    expect(await found({ cod_amount_max: 0 })).toEqual([2]);
    expect(await found({ delivery_fee_amount_min: 300 })).toEqual([3, 2]);
    expect(await found({ collected_at_from: "2026-03-10", collected_at_to: "2026-03-11" })).toEqual(
      [1, 0],
    );
    expect(await found({ from_date: "2026-03-12", to_date: "2026-03-12" })).toEqual([2]);
    // An instant stands for its whole day.
    expect(await found({ collected_at_from: "2026-03-12T20:00:00Z" })).toEqual([3, 2]);
    expect(await found({ remitted_at_from: "2026-03-12" })).toEqual([1]);
    expect(await found({ settled_at_from: "2000-01-01" })).toEqual([]);
  });

  test("each column filter finds its rows", async () => {
    expect(await columns({ customer_name: "ahmad" })).toEqual([0]);
    expect(await columns({ driver_name: a.driver2.id.slice(0, 4) })).toContain(3);
    expect(await columns({ delivery_address: "karrada" })).toEqual([1]);
    expect(await columns({ external_reference_id: "ext" })).toEqual([0]);
    expect(await columns({ status: "collected" })).toEqual([3, 2, 0]);
    expect(await columns({ delivery_code: cash[0].code })).toEqual([0]);
    expect(await columns({ amount: { min: 1000, max: 2200 } })).toEqual([1, 0]);
    expect(await columns({ cod_amount: 4000 })).toEqual([3]);
    expect(await columns({ delivery_fee_amount: { max: 100 } })).toEqual([0]);
    expect(await columns({ collected_at: { from: "2026-03-12" } })).toEqual([3, 2]);
    expect(await columns({ remitted_at: { from: "2000-01-01" } })).toEqual([1]);
    expect(await columns({ settled_at: { to: "2100-01-01" } })).toEqual([]);
    expect(await columns({ unknown: 1 })).toEqual([3, 2, 1, 0]);
  });

  test("a column filter wins over the direct parameters of its field, and only of its field", async () => {
    expect(await found({ status: "remitted", column_filters: { status: "collected" } })).toEqual([
      3,
      2,
      0,
    ]);
    expect(await found({ amount_min: 4000, column_filters: { amount: { max: 400 } } })).toEqual([
      2,
    ]);
    expect(
      await found({
        from_date: "2026-03-13",
        column_filters: { collected_at: { to: "2026-03-10" } },
      }),
    ).toEqual([0]);
    expect(await found({ amount_min: 4000, column_filters: { status: "collected" } })).toEqual([3]);
  });

  test("search looks at code, customer, address and driver, and takes signs as they are", async () => {
    expect(await found({ search: "AHMAD" })).toEqual([0]);
    expect(await found({ search: "100%" })).toEqual([0]);
    expect(await found({ search: "%" })).toEqual([0]);
    expect(await found({ search: "سارة" })).toEqual([2]);
    expect(await found({ search: "karrada 5" })).toEqual([1]);
    expect(await found({ search: String(cash[2].code) })).toEqual([2]);
    const [{ email }] = await sql`select email from tenancy.profiles where id = ${a.driver2.id}`;
    expect(await found({ search: email.toUpperCase() })).toEqual([3]);
    // The index is asked for the last six digits of a number, the rest is looked at besides.
    const code = String(cash[2].code);
    const another = `${(Number(code[0]) % 9) + 1}${code.slice(1)}`.padStart(7, "9");
    expect(await found({ search: another })).toEqual([]);
    expect(await found({ search: "  " })).toEqual([3, 2, 1, 0]);
    expect(await found({ search: "nobody at all" })).toEqual([]);
  });

  test("sums follow every filter but the status", async () => {
    const { summary } = await list({ status: "remitted", search: "a" });
    expect(summary.total_cod_collections).toBeGreaterThan(1);
    const one = (await list({ status: "remitted", cod_amount_max: 1000 })).summary;
    expect(one).toMatchObject({
      total_collected: 1400,
      total_remitted: 0,
      total_cod_collections: 2,
    });
    const byDriver = (await list({ status: "remitted", driver_id: a.driver2.id })).summary;
    expect(byDriver).toMatchObject({
      total_collected: 4400,
      total_pending: 4400,
      total_cod_collections: 1,
    });
  });

  test.each([
    [{ status: "paid" }, "validation_failed"],
    [{ driver_id: "x" }, "invalid_uuid"],
    [{ amount_min: "many" }, "validation_failed"],
    [{ collected_at_from: "yesterday" }, "validation_failed"],
    [{ sort_by: "tenant_id" }, "validation_failed"],
    [{ column_filters: "{" }, "invalid_column_filters"],
    [{ column_filters: { amount: "much" } }, "invalid_column_filters"],
  ])("%j is refused", async (query, code) => {
    expect(await a.dispatcher.get(path, { query: query as Query })).toFailWith(400, code);
  });
});

test.each([
  ["delivery_code", [0, 1, 2, 3]],
  ["amount", [2, 0, 1, 3]],
  ["customer_name", [3, 0, 1, 2]],
  ["collected_at", [0, 1, 2, 3]],
])("sorts by %s", async (sort_by, order) => {
  expect(await found({ sort_by, sort_order: "asc" })).toEqual(order);
});

test("pages: ten of a hundred at most, and numbers that make no sense are the default", async () => {
  expect((await list({ limit: 1, page: 2 })).found).toEqual([2]);
  expect((await list({ limit: 1000 })).pagination.limit).toBe(100);
  expect((await list({ page: 0, limit: -1 })).pagination).toEqual({ page: 1, limit: 20, total: 4 });
});

describe("who sees what", () => {
  test("drivers see their own whatever they ask for, and their own sums", async () => {
    const mine = await list({ driver_id: a.driver.id }, a.driver2);
    expect(mine.found).toEqual([3]);
    expect(mine.summary).toMatchObject({ total_collected: 4400, total_cod_collections: 1 });
    expect((await list({}, a.driver)).pagination.total).toBe(3);
    expect(await found({ search: "bashar" }, a.driver2)).toEqual([]);
  });

  test("other roles, other tenants and callers without a token see nothing", async () => {
    for (const person of [a.ops, a.warehouse, a.staff, a.institution, a.customer]) {
      expect(await person.get(path)).toFailWith(403, "forbidden");
      expect(await person.get("/delivery/cod-summary")).toFailWith(403, "forbidden");
      expect(await person.get(`${path}/export`)).toFailWith(403, "forbidden");
    }
    expect(await nobody.get(path)).toFailWith(401, "unauthorized");
    expect((await b.admin.get(path, { query: { driver_id: a.driver.id } })).body.cod.collections)
      .toEqual([]);
    expect(await b.admin.get(path, { query: { tenant_id: a.id } })).toFailWith(403, "forbidden");
  });
});

describe("summary", () => {
  test("says what is still held, by whom, since when, and who holds too much", async () => {
    const all = await a.admin.get("/delivery/cod-summary");
    expect(all.body.summary).toEqual({
      total_unremitted: 5800,
      pending_collections_count: 3,
      oldest_unremitted_date: expect.stringMatching(/^2026-03-09T21:30:00/),
      currency: "IQD",
      cash_ceiling: null,
      over_ceiling: [],
    });
    const one = await a.dispatcher.get("/delivery/cod-summary", {
      query: { driver_id: a.driver.id },
    });
    expect(one.body.summary).toMatchObject({
      total_unremitted: 1400,
      pending_collections_count: 2,
    });
    const own = await a.driver2.get("/delivery/cod-summary", { query: { driver_id: a.driver.id } });
    expect(own.body.summary).toMatchObject({
      total_unremitted: 4400,
      pending_collections_count: 1,
    });
    expect(await a.admin.get("/delivery/cod-summary", { query: { driver_id: b.driver.id } }))
      .toFailWith(404, "driver_not_found");
    await saveSettings(a.id, "delivery.cod", { cash_ceiling: 2000 });
    const warned = (await a.admin.get("/delivery/cod-summary")).body.summary;
    expect(warned.over_ceiling).toEqual([{
      driver_id: a.driver2.id,
      full_name: expect.any(String),
      amount: 4400,
    }]);
    expect((await a.driver.get("/delivery/cod-summary")).body.summary.over_ceiling).toEqual([]);
  });
});

describe("the file", () => {
  const fetchFile = (query: Query = {}, person: Person = a.dispatcher) =>
    person.get(`${path}/export`, { query });
  const textOf = (body: Uint8Array) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);

  test("has the filters of the list, a byte order mark, and no formula", async () => {
    const answer = await fetchFile({ driver_id: a.driver2.id });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(answer.headers.get("content-disposition")).toContain("cod-collections.csv");
    const text = textOf(answer.body);
    expect(text.startsWith("\ufeff")).toBe(true);
    const lines = text.replace("\ufeff", "").split("\r\n");
    expect(lines[0]).toContain("delivery_code,external_reference_id,customer_name");
    expect(lines[1]).toContain(",'=cmd(),");
    expect(lines).toHaveLength(3);
  });

  test("is complete at more rows than a batch has", async () => {
    const tenant = await newTenant();
    const { id } = await newCash(tenant);
    await sql.begin(async (tx) => {
      // Their triggers change nothing that is asked here, and would take ten times as long as the rows.
      await tx`set local session_replication_role = replica`;
      await tx`with made as (
        insert into delivery.deliveries select r.*
        from delivery.deliveries d, money.cod_collections c, generate_series(1, 4500) n,
          lateral jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(), 'delivery_code', 900000000 + n, 'barcode', 'CSV-' || n)) r
        where c.id = ${id} and d.id = c.delivery_id
        returning id, delivery_code)
      insert into money.cod_collections (tenant_id, delivery_id, driver_id, collection_stage, amount, cod_amount, delivery_fee_amount,
        currency, delivery_code, delivery_number)
      select c.tenant_id, m.id, c.driver_id, 'pickup', 1, 0, 1, 'IQD', m.delivery_code, m.delivery_code::text
      from made m, money.cod_collections c where c.id = ${id}`;
    });
    const text = textOf((await fetchFile({}, tenant.admin)).body);
    const codes = text.trim().split("\r\n").slice(1).map((line) => line.split(",")[0]);
    expect(codes).toHaveLength(4501);
    expect(new Set(codes).size).toBe(4501);
  });

  test("refuses a wrong filter before it begins", async () => {
    expect(await fetchFile({ status: "paid" })).toFailWith(400, "validation_failed");
  });
});
