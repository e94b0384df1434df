/** Reads of settlements: the list, one settlement with its rows, and the receipt of a reversed one. */
import { beforeAll, describe, expect, test } from "vitest";
import { renderReceipt } from "../../../functions/delivery/cod/receipt-page.ts";
import { nobody } from "../../support/api.ts";
import { newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { openPdf, scan } from "../../support/pdf.ts";
import { expectGuarded, expectNoSuch, expectPaged } from "../../support/promises.ts";
import { paid, remitted, settlements, takeBack } from "../../support/settlements.ts";

let tenant: Tenant;
let other: Tenant;
let ofOther: string;
/** The newest first: of driver 2, taken back, from a wallet, of two rows. */
const ids: string[] = [];

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ofOther = (await remitted(other)).payment;
  await sql`update tenancy.profiles set full_name = 'Driver Zana' where id = ${tenant.driver.id}`;
  await sql`update tenancy.profiles set full_name = 'Cashier Qasim' where id = ${tenant.dispatcher.id}`;
  const first = await remitted(tenant, { rows: 2, body: { reference: "Slip 1", notes: "Monday" } });
  ids.unshift(first.payment, (await paid(tenant)).payment);
  ids.sort((one) => one === first.payment ? 1 : -1);
  const wrong = await remitted(tenant, { rows: 3, body: { reference: "Slip 2" } });
  expect(await takeBack(tenant.admin, wrong.payment, "Another driver's")).toSucceed(200);
  ids.unshift(wrong.payment);
  const { id } = await newCash(tenant, { driver: tenant.driver2.id, cod: 0, fee: 500 });
  const last = await tenant.admin.post(remit, selected(id));
  expect(last).toSucceed(200);
  ids.unshift(last.body.data.settlement_payment_id);
});

const found = async (query: Record<string, unknown>, person = tenant.admin) => {
  const answer = await person.get(settlements, { query: query as Record<string, string> });
  expect(answer).toSucceed(200);
  return answer.body.data.map(({ settlement_payment_id }: { settlement_payment_id: string }) =>
    settlement_payment_id
  );
};

