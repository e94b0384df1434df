/** The fees that a company earned, and their direct costs: each as the ledger has it, by day, month and merchant. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { carried, payCarried } from "../../support/carriers.ts";
import { key } from "../../support/cash-desks.ts";
import { newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { assign, moves, newDelivery } from "../../support/deliveries.ts";
import { mixture, ok } from "../../support/desk-mixture.ts";
import { brought, newPayer, perDelivery, setRule } from "../../support/driver-pay.ts";
import { fundWallet } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";

const path = "/delivery/revenue";
const nothing = {
  currency: "IQD",
  delivery_fees: 0,
  refunds: 0,
  driver_pay: 0,
  carrier_charges: 0,
  write_offs: 0,
  shortages: 0,
  net: 0,
};

const report = async (by: Person, query: Record<string, string> = {}): Promise<Body> => {
  const answer = await by.get(path, { query });
  expect(answer, JSON.stringify(query)).toSucceed(200);
  return answer.body;
};

/** Cash that was declared, counted as this much less, remitted, and resolved so: before the remittance when it is early. */
async function short(
  tenant: Tenant,
  less: number,
  resolution: string,
  early = false,
): Promise<void> {
  const { id } = await newCash(tenant, { cod: 0, fee: 1_000 });
  const counted = { driver_id: tenant.driver.id, amount: 1_000, counted_amount: 1_000 - less };
  const handover = ok(await tenant.dispatcher.post("/delivery/cod-collections/handover", counted));
  const call = `/delivery/cod-collections/handovers/${handover.id}/resolve`;
  const steps = [
    () => tenant.dispatcher.post(remit, selected(id)),
    () => tenant.dispatcher.post(call, { resolution }),
  ];
  for (const step of early ? steps.reverse() : steps) ok(await step());
}

/** The sum of a tenant's accounts of a kind, without the company's own wallet. */
const sumOf = async (tenant: Tenant, kind: string): Promise<number> =>
  Number(
    (await sql`select coalesce(sum(balance), 0) as sum from money.accounts
      where tenant_id = ${tenant.id} and kind = ${kind} and not (kind = 'wallet' and owner_type = 'tenant')`)[
      0
    ].sum,
  );

/** Cash that desks gave to the bank and for expenses, less what came from it, and was not reversed. */
const banked = async (tenant: Tenant): Promise<number> =>
  Number(
    (await sql`select coalesce(sum(case when kind = 'bank_withdrawal' then -amount else amount end), 0) as sum
      from money.cash_transfers where tenant_id = ${tenant.id} and reversed_at is null
        and kind in ('bank_deposit', 'bank_withdrawal', 'expense')`)[0].sum,
  );

