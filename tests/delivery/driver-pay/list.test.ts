/** The list of drivers' pay: for the office, for each driver their own, with sums, as a page and as a file. */
import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import type { Ground } from "../../support/deliveries.ts";
import {
  brought,
  newPayer,
  payOut,
  payPath,
  perDelivery,
  setRule,
} from "../../support/driver-pay.ts";
import type { Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";

let ground: Ground;
let tenant: Tenant;
let payout: string;

// The driver 100 paid in March, 200 and 300 due; the second driver 400 due.
beforeAll(async () => {
  ground = await newPayer(perDelivery(100));
  tenant = ground.tenant;
  const old = await brought(ground);
  await sql`update money.driver_pay set accrued_at = '2026-03-05 20:30+00' where delivery_id = ${old}`;
  const paid = await payOut(tenant.admin, { driver_id: tenant.driver.id, method: "wallet" });
  payout = paid.body.data.payout.id;
  for (const [amount, driver] of [[200, "driver"], [300, "driver"], [400, "driver2"]] as const) {
    await setRule(tenant, perDelivery(amount));
    await brought(ground, tenant[driver]);
  }
});

async function read(person: Person, query: Record<string, string> = {}) {
  const answer = await person.get(payPath, { query });
  expect(answer).toSucceed(200);
  const { data, summary, pagination } = answer.body;
  expect(pagination.total).toBe(data.length);
  return { amounts: data.map(({ amount }: { amount: number }) => amount), summary };
}

test("shows the office everything, newest first, with sums of what is due and what was paid", async () => {
  for (const person of [tenant.admin, tenant.ops, tenant.dispatcher]) {
    expect(await read(person)).toEqual({
      amounts: [400, 300, 200, 100],
      summary: { accrued: 900, paid: 100 },
    });
  }
});

test("is read page by page, in the order asked for", async () => {
  const page = async (query: Record<string, string>) => {
    const { body } = await tenant.ops.get(payPath, { query: { limit: "3", ...query } });
    return body.data.map(({ amount }: { amount: number }) => amount);
  };
  expect(await page({ page: "2" })).toEqual([100]);
  for (const sort_by of ["accrued_at", "amount"]) {
    expect(await page({ sort_by, sort_order: "asc" })).toEqual([100, 200, 300]);
  }
  expect((await page({ sort_by: "paid_at" }))[0]).toBe(100);
  expect(await tenant.ops.get(payPath, { query: { sort_by: "tenant_id" } })).toFailWith(
    400,
    "validation_failed",
  );
});

test("is narrowed by driver, status, payout, currency and day; the status narrows no sum", async () => {
  const { driver, driver2 } = tenant;
  const mine = { accrued: 500, paid: 100 };
  expect(await read(tenant.ops, { driver_id: driver.id })).toEqual({
    amounts: [300, 200, 100],
    summary: mine,
  });
  expect(await read(tenant.ops, { driver_id: driver.id, status: "paid" })).toEqual({
    amounts: [100],
    summary: mine,
  });
  expect(await read(tenant.ops, { driver_id: driver2.id })).toEqual({
    amounts: [400],
    summary: { accrued: 400, paid: 0 },
  });
  expect((await read(tenant.ops, { status: "accrued" })).amounts).toEqual([400, 300, 200]);
  expect((await read(tenant.ops, { status: "reversed" })).amounts).toEqual([]);
  expect((await read(tenant.ops, { payout_id: payout })).amounts).toEqual([100]);
  expect(await read(tenant.ops, { currency: "USD" })).toEqual({
    amounts: [],
    summary: { accrued: 0, paid: 0 },
  });
  // A day ends at midnight in Baghdad, three hours earlier than in UTC.
  expect(await read(tenant.ops, { date_to: "2026-03-05" })).toEqual({
    amounts: [100],
    summary: { accrued: 0, paid: 100 },
  });
  expect((await read(tenant.ops, { date_to: "2026-03-04" })).amounts).toEqual([]);
  expect((await read(tenant.ops, { date_from: "2026-03-06" })).amounts).toEqual([400, 300, 200]);
  const drivers = { accrued: 0, paid: 100 };
  expect((await read(driver, { date_to: "2026-03-05" })).summary).toEqual(drivers);
});

test("shows drivers their own pay alone, whatever they ask for", async () => {
  const { driver, driver2 } = tenant;
  const own = { amounts: [300, 200, 100], summary: { accrued: 500, paid: 100 } };
  for (const driver_id of ["", driver2.id, "x", "00000000-0000-0000-0000-000000000000"]) {
    expect(await read(driver, driver_id ? { driver_id } : {})).toEqual(own);
  }
  expect((await read(driver2)).amounts).toEqual([400]);
});

test("is a file of the same rows", async () => {
  const file = await tenant.dispatcher.get(payPath, {
    query: { format: "csv", status: "accrued" },
  });
  expect(file.status).toBe(200);
  const [head, ...lines] = new TextDecoder().decode(file.body).trim().split("\r\n");
  expect(head.replace("\ufeff", "")).toBe(
    "id,driver.id,driver.full_name,delivery.id,delivery.delivery_code,rule.mode,rule.percentage,rule.base_amount," +
      "rule.delivery_fee,amount,currency,status,accrued_at,paid_at,payout_id",
  );
  expect(lines).toHaveLength(3);
  expect(lines[0]).toContain(",per_delivery,,400,2000,400,IQD,accrued,");
});

test("refuses wrong filters and wrong people", async () => {
  for (
    const [field, value, code] of [
      ["status", "due", "validation_failed"],
      ["date_from", "soon", "validation_failed"],
      ["currency", "dinar", "validation_failed"],
      ["driver_id", "x", "invalid_uuid"],
      ["payout_id", "x", "invalid_uuid"],
    ]
  ) {
    const answer = await tenant.ops.get(payPath, { query: { [field]: value } });
    expect(answer, field).toFailWith(400, code);
    expect(answer.body.field).toBe(field);
  }
  await expectGuarded({ method: "GET", path: payPath }, {
    denied: [tenant.warehouse, tenant.staff, tenant.institution, tenant.customer],
  });
  const { tenant: stranger } = await newPayer();
  expect(await stranger.admin.get(payPath, { query: { tenant_id: tenant.id } })).toFailWith(
    403,
    "forbidden",
  );
  expect((await read(stranger.admin, { driver_id: tenant.driver.id })).amounts).toEqual([]);
});