describe("the list", () => {
  test("shows each with its people and sums, the newest first", async () => {
    const answer = await tenant.dispatcher.get(settlements);
    expect(answer).toSucceed(200);
    expect(
      answer.body.data.map(({ settlement_payment_id }: { settlement_payment_id: string }) =>
        settlement_payment_id
      ),
    ).toEqual(
      ids,
    );
    expect(answer.body.data[1]).toEqual({
      settlement_payment_id: ids[1],
      method: "remit",
      scope: "selected",
      driver: { id: tenant.driver.id, full_name: "Driver Zana" },
      receiver: { id: tenant.dispatcher.id, full_name: "Cashier Qasim" },
      entered_by: { id: tenant.dispatcher.id, full_name: "Cashier Qasim" },
      currency: "IQD",
      total: 3750,
      cod: 3000,
      delivery_fee: 750,
      counted: 3750,
      shortage: null,
      collections: 3,
      reference: "Slip 2",
      notes: null,
      receipt_status: expect.stringMatching(/^(pending|in_process|success)$/),
      settled_at: expect.any(String),
      reversed_at: expect.any(String),
      reversed_by: { id: tenant.admin.id, full_name: expect.any(String) },
      reversal_reason: "Another driver's",
    });
    expect(answer.body.data[2]).toMatchObject({ method: "wallet", receiver: null, total: 1250 });
    expect(answer.body.summary).toEqual({
      settled: [
        { currency: "IQD", method: "remit", amount: 3000, settlements: 2 },
        { currency: "IQD", method: "wallet", amount: 1250, settlements: 1 },
      ],
    });
  });

  test("is found by people, words, way, sum and time", async () => {
    expect(await found({ driver_id: tenant.driver2.id })).toEqual([ids[0]]);
    expect(await found({ receiver_id: tenant.dispatcher.id })).toEqual([ids[1], ids[3]]);
    expect(await found({ receiver_id: other.dispatcher.id })).toEqual([]);
    expect(await found({ method: "wallet" })).toEqual([ids[2]]);
    expect(await found({ reversed: "true" })).toEqual([ids[1]]);
    expect(await found({ reversed: "false" })).toEqual([ids[0], ids[2], ids[3]]);
    expect(await found({ currency: "USD" })).toEqual([]);
    expect(await found({ search: "slip" })).toEqual([ids[1], ids[3]]);
    expect(await found({ search: "monday" })).toEqual([ids[3]]);
    expect(await found({ search: "zana" })).toEqual([ids[1], ids[2], ids[3]]);
    expect(await found({ search: "qasim", sort_by: "total", sort_order: "asc" })).toEqual([
      ids[3],
      ids[1],
    ]);
    expect(await found({ column_filters: JSON.stringify({ total: { min: 1250, max: 2500 } }) }))
      .toEqual([ids[2], ids[3]]);
    expect(await found({ column_filters: JSON.stringify({ receiver_name: "qas", notes: "mon" }) }))
      .toEqual([ids[3]]);
    expect(await found({ date_from: "2999-01-01" })).toEqual([]);
    expect(await found({ date_to: "2999-01-01" })).toEqual(ids);
    const summary = (await tenant.admin.get(settlements, { query: { method: "wallet" } })).body
      .summary;
    expect(summary.settled).toEqual([
      { currency: "IQD", method: "wallet", amount: 1250, settlements: 1 },
    ]);
  });

  test("comes in pages and as a file, and refuses what it does not know", async () => {
    await expectPaged(tenant.admin, settlements, "total", "settlement_payment_id");
    const file = await tenant.admin.get(settlements, { query: { format: "csv" } });
    expect(file.status).toBe(200);
    const lines = new TextDecoder().decode(file.body).trim().split("\r\n");
    expect(lines).toHaveLength(5);
    expect(lines[0]).toContain("settlement_payment_id,method,scope");
    for (
      const [query, code] of [
        [{ driver_id: "me" }, "invalid_uuid"],
        [{ method: "cheque" }, "validation_failed"],
        [{ column_filters: "{" }, "invalid_column_filters"],
      ] as const
    ) {
      expect(await tenant.admin.get(settlements, { query })).toFailWith(400, code);
    }
  });

  test("shows a driver their own, an administrator's key all, and others nothing", async () => {
    expect(await found({}, tenant.driver)).toEqual([ids[1], ids[2], ids[3]]);
    expect(await found({}, tenant.driver2)).toEqual([ids[0]]);
    expect(await found({ driver_id: tenant.driver.id }, tenant.driver2)).toEqual([]);
    expect(await found({}, other.admin)).toEqual([ofOther]);
    await expectGuarded({ method: "GET", path: settlements }, {
      denied: [tenant.customer, tenant.institution, tenant.warehouse, tenant.ops],
    });
  });
});

describe("one settlement", () => {
  const path = (payment: string) => `${settlements}/${payment}`;

  test("has its rows in the order the cash was taken", async () => {
    const answer = await tenant.driver.get(path(ids[3]));
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({ total: 2500, collections: 2, reversed_at: null });
    const rows = await sql`select id, delivery_id, delivery_code from money.cod_collections
      where settlement_payment_id = ${ids[3]} order by collected_at, id`;
    expect(answer.body.data.items).toEqual(rows.map((row) => ({
      cod_collection_id: row.id,
      delivery_id: row.delivery_id,
      delivery_code: Number(row.delivery_code),
      delivery_number: String(row.delivery_code),
      customer_name: "Customer",
      collected_at: expect.any(String),
      amount: 1250,
      allocations: { cod: 1000, delivery_fee: 250 },
    })));
    expect((await tenant.admin.get(path(ids[1]))).body.data.items).toHaveLength(3);
  });

  test("is not there for others", async () => {
    const call = { method: "GET" as const, path: `${settlements}/{id}` };
    const code = "settlement_not_found";
    await expectNoSuch(tenant.admin, call, "settlement_payment_id", code, ofOther);
    expect(await tenant.driver2.get(path(ids[3]))).toFailWith(404, code);
    expect(await tenant.ops.get(path(ids[3]))).toFailWith(403, "forbidden");
    expect(await nobody.get(path(ids[3]))).toFailWith(401, "unauthorized");
  });
});