describe("revenue", () => {
  test("is fees of wallets and in cash, by day, month and merchant, without the COD", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    await fundWallet(tenant, "institution", tenant.institution.id, 10_000);
    // A cash fee of 2,000 with COD, and one that a wallet pays; a driver earns 500 with the first.
    await brought(ground, tenant.driver, { cod_amount: 7_000 });
    const paid = { payment_method: "wallet", payer_type: "sender" };
    const whose = { customer_id: undefined, institution_user_id: tenant.institution.id };
    await newDelivery(ground, { ...paid, ...whose });
    const earned = { ...nothing, delivery_fees: 4_000, driver_pay: 500, net: 3_500 };
    const body = await report(tenant.ops);
    expect(body).toMatchObject({ rows: [], totals: [earned], timezone: expect.any(String) });
    const { date_to } = body;
    expect(await report(tenant.ops, { group_by: "day" })).toMatchObject({
      date_from: `${date_to.slice(0, 7)}-01`,
      rows: [{ ...earned, period: date_to, merchant: null }],
      totals: [earned],
    });
    expect((await report(tenant.admin, { group_by: "month" })).rows).toEqual([
      { ...earned, period: date_to.slice(0, 7), merchant: null },
    ]);
    const { rows, totals } = await report(tenant.admin, { group_by: "merchant" });
    const customer = { id: tenant.customer.id, full_name: expect.any(String) };
    const institution = { id: tenant.institution.id, full_name: expect.any(String) };
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(expect.arrayContaining([
      {
        ...nothing,
        period: null,
        merchant: customer,
        delivery_fees: 2_000,
        driver_pay: 500,
        net: 1_500,
      },
      { ...nothing, period: null, merchant: institution, delivery_fees: 2_000, net: 2_000 },
    ]));
    expect(totals).toEqual([earned]);
    const file = await tenant.admin.get(path, { query: { group_by: "merchant", format: "csv" } });
    const lines = new TextDecoder().decode(file.body).trim().split("\r\n");
    expect(lines[0]).toContain("merchant_id,merchant_name,currency,delivery_fees");
    expect(lines).toHaveLength(3);
    const summed = await tenant.admin.get(path, { query: { format: "csv" } });
    expect(new TextDecoder().decode(summed.body)).toContain("IQD,4000,0,500,0,0,0,3500");
    const others: Record<string, string>[] = [{ date_to: "2020-01-31" }, { currency: "USD" }];
    for (const query of others) {
      expect(await report(tenant.ops, { ...query, group_by: "day" }))
        .toMatchObject({ rows: [], totals: [] });
    }
  });

  test(
    "is what the accounts moved, after everything that happens to cash, and its reversals",
    async () => {
      const { side, side: { tenant } } = await mixture();
      await setRule(tenant, perDelivery(500));
      await fundWallet(tenant, "driver", tenant.driver.id, 1_000);
      const funded = 1_000;
      await short(tenant, 300, "written_off");
      await short(tenant, 200, "driver_owes");
      await short(tenant, 40, "written_off", true);
      // The mixture paid 2,000 back at a desk; these go back to the sender's wallet.
      const back = await newDelivery(side.ground, { payer_type: "sender" });
      await assign(tenant, back.id);
      await moves(tenant.driver, back.id, "pickup", "depart", "return");
      await carried(side, 4_000);
      const lost = { kind: "write_off", notes: "Bankrupt" };
      const { body } = await tenant.admin.get("/carriers/tenant/simulated/collections", {
        query: { status: "owed" },
      });
      const owed: Body[] = body.data ?? body.collections;
      const unpaid = owed.find(({ amount }) => amount === 6_000)!;
      const carrier_collection_ids = [unpaid.id];
      const written = await payCarried(
        tenant.admin,
        6_000,
        { ...lost, carrier_collection_ids },
        key().headers,
      );
      expect(written).toSucceed(201);
      const { totals: [sums] } = await report(tenant.admin);
      // The mixture's carrier paid twice and kept 250 of each; one payment was reversed.
      expect(sums).toMatchObject({
        refunds: 4_000,
        carrier_charges: 250,
        write_offs: 6_000,
        shortages: 340,
      });
      expect(sums.driver_pay).toBe(-(await sumOf(tenant, "driver_cost")));
      const holdings = ["cash_on_hand", "driver_cash", "carrier_cash", "driver_shortage"];
      let worth = await banked(tenant) + funded;
      for (const kind of holdings) worth += await sumOf(tenant, kind);
      for (const kind of ["wallet", "driver_payable"]) worth -= await sumOf(tenant, kind);
      expect(sums.net).toBe(worth);
      for (const group_by of ["day", "month", "merchant"]) {
        const { rows, totals } = await report(tenant.ops, { group_by });
        expect(totals).toEqual([sums]);
        for (const name of Object.keys(nothing).filter((one) => one !== "currency")) {
          const sum = rows.reduce((all: number, row: Body) => all + row[name], 0);
          expect(sum, `${name} by ${group_by}`).toBe(sums[name]);
        }
      }
    },
    300_000,
  );
});

describe("the report", () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await newTenant();
  });

  test("is for administrators and operations managers, of their own company", async () => {
    await expectGuarded({ method: "GET", path }, {
      denied: [tenant.dispatcher, tenant.driver, tenant.customer, tenant.institution, tenant.staff],
    });
    const other = await newTenant();
    await newCash(tenant);
    expect((await report(tenant.ops)).totals).toMatchObject([{ delivery_fees: 250, net: 250 }]);
    expect((await report(other.ops)).totals).toEqual([]);
    expect(await other.ops.get(path, { query: { tenant_id: tenant.id } }))
      .toFailWith(403, "forbidden");
  });

  test("refuses days and groups that there are not", async () => {
    for (const query of [{ date_from: "soon" }, { group_by: "year" }, { currency: "x" }]) {
      expect((await tenant.ops.get(path, { query })).status).toBe(400);
    }
  });

  test("has ten years at most, and 400 days where each is a row", async () => {
    const get = (query: Record<string, string>) => tenant.ops.get(path, { query });
    const day = { date_to: "2026-12-31", group_by: "day" };
    expect(await get({ ...day, date_from: "2025-11-27" })).toSucceed(200);
    expect(await get({ ...day, date_from: "2025-11-26", format: "csv" }))
      .toFailWith(400, "validation_failed");
    for (const group_by of ["month", "merchant", ""]) {
      const query = { date_to: "2026-12-31", group_by };
      expect(await get({ ...query, date_from: "2016-12-24" })).toSucceed(200);
      const refused = await get({ ...query, date_from: "2016-12-23" });
      expect(refused).toFailWith(400, "validation_failed");
      expect(refused.body).toMatchObject({
        field: "date_from",
        message: expect.stringContaining("3660"),
      });
    }
    expect(await get({ date_from: "2001-01-01" })).toFailWith(400, "validation_failed");
  });
});
