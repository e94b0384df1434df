/** Carriers that keep their charges back: their rows are paid in full, the till gets what came, and the charges are a cost of the company. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { carried, newSide, owedBy, payCarried as pay, type Side } from "../../support/carriers.ts";
import { key, transfer } from "../../support/cash-desks.ts";
import { lawless, sound } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { bookOf } from "../../support/deliveries.ts";
import type { Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";

const path = "/carriers/tenant/simulated/remittances";
const proof = "/delivery/cod-reconciliation";
let side: Side;
let other: Side;
let tenant: Tenant;
beforeAll(async () => {
  [side, other] = await Promise.all([newSide(), newSide()]);
  tenant = side.tenant;
});
afterAll(async () => {
  await sound(tenant);
  expect((await tenant.admin.get(proof)).body.differences).toEqual([]);
});

const reverse = (id: string, who = tenant.admin) =>
  who.post(`${path}/${id}/reverse`, { reason: "Entered twice" });
const till = (of = tenant) => bookOf(of, "cash_on_hand");
const bank = (of: Tenant, amount: number) =>
  transfer(of.admin, { from_owner_type: "tenant", amount });
/** The kinds of the journals of a remittance. */
const journals = async (id: string) =>
  (await sql`select kind from money.ledger_transactions where reference_id = ${id} order by kind`)
    .map(({ kind }) => kind);