describe("the receipt of a reversed settlement", () => {
  const receipt = (payment: string) => tenant.admin.get(`${settlements}/${payment}/receipt`);
  const printed = async (payment: string) => {
    for (let i = 0; i < 400; i++) {
      const answer = await receipt(payment);
      if (answer.status !== 202) return answer;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error("the receipt was never printed");
  };
  const textOf = async (url: string) =>
    await (await openPdf(new Uint8Array(await (await fetch(url)).arrayBuffer()))).text(1);

  test("is printed anew and says so, and its code is no longer valid", async () => {
    const { payment } = await remitted(tenant, { by: tenant.dispatcher.in("en") });
    const old = await printed(payment);
    expect(old).toSucceed(200);
    expect(await textOf(old.body.url)).not.toContain("REVERSED");
    const pdf = await openPdf(new Uint8Array(await (await fetch(old.body.url)).arrayBuffer()));
    const hash = new URL((await scan(await pdf.raster(1)))[0]).searchParams.get("hash")!;
    expect(await takeBack(tenant.admin, payment, "Wrong sum")).toSucceed(200);
    const renewed = await printed(payment);
    expect(renewed).toSucceed(200);
    expect(await textOf(renewed.body.url)).toContain("REVERSED on 20");
    const verify = await tenant.driver.get(`${settlements}/${payment}/verify`, { query: { hash } });
    expect(verify.body).toMatchObject({
      valid: false,
      printed: true,
      unchanged: true,
      settlement: { reversed_at: expect.any(String), reversal_reason: "Wrong sum" },
    });
  });

  test("a print that was under way ends no later one", async () => {
    const { payment } = await remitted(tenant);
    expect(await printed(payment)).toSucceed(200);
    await sql`update money.settlement_receipts set status = 'in_process', edition = 2 where payment_id = ${payment}`;
    const [late] = await sql`select money.receipt_finish(${payment}, 1, 'old.pdf', null) as done`;
    expect(late.done).toBe(false);
    const [now] = await sql`select money.receipt_finish(${payment}, 2, 'new.pdf', null) as done`;
    expect(now.done).toBe(true);
    expect(
      await sql`select status, storage_path from money.settlement_receipts where payment_id = ${payment}`,
    ).toEqual([{ status: "success", storage_path: "new.pdf" }]);
  });

  test.each(["ar", "ku"] as const)(
    "in %s it says when",
    async (language) => {
      const page = {
        settlement_payment_id: ids[0],
        language,
        brand: "Barid",
        method: "remit" as const,
        driver: "ڕێبوار",
        receiver: "Naz",
        settled_at: "2026-11-21T11:12:00Z",
        reference: null,
        notes: null,
        historical: false,
        reversed_at: "2026-11-22T08:00:00Z",
        currency: "IQD",
        decimals: 0,
        timezone: "Asia/Baghdad",
        rows: [],
        totals: { count: 0, amount: 0, cod: 0, delivery_fee: 0 },
        verify_url: "https://x.test/verify?hash=0123456789abcdef0123456789abcdef",
      };
      const [marked, plain] = await Promise.all(
        [page, { ...page, reversed_at: null }].map(async (one) =>
          (await openPdf(await renderReceipt(one))).text(1)
        ),
      );
      // In the tenant's time zone; whoever reads a line out of a file orders its numbers as they think right.
      expect(marked).toContain("11:00");
      expect(plain).not.toContain("11:00");
    },
  );
});
