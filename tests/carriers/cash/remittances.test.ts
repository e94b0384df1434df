/** Remittances of carriers for the cash they collected: all or nothing, once. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { carried, newSide, owedBy, payCarried as pay, type Side } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { bookOf, checkAll } from "../../support/deliveries.ts";
import type { Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import { breachesIn } from "../../support/reconciled.ts";

const path = "/carriers/tenant/simulated/remittances";

let side: Side;
let other: Side;
let tenant: Tenant;
beforeAll(async () => {
  [side, other] = await Promise.all([newSide(), newSide()]);
  tenant = side.tenant;
});
afterAll(async () => {
  await checkAll(side.tenant);
  await checkAll(other.tenant);
  expect(await breachesIn(tenant)).toEqual([]);
});

describe("a payment", () => {
  test("moves what it covers from the carrier to the till, and no wallet", async () => {
    const [one, two] = await carried(side, 7_000, 0);
    const [till, outside, owed] = [
      await bookOf(tenant, "cash_on_hand"),
      await bookOf(tenant, "external"),
      await owedBy(tenant),
    ];
    const wallets = () =>
      sql`select sum(balance) as sum from money.accounts where tenant_id = ${tenant.id} and kind = 'wallet'`;
    const before = await wallets();
    const reference = randomUUID();
    const answer = await pay(tenant.admin, 11_000, {
      carrier_collection_ids: [two.collection, one.collection],
      reference,
      notes: "July",
    });
    expect(answer).toSucceed(201);
    const row = (parcel: typeof one, amount: number, cod_amount: number) => ({
      carrier_collection_id: parcel.collection,
      delivery_id: parcel.id,
      delivery_code: parcel.code,
      amount,
      cod_amount,
      delivery_fee_amount: 2_000,
    });
    expect(answer.body.remittance).toEqual({
      id: expect.any(String),
      carrier_code: "simulated",
      amount: 11_000,
      cod_amount: 7_000,
      delivery_fee_amount: 4_000,
      currency: "IQD",
      reference,
      notes: "July",
      remitted_at: expect.any(String),
      remitted_count: 2,
      entered_by: { id: tenant.admin.id, full_name: expect.any(String) },
      reversed_at: null,
      reversed_by: null,
      reversal_reason: null,
      kind: "payment",
      charges: 0,
      received: 11_000,
      remitted_collections: [row(one, 9_000, 7_000), row(two, 2_000, 0)],
      still_owed: owed - 11_000,
    });
    expect(await owedBy(tenant)).toBe(owed - 11_000);
    expect(await bookOf(tenant, "cash_on_hand") - till).toBe(11_000);
    expect(await bookOf(tenant, "external")).toBe(outside);
    expect(await wallets()).toEqual(before);
    const events = await sql`select event_data from integration.system_events
      where tenant_id = ${tenant.id} and event_type = 'carrier_remittance.created' and entity_id = ${answer.body.remittance.id}`;
    expect(events).toMatchObject([{ event_data: { amount: 11_000, collections: 2, reference } }]);
  });

  test("names parcels, or nothing: then it pays the oldest, each whole", async () => {
    const mine = await newSide();
    const { admin } = mine.tenant;
    const parcels = await carried(mine, 1_000, 2_000, 3_000, 4_000);
    expect(await pay(admin, 5_000, { delivery_ids: [parcels[2].id] })).toSucceed(201);
    const between = await pay(admin, 4_000);
    expect(between).toFailWith(409, "remittance_amount_mismatch");
    expect(between.body).toMatchObject({ field: "amount", expected: 7_000, currency: "IQD" });
    const oldest = await pay(admin, 7_000);
    expect(oldest).toSucceed(201);
    expect(
      oldest.body.remittance.remitted_collections.map((row: { delivery_id: string }) =>
        row.delivery_id
      ),
    ).toEqual([parcels[0].id, parcels[1].id]);
    expect((await pay(admin, 6_000)).body.remittance.still_owed).toBe(0);
    expect(await pay(admin, 1)).toFailWith(400, "no_pending_collections");
    await checkAll(mine.tenant);
  });

  test("is refused, and nothing is written, when it does not fit what is owed", async () => {
    const mine = await newSide();
    const { admin } = mine.tenant;
    const [one, two] = await carried(mine, 1_000, 2_000);
    const theirs = (await carried(other, 1_000))[0];
    const chosen = { carrier_collection_ids: [one.collection, two.collection] };
    const tooMuch = await pay(admin, 7_001, chosen);
    expect(tooMuch).toFailWith(409, "remittance_exceeds_owed");
    expect(tooMuch.body).toMatchObject({ field: "amount", owed: 7_000, currency: "IQD" });
    expect(await pay(admin, 7_001)).toFailWith(409, "remittance_exceeds_owed");
    const tooLittle = await pay(admin, 6_999, chosen);
    expect(tooLittle).toFailWith(409, "remittance_amount_mismatch");
    expect(tooLittle.body.expected).toBe(7_000);
    const foreign = await pay(admin, 7_000, { ...chosen, currency: "USD" });
    expect(foreign).toFailWith(400, "settlement_amount_mismatch");
    expect(foreign.body.currency).toBe("IQD");
    expect(await pay(admin, 7_000, { currency: "USD" })).toFailWith(400, "no_pending_collections");
    expect(await pay(admin, 7_000, { currency: "XXX" })).toFailWith(400, "no_pending_collections");
    expect(await pay(admin, 7_000.5, chosen)).toFailWith(400, "too_many_decimals");
    const none = randomUUID();
    for (
      const [field, ids, invalid] of [
        ["carrier_collection_ids", [one.collection, theirs.collection], theirs.collection],
        ["carrier_collection_ids", [one.collection, none], none],
        ["delivery_ids", [one.id, theirs.id], theirs.id],
        ["delivery_ids", [none], none],
      ] as const
    ) {
      const refused = await pay(admin, 3_000, { [field]: ids });
      expect(refused).toFailWith(400, "cod_collections_not_pending");
      expect(refused.body).toMatchObject({ field, invalid_ids: [invalid] });
    }
    // The rows are the simulated carrier's alone.
    const body = { amount: 3_000, currency: "IQD", reference: randomUUID() };
    for (const carrier of ["easypost", "internal"]) {
      expect(
        await admin.post(`/carriers/tenant/${carrier}/remittances`, {
          ...body,
          carrier_collection_ids: [one.collection],
        }),
      ).toFailWith(400, "cod_collections_not_pending");
    }
    expect(await admin.post("/carriers/tenant/nobody/remittances", body)).toFailWith(
      404,
      "carrier_not_found",
    );
    expect(await owedBy(mine.tenant)).toBe(7_000);
    expect(await sql`select from money.carrier_remittances where tenant_id = ${mine.tenant.id}`)
      .toHaveLength(0);
    const reference = "TRX-1";
    expect(await pay(admin, 3_000, { reference, delivery_ids: [one.id] })).toSucceed(201);
    expect(await pay(admin, 3_000, { delivery_ids: [one.id] })).toFailWith(
      400,
      "cod_collections_not_pending",
    );
    expect(await pay(admin, 4_000, { reference, delivery_ids: [two.id] })).toFailWith(
      409,
      "remittance_reference_exists",
    );
    expect(await owedBy(mine.tenant)).toBe(4_000);
    await checkAll(mine.tenant);
  });

  test("is validated before it is looked up, and is for administrators", async () => {
    const body = { amount: 1_000, currency: "IQD", reference: "R" };
    await expectGuarded({ method: "POST", path, body }, {
      denied: [tenant.ops, tenant.staff, tenant.dispatcher, tenant.driver, tenant.customer],
    });
    const [id] = [randomUUID()];
    await expectRefused(tenant.admin, { method: "POST", path, body }, [
      [{ ...body, amount: 0 }, "amount"],
      [{ ...body, amount: -1 }, "amount"],
      [{ ...body, amount: "1000" }, "amount"],
      [{ ...body, amount: 1.2345 }, "amount"],
      [{ ...body, currency: "dinar" }, "currency"],
      [{ ...body, reference: " " }, "reference"],
      [{ amount: 1, currency: "IQD" }, "reference"],
      [{ ...body, delivery_ids: [] }, "delivery_ids"],
      [{ ...body, delivery_ids: [id, id.toUpperCase()] }, "delivery_ids"],
      [{ ...body, delivery_ids: [id], carrier_collection_ids: [id] }, "delivery_ids"],
      [{ ...body, carrier_collection_ids: ["x"] }, "carrier_collection_ids.0", "invalid_uuid"],
    ]);
    expect(
      await other.tenant.admin.post(path, body, { query: { tenant_id: tenant.id } }),
    ).toFailWith(403, "forbidden");
  });

  test("a repetition returns the first answer; a changed one is a conflict", async () => {
    const [one, two] = await carried(side, 100, 200);
    const body = {
      amount: 4_300,
      currency: "IQD",
      reference: randomUUID(),
      delivery_ids: [one.id, two.id],
    };
    const owed = await owedBy(tenant);
    await expectReplayed(tenant.admin, path, body, { ...body, notes: "another" });
    expect(await owedBy(tenant)).toBe(owed - 4_300);
    // Ids in another order mean the same.
    const headers = { "idempotency-key": randomUUID() };
    const [three] = await carried(side, 300);
    const first = await pay(
      tenant.admin,
      2_300,
      { reference: "same", delivery_ids: [three.id] },
      headers,
    );
    expect(first).toSucceed(201);
    const again = await pay(tenant.admin, 2_300, {
      reference: "same",
      delivery_ids: [three.id.toUpperCase()],
      notes: null,
    }, headers);
    expect(again.body).toEqual(first.body);
  });

  test("of the same rows, made by many at once, happens once", async () => {
    const mine = await newSide();
    const { admin } = mine.tenant;
    const parcels = await carried(mine, 1_000, 2_000, 3_000);
    const ids = parcels.map(({ collection }) => collection);
    const answers = await Promise.all([
      ...Array.from({ length: 15 }, () => pay(admin, 12_000, { carrier_collection_ids: ids })),
      ...Array.from(
        { length: 15 },
        () => pay(admin, 12_000, { delivery_ids: parcels.map(({ id }) => id).reverse() }),
      ),
      ...Array.from({ length: 10 }, () => pay(admin, 12_000)),
    ]);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(["cod_collections_not_pending", "no_pending_collections"]).toContain(answer.body.code);
    }
    expect(await owedBy(mine.tenant)).toBe(0);
    expect(await bookOf(mine.tenant, "cash_on_hand")).toBe(12_000);
    // Each with rows of its own beside the others', and reports that come in meanwhile.
    const more = await carried(mine, 1_000, 1_000, 1_000, 1_000);
    const [mixed, late] = await Promise.all([
      Promise.all(more.map(({ id }) => pay(admin, 3_000, { delivery_ids: [id] }))),
      carried(mine, 5_000, 5_000),
    ]);
    for (const answer of mixed) expect(answer).toSucceed(201);
    expect(late).toHaveLength(2);
    expect(await owedBy(mine.tenant)).toBe(14_000);
    await checkAll(mine.tenant);
  });

  test("under one key sent by many at once is one payment with equal answers", async () => {
    const [one] = await carried(side, 500);
    const headers = { "idempotency-key": randomUUID() };
    const body = { reference: randomUUID(), delivery_ids: [one.id] };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => pay(tenant.admin, 2_500, body, headers)),
    );
    for (const answer of answers) {
      expect(answer).toSucceed(201);
      expect(answer.body).toEqual(answers[0].body);
    }
  });
});

test("a carrier's account cannot be paid below nothing, and a parcel's cash is taken once", async () => {
  const [one] = await carried(side, 1_000);
  await expect(
    sql`update money.accounts set balance = -1 where tenant_id = ${tenant.id} and kind = 'carrier_cash'`,
  ).rejects.toThrow("insufficient_wallet_balance");
  await expect(
    sql`insert into money.carrier_collections (tenant_id, carrier_code, delivery_id, shipment_id, amount, cod_amount,
        delivery_fee_amount, currency, delivery_code)
      select tenant_id, carrier_code, delivery_id, shipment_id, amount, cod_amount, delivery_fee_amount, currency, delivery_code
      from money.carrier_collections where id = ${one.collection}`,
  ).rejects.toThrow("carrier_cash_taken_once");
});
