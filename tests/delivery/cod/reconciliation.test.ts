/** Cash on the desk, and the proof that none is missing. */
import { beforeAll, describe, expect, test } from "vitest";
import { cashDifferences, newCash } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { fundWallet } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/cod-reconciliation";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

describe("reconciliation", () => {
  test("says of the tenant and of each driver what was collected and where it is, now and then", async () => {
    const tenant = await newTenant();
    await fundWallet(tenant, "driver", tenant.driver.id, 10_000);
    const [one, two] = [await newCash(tenant), await newCash(tenant)];
    await newCash(tenant);
    await newCash(tenant, { driver: tenant.driver2.id, cod: 0, fee: 500 });
    const before = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await tenant.dispatcher.post("/delivery/cod-collections/remit", {
      scope: "selected",
      cod_collection_ids: [one.id],
    });
    await tenant.driver.post("/delivery/cod-collections/settle-by-wallet", {
      scope: "selected",
      cod_collection_ids: [two.id],
    });
    const answer = await tenant.admin.get(path);
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({ reconciled: true, differences: [] });
    expect(answer.body.totals).toEqual([
      {
        currency: "IQD",
        collected: 4250,
        in_hand: 1750,
        remitted: 1250,
        settled_by_wallet: 1250,
        ledger: 1750,
      },
    ]);
    expect(
      answer.body.drivers.find(({ driver_id }: { driver_id: string }) =>
        driver_id === tenant.driver.id
      ),
    ).toMatchObject({
      collected: 3750,
      in_hand: 1250,
      ledger: 1250,
    });
    const then = await tenant.admin.get(path, { query: { as_of: before } });
    expect(then.body).toMatchObject({
      reconciled: true,
      totals: [{ collected: 4250, in_hand: 4250, remitted: 0, ledger: 4250 }],
    });
    const file = await tenant.dispatcher.get(`${path}/export`);
    expect(new TextDecoder().decode(file.body)).toContain(`${tenant.driver.id},`);
  });

  test.each([
    [
      "an amount that was changed",
      "collection_journal",
      (id: string) =>
        sql`update money.cod_collections set amount = amount - 100, cod_amount = cod_amount - 100 where id = ${id}`,
    ],
    [
      "a settled row that was opened again",
      "settled_row",
      (id: string) =>
        sql`update money.cod_collections set status = 'collected', remitted_at = null, settlement_payment_id = null where id = ${id}`,
    ],
    [
      "a row given to another driver",
      "driver_cash",
      (id: string, tenant: Tenant) =>
        sql`update money.cod_collections set driver_id = ${tenant.driver2.id} where id = ${id}`,
    ],
    [
      "a payment that was taken away",
      "cod_credit",
      (_id: string, tenant: Tenant) =>
        sql`update money.payments set status = 'FAILED' where tenant_id = ${tenant.id} and type = 'COD_COLLECTION'`,
    ],
    [
      "a balance that was changed",
      "ledger",
      (_id: string, tenant: Tenant) =>
        sql`update money.accounts set balance = balance + 1 where tenant_id = ${tenant.id} and kind = 'cash_on_hand'`,
    ],
  ])("names %s", async (_what, kind, harm) => {
    const tenant = await newTenant();
    const { id } = await newCash(tenant);
    await newCash(tenant);
    const open = kind === "driver_cash" || kind === "collection_journal";
    if (!open) {
      await tenant.dispatcher.post("/delivery/cod-collections/remit", {
        scope: "selected",
        cod_collection_ids: [id],
      });
    }
    expect(await cashDifferences(tenant)).toEqual([]);
    await harm(id, tenant);
    const { body } = await tenant.admin.get(path);
    expect(body.reconciled).toBe(false);
    const named = body.differences.filter((one: { kind: string }) => one.kind === kind);
    expect(named).not.toEqual([]);
    if (kind !== "ledger") {
      expect(named.flatMap(({ rows }: { rows: string[] }) => rows)).toContain(id);
    }
    await sql`select money.cod_reconcile_all(${tenant.id})`;
    const events =
      await sql`select event_data from integration.system_events where tenant_id = ${tenant.id} and event_type = 'cod.mismatch'`;
    expect(events).toHaveLength(1);
    // The books of all tenants are looked at elsewhere.
    if (kind === "ledger") {
      await sql`update money.accounts set balance = balance - 1 where tenant_id = ${tenant.id} and kind = 'cash_on_hand'`;
    }
  });

  test("is for the office, of its own tenant", async () => {
    expect(await a.driver.get(path)).toFailWith(403, "forbidden");
    expect(await a.ops.get(path)).toFailWith(403, "forbidden");
    expect(await b.admin.get(path, { query: { tenant_id: a.id } })).toFailWith(403, "forbidden");
    expect(await a.admin.get(path, { query: { as_of: "soon" } })).toFailWith(
      400,
      "validation_failed",
    );
  });
});
