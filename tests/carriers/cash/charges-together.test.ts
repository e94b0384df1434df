/** Payments of carriers that keep their charges: repeated, beside one another and beside what else moves this cash, and by functions of before. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  bookedCash,
  carried,
  newSide,
  owedBy,
  payCarried as pay,
  type Side,
  tell,
} from "../../support/carriers.ts";
import { key, transfer } from "../../support/cash-desks.ts";
import { sound } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { bookOf } from "../../support/deliveries.ts";
import type { Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";

const path = "/carriers/tenant/simulated/remittances";
let side: Side;
let tenant: Tenant;
beforeAll(async () => {
  side = await newSide();
  ({ tenant } = side);
});
afterAll(() => sound(tenant));

const reverse = (id: string, who: Tenant["admin"]) =>
  who.post(`${path}/${id}/reverse`, { reason: "Entered twice" });
const till = () => bookOf(tenant, "cash_on_hand");
const bank = (of: Tenant, amount: number) =>
  transfer(of.admin, { from_owner_type: "tenant", amount });

describe("at one moment", () => {
  test("a repetition returns the first answer; other charges are a conflict, none and nothing are the same", async () => {
    const [one, two] = await carried(side, 100, 200);
    const body = {
      ...{ amount: 2_100, charges: 50, currency: "IQD", reference: randomUUID() },
      delivery_ids: [one!.id],
    };
    await expectReplayed(tenant.admin, path, body, { ...body, charges: 60 });
    const headers = key().headers;
    const plain = { reference: randomUUID(), delivery_ids: [two!.id] };
    const answers = [
      await pay(tenant.admin, 2_200, plain, headers),
      await pay(tenant.admin, 2_200, { ...plain, charges: 0 }, headers),
      await pay(tenant.admin, 2_200, { ...plain, charges: null }, headers),
    ];
    for (const { body } of answers) expect(body).toEqual(answers[0]!.body);
  });

  test("payments of the same rows, each with other charges, happen once, also under one key", async () => {
    for (let round = 0; round < 3; round++) {
      const [parcel, second] = await carried(side, 1_000, 2_000);
      const before = await till();
      const answers = await Promise.all(
        [0, 100, 3_000, 200, 50].map((charges) =>
          pay(tenant.admin, 3_000, { charges, delivery_ids: [parcel!.id] })
        ),
      );
      const done = answers.filter(({ status }) => status === 201);
      expect(done).toHaveLength(1);
      expect(await till() - before).toBe(done[0]!.body.remittance.received);
      const body = { charges: 40, reference: randomUUID(), delivery_ids: [second!.id] };
      const headers = key().headers;
      const same = await Promise.all(
        Array.from({ length: 6 }, () => pay(tenant.admin, 4_000, body, headers)),
      );
      for (const one of same) expect(one.body).toEqual(same[0]!.body);
      expect(same[0]).toSucceed(201);
    }
  });

  test("payments and reversals beside reports and trips to the bank wait for one another, and none for ever", async () => {
    const mine = await newSide();
    const { admin } = mine.tenant;
    await carried(mine, 20_000);
    expect(await pay(admin, 22_000)).toSucceed(201);
    for (let round = 0; round < 4; round++) {
      const parcels = await carried(mine, 1_000, 1_000, 1_000);
      const coming = await Promise.all([1, 2, 3].map(() => bookedCash(mine.ground)));
      const first = await pay(admin, 3_000, { charges: 500, delivery_ids: [parcels[0]!.id] });
      const answers = await Promise.all([
        ...parcels.slice(1).map(({ id }, place) =>
          pay(admin, 3_000, { charges: 250 * (1 + place), delivery_ids: [id] })
        ),
        reverse(first.body.remittance.id, admin),
        ...coming.map((parcel) => tell(mine, parcel, "delivered")),
        ...[1, 2, 3].map(() => bank(mine.tenant, 100)),
      ]);
      for (const { status, body } of answers) {
        expect([200, 201], JSON.stringify(body)).toContain(status);
      }
      const oldest = await owedBy(mine.tenant);
      expect(await pay(admin, oldest, { charges: 750 })).toSucceed(201);
    }
    expect(await owedBy(mine.tenant)).toBe(0);
    await sound(mine.tenant);
  });
});

test("functions of 1.7.0 enter, read and reverse payments in the shape that they know, charges included", async () => {
  const mine = await newSide();
  await carried(mine, 1_000, 2_000);
  const { remittance } = (await pay(mine.tenant.admin, 3_000, { charges: 500 })).body;
  const known = Object.keys(remittance).filter((name) => !["charges", "received"].includes(name));
  const grants = "{permission:manage:tenant}";
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${mine.tenant.id}, true), set_config('app.user_id', ${mine.tenant.admin.id}, true),
      set_config('app.sees_tenant', 'on', true), set_config('app.grants', ${grants}, true)`;
    const of = { carrier_code: "simulated", remittance_id: remittance.id, reason: "Twice" };
    const entered = { ...of, amount: 4_000, currency: "IQD", reference: "OLD-1" };
    const [{ got, undone, made }] = await tx`select money.carrier_remittance_get(${
      sql.json(of)
    }) as got,
      money.carrier_remittance_reverse(${sql.json(of)}) as undone,
      (select array_agg(column_name::text) from information_schema.columns
        where table_schema = 'money' and table_name = 'carrier_remittances_list') as made`;
    const read = known.filter((name) => name !== "still_owed");
    expect(Object.keys(got).sort()).toEqual(read.toSorted());
    expect(Object.keys(undone).sort()).toEqual(known.toSorted());
    expect(made.toSorted()).toEqual(
      read.filter((name) => name !== "remitted_collections").toSorted(),
    );
    const ids = await tx`select id from money.carrier_collections
      where tenant_id = ${mine.tenant.id} and amount = 4000`;
    const [{ paid }] = await tx`select money.carrier_remit(${
      sql.json({ ...entered, carrier_collection_ids: ids.map(({ id }) => id) })
    }) as paid`;
    expect(Object.keys(paid).sort()).toEqual(known.toSorted());
  });
  expect(
    await sql`select from money.ledger_transactions where reference_id = ${remittance.id}`,
  ).toHaveLength(4);
  await sound(mine.tenant);
});