describe("a payment with charges", () => {
  test("pays its rows in full, brings the till what came, and books the rest as a cost", async () => {
    const [one, two] = await carried(side, 7_000, 0);
    const [before, outside, owed] = [
      await till(),
      await bookOf(tenant, "external"),
      await owedBy(tenant),
    ];
    const wallets = () =>
      sql`select sum(balance) as sum from money.accounts where tenant_id = ${tenant.id} and kind = 'wallet'`;
    const merchants = await wallets();
    const reference = "NET-1";
    const delivery_ids = [one!.id, two!.id];
    const answer = await pay(tenant.admin, 11_000, { charges: 550, delivery_ids, reference });
    expect(answer).toSucceed(201);
    const { id } = answer.body.remittance;
    expect(answer.body.remittance).toMatchObject({
      ...{ amount: 11_000, charges: 550, received: 10_450, cod_amount: 7_000 },
      ...{ remitted_count: 2, still_owed: owed - 11_000 },
      remitted_collections: [{ amount: 9_000 }, { amount: 2_000 }],
    });
    expect(await owedBy(tenant)).toBe(owed - 11_000);
    expect([await till() - before, await bookOf(tenant, "external") - outside])
      .toEqual([10_450, 550]);
    expect(await wallets()).toEqual(merchants);
    expect(await journals(id)).toEqual(["carrier_charge", "carrier_remittance"]);
    const { remittance } = (await tenant.dispatcher.get(`${path}/${id}`)).body;
    const { still_owed: _then, ...entered } = answer.body.remittance;
    expect(remittance).toEqual(entered);
    const { data: [moved] } =
      (await tenant.admin.get("/delivery/cash-desks/movements", { query: { reference_id: id } }))
        .body;
    expect(moved).toMatchObject({ kind: "carrier_remittance", amount: 10_450, reference });
  });

  test("is listed with what was kept and what came, by sums and as a file", async () => {
    const mine = await newSide();
    const { admin, staff } = mine.tenant;
    const parcels = await carried(mine, 1_000, 2_000, 3_000);
    const named = (place: number) => ({ delivery_ids: [parcels[place]!.id] });
    expect(await pay(admin, 3_000, { charges: 100, ...named(0) })).toSucceed(201);
    expect(await pay(admin, 4_000, named(1))).toSucceed(201);
    const lost = await pay(admin, 5_000, { kind: "write_off", notes: "Bankrupt", ...named(2) });
    expect(lost.body.remittance).toMatchObject({ charges: 0, received: 0 });
    const list = async (query = {}) => (await staff.get(path, { query })).body;
    const { data, summary } = await list();
    expect(data.map((row: Record<string, number>) => [row.amount, row.charges, row.received]))
      .toEqual([[5_000, 0, 0], [4_000, 0, 4_000], [3_000, 100, 2_900]]);
    expect(summary).toEqual({
      remitted: [{ currency: "IQD", amount: 7_000, remittances: 2 }],
      written_off: [{ currency: "IQD", amount: 5_000, remittances: 1 }],
      charges: [{ currency: "IQD", amount: 100, remittances: 1 }],
    });
    for (
      const [column_filters, amounts] of [
        [{ charges: { min: 1 } }, [3_000]],
        [{ received: { min: 3_000 } }, [4_000]],
        [{ received: 0 }, [5_000]],
      ] as const
    ) {
      const found = await list({ column_filters });
      expect(found.data.map(({ amount }: { amount: number }) => amount)).toEqual(amounts);
    }
    expect((await list({ kind: "write_off" })).summary.charges).toEqual([]);
    const file = await staff.get(path, { query: { format: "csv" } });
    const [heads, , , last] = new TextDecoder().decode(file.body).trim().split("\r\n");
    expect(heads).toMatch(/,kind,charges,received$/);
    expect(last).toMatch(/,payment,100,2900$/);
    const { carriers, desks } = (await admin.get(proof)).body;
    expect(carriers).toMatchObject([
      { collected: 12_000, remitted: 7_000, charges: 100, written_off: 5_000, owed: 0, ledger: 0 },
    ]);
    expect(desks).toMatchObject([{ owner_type: "tenant", remitted: 6_900, in_hand: 6_900 }]);
    const earned = (await admin.get("/delivery/revenue")).body.totals;
    expect(earned).toMatchObject([{ delivery_fees: 6_000, carrier_charges: 100, net: 900 }]);
    await sound(mine.tenant);
  });

  test("may be all charges: nothing comes, and no till is opened", async () => {
    const mine = await newSide();
    const { admin } = mine.tenant;
    await carried(mine, 1_000);
    const { remittance } = (await pay(admin, 3_000, { charges: 3_000 })).body;
    expect(remittance).toMatchObject({ charges: 3_000, received: 0, still_owed: 0 });
    expect(await journals(remittance.id)).toEqual(["carrier_charge"]);
    const proven = async () => (await admin.get(proof)).body;
    expect(await proven()).toMatchObject({ reconciled: true, desks: [] });
    expect(await reverse(remittance.id, admin)).toSucceed(200);
    expect(await journals(remittance.id)).toEqual(["carrier_charge", "carrier_charge_REVERSAL"]);
    expect(await owedBy(mine.tenant)).toBe(3_000);
    expect(await proven()).toMatchObject({
      reconciled: true,
      carriers: [{ remitted: 0, charges: 0, owed: 3_000 }],
    });
    await sound(mine.tenant);
  });

  test("is reversed with its charges, once, when the till still has what came", async () => {
    const mine = await newSide();
    const { admin } = mine.tenant;
    await carried(mine, 5_000);
    const { remittance } = (await pay(admin, 7_000, { charges: 1_000 })).body;
    const [{ now: between }] = await sql`select clock_timestamp() as now`;
    const { body: { data: deposit } } = await bank(mine.tenant, 1);
    const refused = await reverse(remittance.id, admin);
    expect(refused).toFailWith(409, "insufficient_desk_cash");
    expect(refused.body.held).toBe(5_999);
    const back = `/delivery/cash-desks/transfers/${deposit.id}/reverse`;
    expect(await admin.post(back, { reason: "Typed twice" }, key())).toSucceed(200);
    const answers = await Promise.all([1, 2, 3].map(() => reverse(remittance.id, admin)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const done = answers.find(({ status }) => status === 200)!.body.remittance;
    expect(done).toMatchObject({ charges: 1_000, received: 6_000, still_owed: 7_000 });
    expect(await till(mine.tenant)).toBe(0);
    expect((await admin.get("/delivery/revenue")).body.totals)
      .toMatchObject([{ delivery_fees: 2_000, carrier_charges: 0, net: 2_000 }]);
    expect((await admin.get(path)).body.summary).toMatchObject({ remitted: [], charges: [] });
    const then = await admin.get(proof, { query: { as_of: between.toISOString() } });
    expect(then.body).toMatchObject({ reconciled: true, carriers: [{ charges: 1_000 }] });
    expect(await pay(admin, 7_000, { charges: 700 })).toSucceed(201);
    await sound(mine.tenant);
  });
});

test("the reconciliation names charges that are not in the books", async () => {
  const mine = await newSide();
  const { admin } = mine.tenant;
  await carried(mine, 1_000);
  const { remittance } = (await pay(admin, 3_000)).body;
  await lawless((tx) =>
    tx`update money.carrier_remittances set charges = 500 where id = ${remittance.id}`
  );
  const { reconciled, differences } = (await admin.get(proof)).body;
  expect(reconciled).toBe(false);
  const named = differences.map((
    { kind, expected, found }: Record<string, unknown>,
  ) => [kind, expected, found]);
  expect(named).toHaveLength(3);
  expect(named).toEqual(expect.arrayContaining([
    ["carrier_remittance_journal", -2_500, -3_000],
    ["carrier_remittance_journal", -500, 0],
    ["desk_cash", 2_500, 3_000],
  ]));
});

describe("charges are refused", () => {
  test("above what is paid, in each language, and nothing is written", async () => {
    const [parcel] = await carried(side, 1_000);
    const body = { charges: 3_001, delivery_ids: [parcel!.id] };
    const owed = await owedBy(tenant);
    const refused = await pay(tenant.admin, 3_000, body);
    expect(refused).toFailWith(400, "charges_exceed_remittance");
    expect(refused.body).toMatchObject({ field: "charges", amount: 3_000, currency: "IQD" });
    const messages = await Promise.all(["en", "ar", "ku"].map(async (language) => {
      const reference = randomUUID();
      const asked = { amount: 3_000, currency: "IQD", reference, ...body };
      return (await tenant.admin.post(path, asked, { query: { language } })).body.message;
    }));
    expect(new Set(messages).size).toBe(3);
    expect(await owedBy(tenant)).toBe(owed);
    const finer = await pay(tenant.admin, 3_000, { ...body, charges: 0.5 });
    expect(finer).toFailWith(400, "too_many_decimals");
    expect(finer.body.field).toBe("charges");
    expect(await pay(tenant.admin, 2_900, { ...body, charges: 100 }))
      .toFailWith(409, "remittance_amount_mismatch");
    expect(await pay(tenant.admin, 3_000, { ...body, charges: 3_000 })).toSucceed(201);
  });

  test("where they are no amount, or of a write-off, or by who may not", async () => {
    const body = { amount: 3_000, currency: "IQD", reference: "R", charges: 100 };
    await expectRefused(tenant.admin, { method: "POST", path, body }, [
      [{ ...body, charges: -1 }, "charges"],
      [{ ...body, charges: "100" }, "charges"],
      [{ ...body, charges: 1.2345 }, "charges"],
      [
        { ...body, kind: "write_off", notes: "Bankrupt", delivery_ids: [randomUUID()] },
        "charges",
      ],
    ]);
    await expectGuarded({ method: "POST", path, body }, {
      denied: [tenant.ops, tenant.staff, tenant.dispatcher, tenant.driver, tenant.customer],
    });
    expect((await nobody.post(path, body)).status).toBe(401);
    const [parcel] = await carried(other, 1_000);
    expect(await pay(tenant.admin, 3_000, { charges: 100, delivery_ids: [parcel!.id] }))
      .toFailWith(400, "cod_collections_not_pending");
    expect(await other.tenant.admin.post(path, body, { query: { tenant_id: tenant.id } }))
      .toFailWith(403, "forbidden");
  });

  test("by the database where they are more than the payment, or of a write-off", async () => {
    for (const [kind, charges] of [["payment", 51], ["payment", -1], ["write_off", 1]] as const) {
      const row = { kind, charges, amount: 50, cod_amount: 50, delivery_fee_amount: 0 };
      const more = { currency: "IQD", carrier_code: "simulated", collections: 1 };
      await expect(
        sql`insert into money.carrier_remittances ${
          sql({ tenant_id: tenant.id, reference: randomUUID(), ...row, ...more })
        }`,
      ).rejects.toThrow("charges_are_of_the_payment");
    }
  });
});
