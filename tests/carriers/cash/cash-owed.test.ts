/** The debts of carriers: their list, and the proof that rows, payments and ledger agree. */
import { beforeAll, describe, expect, test } from "vitest";
import { carried, newSide, payCarried as pay, type Side } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { expectGuarded } from "../../support/promises.ts";

const list = "/carriers/tenant/simulated/collections";
const proof = "/delivery/cod-reconciliation";

let other: Side;
beforeAll(async () => {
  other = await newSide();
  await carried(other, 1_000);
});

/** How many events the night's check adds for a tenant. */
async function toldAtNight(tenant: { id: string }): Promise<number> {
  const [{ added }] = await sql`select money.cod_reconcile_all(${tenant.id}) as added`;
  return added;
}

describe("the list", () => {
  let mine: Side;
  let parcels: Awaited<ReturnType<typeof carried>>;
  beforeAll(async () => {
    mine = await newSide();
    parcels = await carried(mine, 1_000, 2_000, 3_000);
    await pay(mine.tenant.admin, 3_000, { reference: "July", delivery_ids: [parcels[0].id] });
  });
  const ask = (query: Record<string, string | number> = {}, who = mine.tenant.staff) =>
    who.get(list, { query });
  const codesOf = async (query: Record<string, string | number>) =>
    (await ask(query)).body.data.map((row: { delivery_code: number }) => row.delivery_code);

  test("has the newest first, with what is owed in each currency", async () => {
    const { body } = await ask();
    expect(body).toMatchObject({
      pagination: { page: 1, limit: 20, total: 3, total_pages: 1 },
      summary: { owed: [{ currency: "IQD", amount: 9_000, collections: 2 }] },
    });
    expect(body.data.map(({ delivery_id }: { delivery_id: string }) => delivery_id)).toEqual(
      [parcels[2].id, parcels[1].id, parcels[0].id],
    );
    expect(body.data[2]).toMatchObject({
      id: parcels[0].collection,
      carrier_code: "simulated",
      tracking_number: parcels[0].tracking_number,
      amount: 3_000,
      cod_amount: 1_000,
      delivery_fee_amount: 2_000,
      currency: "IQD",
      status: "remitted",
      remitted_at: expect.any(String),
      remittance_reference: "July",
    });
  });

  test("is narrowed, sorted and paged; the sum of what is owed ignores the status", async () => {
    const [a, b, c] = parcels.map(({ code }) => code);
    expect(await codesOf({ status: "owed" })).toEqual([c, b]);
    const remitted = (await ask({ status: "remitted" })).body;
    expect(remitted.pagination.total).toBe(1);
    expect(remitted.summary.owed).toEqual([{ currency: "IQD", amount: 9_000, collections: 2 }]);
    expect((await ask({ currency: "USD" })).body).toMatchObject({
      pagination: { total: 0 },
      summary: { owed: [] },
    });
    expect(await codesOf({ delivery_id: parcels[1].id })).toEqual([b]);
    expect((await ask({ delivery_id: parcels[1].id })).body.summary.owed).toMatchObject([{
      amount: 4_000,
    }]);
    const where = (filters: object) => ({ column_filters: JSON.stringify(filters) });
    expect(await codesOf(where({ amount: { min: 4_000 } }))).toEqual([c, b]);
    expect(await codesOf(where({ remittance_reference: "jul" }))).toEqual([a]);
    expect(await codesOf(where({ status: "owed", delivery_code: c }))).toEqual([c]);
    expect(await codesOf({ sort_by: "amount", sort_order: "asc" })).toEqual([a, b, c]);
    expect(await codesOf({ limit: 2, page: 2 })).toEqual([a]);
    expect(await codesOf({ from_date: "2001-01-01", to_date: "2001-12-31" })).toEqual([]);
    expect(await ask({ status: "lost" })).toFailWith(400, "validation_failed");
    expect(await ask({ sort_by: "tenant_id" })).toFailWith(400, "validation_failed");
    expect(await ask(where({ amount: "much" }))).toFailWith(400, "invalid_column_filters");
  });

  test("comes as a file as well", async () => {
    const file = await ask({ format: "csv", status: "owed" });
    expect(file.status).toBe(200);
    const lines = new TextDecoder().decode(file.body as unknown as Uint8Array).trim().split("\r\n");
    expect(lines).toHaveLength(3);
    expect(lines[1]).toContain(parcels[2].tracking_number);
  });

  test("is of one carrier and one tenant, for its staff", async () => {
    expect(
      (await mine.tenant.admin.get("/carriers/tenant/easypost/collections")).body.pagination.total,
    )
      .toBe(0);
    // Nobody asks for another carrier's beside the path.
    expect((await ask({ carrier_code: "easypost" })).body.pagination.total).toBe(3);
    const theirs = (await ask({ limit: 100 }, other.tenant.admin)).body.data;
    const ids = parcels.map(({ collection }) => collection);
    expect(theirs.filter(({ id }: { id: string }) => ids.includes(id))).toEqual([]);
    const { driver, customer, institution } = mine.tenant;
    await expectGuarded({ method: "GET", path: list }, { denied: [driver, customer, institution] });
  });
});

