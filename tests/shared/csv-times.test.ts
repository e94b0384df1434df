/** Times of CSV files on the company's clock, for people who open them in a spreadsheet. */
import { parse } from "csv-parse/sync";
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer, Person } from "../support/api.ts";
import { newCash } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { newTenant, type Tenant } from "../support/people.ts";

const path = "/delivery/cod-collections";
const local = { format: "csv", times: "local" };

/** Moments around the hour that clocks in Berlin show twice, the newest first, and what those clocks show. */
const moments = [
  ["2026-12-01T23:59:59.999+00:00", "2026-12-02 00:59:59"],
  ["2026-10-25T02:30:00+00:00", "2026-10-25 03:30:00"],
  ["2026-10-25T01:30:00.123+00:00", "2026-10-25 02:30:00"],
  ["2026-10-25T00:30:00.123+00:00", "2026-10-25 02:30:00"],
  ["2026-07-01T12:00:00+00:00", "2026-07-01 14:00:00"],
  ["2026-03-29T01:00:00+00:00", "2026-03-29 03:00:00"],
  ["2026-03-29T00:59:59+00:00", "2026-03-29 01:59:59"],
] as const;

let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant({ settings: { "general.timezone": { name: "Europe/Berlin" } } });
  for (const [at] of moments) await cashAt(tenant, at);
});

const cashAt = async (of: Tenant, at: string): Promise<string> =>
  (await newCash(of, { cod: 900, fee: 100, collectedAt: at })).id;

const rowsOf = ({ status, body }: Answer): Record<string, string>[] => {
  expect(status, JSON.stringify(body)).toBe(200);
  return parse(new TextDecoder().decode(body as Uint8Array), { columns: true, bom: true });
};

const file = async (by: Person, query: Record<string, string>, of = path) =>
  rowsOf(await by.get(of, { query }));

const column = (rows: Record<string, string>[], name: string) => rows.map((row) => row[name]);

test("say the instant in UTC unless it is asked otherwise", async () => {
  const plain = await file(tenant.dispatcher, { format: "csv" });
  expect(column(plain, "collected_at")).toEqual(moments.map(([at]) => at));
  expect(await file(tenant.dispatcher, { format: "csv", times: "utc" })).toEqual(plain);
  expect(await file(tenant.dispatcher, { format: "csv", times: "" })).toEqual(plain);
});

test("are what the company's clock shows, and an hour that comes twice is written twice", async () => {
  const rows = await file(tenant.dispatcher, local);
  expect(column(rows, "collected_at")).toEqual(moments.map(([, clock]) => clock));
  expect(new Set(column(rows, "remitted_at"))).toEqual(new Set([""]));
});

test("leave the headings and all other columns as they are", async () => {
  const [plain, rows] = await Promise.all([
    file(tenant.dispatcher, { format: "csv" }),
    file(tenant.dispatcher, local),
  ]);
  expect(Object.keys(rows[0]!)).toEqual(Object.keys(plain[0]!));
  const times = Object.keys(plain[0]!).filter((name) => name.endsWith("_at"));
  const others = (all: typeof rows) =>
    all.map((row) => Object.entries(row).filter(([name]) => !times.includes(name)));
  expect(others(rows)).toEqual(others(plain));
});

test("are the same in what always is a file, asked for with or without its format", async () => {
  const of = `${path}/export`;
  for (const query of [{ times: "local" }, local]) {
    expect(column(await file(tenant.dispatcher, query, of), "collected_at"))
      .toEqual(moments.map(([, clock]) => clock));
  }
  expect(column(await file(tenant.dispatcher, {}, of), "collected_at"))
    .toEqual(moments.map(([at]) => at));
});

test("have the same digits in every language", async () => {
  for (const language of ["ar", "ku"]) {
    const rows = await file(tenant.dispatcher, { ...local, language });
    expect(column(rows, "collected_at")).toEqual(moments.map(([, clock]) => clock));
  }
});

test("come in the columns that are asked for", async () => {
  const rows = await file(tenant.dispatcher, { ...local, fields: "collected_at,amount" });
  expect(Object.keys(rows[0]!)).toEqual(["id", "amount", "collected_at"]);
  expect(rows[0]).toMatchObject({ amount: "1000", collected_at: moments[0][1] });
});

test("change nothing of an answer that is no file", async () => {
  const query = { times: "local", limit: "100" };
  const plain = await tenant.dispatcher.get(path, { query: { limit: "100" } });
  expect((await tenant.dispatcher.get(path, { query })).body.cod).toEqual(plain.body.cod);
});

test("are refused in a way that is none, also where it would change nothing", async () => {
  for (const query of [{ format: "csv", times: "Berlin" }, { times: "LOCAL" }]) {
    const refused = await tenant.dispatcher.get(path, { query });
    expect(refused).toFailWith(400, "validation_failed");
    expect(refused.body.field).toBe("times");
    expect(refused.body.message).toContain("utc, local");
  }
});

test("are in UTC where the company has no time zone", async () => {
  const other = await newTenant();
  await cashAt(other, "2026-07-01T12:00:00.5+00:00");
  expect(column(await file(other.dispatcher, local), "collected_at"))
    .toEqual(["2026-07-01 12:00:00"]);
});

test("are those of the company for its drivers as well, and none for a stranger", async () => {
  const other = await newTenant({ settings: { "general.timezone": { name: "Asia/Baghdad" } } });
  await cashAt(other, "2026-07-01T12:00:00+00:00");
  expect(column(await file(other.driver, local), "collected_at")).toEqual(["2026-07-01 15:00:00"]);
  expect(await other.customer.get(path, { query: local })).toFailWith(403, "forbidden");
  const outside = await other.dispatcher.get(path, { query: { ...local, tenant_id: tenant.id } });
  expect(outside).toFailWith(403, "forbidden");
});

test("are so in every row of a file that is read in many steps", async () => {
  const other = await newTenant({ settings: { "general.timezone": { name: "Asia/Baghdad" } } });
  const id = await cashAt(other, "2026-07-01T00:00:00+00:00");
  const rows = 4_500;
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`insert into money.cod_collections (tenant_id, delivery_id, driver_id, collection_stage, amount, cod_amount, delivery_fee_amount,
        currency, delivery_code, delivery_number, collected_at, status)
      select c.tenant_id, gen_random_uuid(), c.driver_id, c.collection_stage, c.amount, c.cod_amount, c.delivery_fee_amount, c.currency,
        700000000 + n, (700000000 + n)::text, c.collected_at + n * interval '1 minute', c.status
      from money.cod_collections c, generate_series(1, ${rows - 1}::int) n where c.id = ${id}`;
  });
  const found = column(await file(other.dispatcher, local), "collected_at");
  const begin = Date.parse("2026-07-01T03:00:00Z");
  const expected = Array.from(
    { length: rows },
    (_, n) => new Date(begin + n * 60_000).toISOString().slice(0, 19).replace("T", " "),
  );
  expect(found).toEqual(expected.reverse());
});

describe("reports", () => {
  const reports = [
    "/delivery/revenue?format=csv&group_by=day",
    "/delivery/driver-performance?format=csv",
    "/delivery/cod-reconciliation/export?part=desks",
  ];

  test.each(reports)("%s has no times, and is the same file", async (url) => {
    const plain = await tenant.admin.get(url);
    expect(plain.status).toBe(200);
    const asked = await tenant.admin.get(`${url}&times=local`);
    expect(asked.body).toEqual(plain.body);
    expect(await tenant.admin.get(`${url}&times=here`)).toFailWith(400, "validation_failed");
  });
});