describe("the reconciliation", () => {
  test("says of each carrier what it collected, owes and paid, beside the drivers", async () => {
    const mine = await newSide();
    const [one] = await carried(mine, 1_000, 2_000);
    const before = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await pay(mine.tenant.admin, 3_000, { delivery_ids: [one.id] });
    const { body } = await mine.tenant.admin.get(proof);
    expect(body).toMatchObject({ reconciled: true, differences: [], drivers: [], totals: [] });
    expect(body.carriers).toEqual([{
      carrier_code: "simulated",
      carrier_name: "Simulated carrier",
      currency: "IQD",
      collected: 7_000,
      remitted: 3_000,
      owed: 4_000,
      ledger: 4_000,
      written_off: 0,
      charges: 0,
    }]);
    const then = (await mine.tenant.admin.get(proof, { query: { as_of: before } })).body;
    expect(then.reconciled).toBe(true);
    expect(then.carriers).toMatchObject([{ collected: 7_000, remitted: 0, owed: 7_000 }]);
  });

  test.each<[string, string, (ids: { id: string; collection: string; open: string }) => unknown]>([
    [
      "an owed amount that was changed",
      "carrier_cash",
      ({ open }) =>
        sql`update money.carrier_collections set amount = amount - 100, cod_amount = cod_amount - 100 where id = ${open}`,
    ],
    [
      "an amount that is not what the carrier was told",
      "carrier_collection",
      ({ open }) =>
        sql`update integration.carrier_shipments set cash_due = cash_due + 1
          where id = (select shipment_id from money.carrier_collections where id = ${open})`,
    ],
    [
      "a parcel that was delivered and its cash never booked",
      "carrier_collection",
      ({ open }) => sql`delete from money.carrier_collections where id = ${open}`,
    ],
    [
      "a row that the books do not know",
      "carrier_collection_journal",
      ({ open }) =>
        sql`update money.carrier_collections set amount = amount - 1, cod_amount = cod_amount - 1 where id = ${open}`,
    ],
    [
      "a paid row that was opened again",
      "carrier_remittance_rows",
      ({ collection }) =>
        sql`update money.carrier_collections set status = 'owed', remitted_at = null, remittance_id = null where id = ${collection}`,
    ],
    [
      "a row that was closed without a payment of its amount",
      "carrier_remittance_rows",
      ({ collection, open }) =>
        sql`update money.carrier_collections c set status = 'remitted', remitted_at = p.remitted_at, remittance_id = p.remittance_id
          from money.carrier_collections p where p.id = ${collection} and c.id = ${open}`,
    ],
    [
      "a COD payment that was taken away",
      "cod_credit",
      ({ id }) =>
        sql`update money.payments set status = 'FAILED' where delivery_id = ${id} and type = 'COD_COLLECTION'`,
    ],
    [
      "a carrier's balance that was changed",
      "ledger",
      ({ id }) =>
        sql`update money.accounts a set balance = balance + 1 from delivery.deliveries d
          where d.id = ${id} and a.tenant_id = d.tenant_id and a.kind = 'carrier_cash'`,
    ],
  ])("names %s, and the night's check tells of it", async (_what, kind, harm) => {
    const mine = await newSide();
    const [one, two] = await carried(mine, 1_000, 2_000);
    await pay(mine.tenant.admin, 3_000, { delivery_ids: [one.id] });
    await harm({ id: one.id, collection: one.collection, open: two.collection });
    const { body } = await mine.tenant.admin.get(proof);
    expect(body.reconciled).toBe(false);
    const named = body.differences.filter((found: { kind: string }) => found.kind === kind);
    expect(named).not.toEqual([]);
    if (kind !== "cod_credit") {
      expect(named[0]).toMatchObject({ carrier_code: "simulated", driver_id: null });
    }
    expect(await toldAtNight(mine.tenant)).toBe(1);
    if (kind === "ledger") {
      // The books of all tenants are looked at elsewhere.
      await sql`update money.accounts set balance = balance - 1 where tenant_id = ${mine.tenant.id} and kind = 'carrier_cash'`;
    }
  });

  test("a payment's journal that is missing is named", async () => {
    const mine = await newSide();
    const [one] = await carried(mine, 1_000);
    await pay(mine.tenant.admin, 3_000, { delivery_ids: [one.id] });
    // Entered beside the calls, for money that never moved.
    await sql`insert into money.carrier_remittances (tenant_id, carrier_code, currency, amount, cod_amount, delivery_fee_amount,
        collections, reference, actor_id)
      values (${mine.tenant.id}, 'simulated', 'IQD', 500, 500, 0, 1, 'invented', ${mine.tenant.admin.id})`;
    const { body } = await mine.tenant.admin.get(proof);
    expect(body.differences.map(({ kind }: { kind: string }) => kind)).toEqual([
      "carrier_remittance_journal",
      "carrier_remittance_rows",
      // Nor has the till what it says.
      "desk_cash",
    ]);
  });
});
