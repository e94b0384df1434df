/** Cash that a carrier will never pay: written off, nobody owes it, and its owner has the COD. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { carried, newSide, owedBy, payCarried as pay, type Side } from "../../support/carriers.ts";
import { setPayouts, sound, standing } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { bookOf, checkAll } from "../../support/deliveries.ts";
import type { Tenant } from "../../support/people.ts";
import { breachesIn } from "../../support/reconciled.ts";

const path = "/carriers/tenant/simulated/remittances";
const proof = "/delivery/cod-reconciliation";
let side: Side;
let tenant: Tenant;
beforeAll(async () => {
  side = await newSide();
  ({ tenant } = side);
});
afterAll(async () => {
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
  expect((await tenant.admin.get(proof)).body.differences).toEqual([]);
});

const writeOff = (delivery_ids: string[], amount: number, more = {}) =>
  pay(tenant.admin, amount, { kind: "write_off", notes: "Bankrupt", delivery_ids, ...more });
const reverse = (id: string, who = tenant.admin) =>
  who.post(`${path}/${id}/reverse`, { reason: "It paid after all" });

test("is owed no more, comes to no till, and is read with its reason and its own sum", async () => {
  const [lost, paid] = await carried(side, 5_000, 1_000);
  const [till, owed] = [await bookOf(tenant, "cash_on_hand"), await owedBy(tenant)];
  await pay(tenant.admin, 3_000, { delivery_ids: [paid.id] });
  const answer = await writeOff([lost.id], 7_000, { reference: "Claim 17" });
  expect(answer).toSucceed(201);
  expect(answer.body.remittance).toMatchObject({
    kind: "write_off",
    amount: 7_000,
    reference: "Claim 17",
    notes: "Bankrupt",
    remitted_collections: [{ delivery_id: lost.id }],
    still_owed: owed - 10_000,
  });
  expect(await bookOf(tenant, "cash_on_hand")).toBe(till + 3_000);
  const [row] = (await tenant.staff.get("/carriers/tenant/simulated/collections", {
    query: { status: "written_off" },
  })).body.data;
  expect(row).toMatchObject({ delivery_id: lost.id, remittance_reference: "Claim 17" });
  const found = (await tenant.staff.get(path, { query: { kind: "write_off" } })).body;
  expect(found).toMatchObject({
    data: [{ reference: "Claim 17" }],
    summary: {
      remitted: [],
      written_off: [{ currency: "IQD", amount: 7_000, remittances: 1 }],
    },
  });
  expect((await tenant.staff.get(path, { query: { kind: "payment" } })).body.summary)
    .toMatchObject({ remitted: [{ amount: 3_000 }], written_off: [] });
  expect((await tenant.admin.get(proof)).body).toMatchObject({
    reconciled: true,
    carriers: [{ collected: 10_000, remitted: 3_000, written_off: 7_000, owed: 0, ledger: 0 }],
  });
  const [{ event_data }] = await sql`select event_data from integration.system_events
    where entity_id = ${answer.body.remittance.id}`;
  expect(event_data).toMatchObject({ kind: "write_off", amount: 7_000 });
});

test("is reversed once, also where the till is empty, and paid then", async () => {
  const mine = await newSide();
  const [lost] = await carried(mine, 5_000);
  const { admin } = mine.tenant;
  const body = { kind: "write_off", notes: "Bankrupt", delivery_ids: [lost.id] };
  const { remittance } = (await pay(admin, 7_000, body)).body;
  const answers = await Promise.all(Array.from({ length: 4 }, () => reverse(remittance.id, admin)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  expect(await owedBy(mine.tenant)).toBe(7_000);
  expect(await pay(admin, 7_000, { delivery_ids: [lost.id] })).toSucceed(201);
  expect((await admin.get(proof)).body).toMatchObject({
    reconciled: true,
    carriers: [{ remitted: 7_000, written_off: 0, owed: 0 }],
  });
  await checkAll(mine.tenant);
});

test("and its payment at one moment: each row is ended once", async () => {
  for (let round = 0; round < 4; round++) {
    const [parcel] = await carried(side, 1_000);
    const answers = await Promise.all([
      writeOff([parcel.id], 3_000),
      pay(tenant.admin, 3_000, { delivery_ids: [parcel.id] }),
      writeOff([parcel.id], 3_000),
    ]);
    expect(answers.map(({ status, body }) => body.code ?? status).sort())
      .toEqual([201, "cod_collections_not_pending", "cod_collections_not_pending"]);
  }
});

test("is one with its key, however often it is sent", async () => {
  const [lost] = await carried(side, 1_000);
  const headers = { "idempotency-key": randomUUID() };
  const body = {
    kind: "write_off",
    notes: "Lost",
    delivery_ids: [lost.id],
    reference: randomUUID(),
  };
  const [first, second] = [
    await pay(tenant.admin, 3_000, body, headers),
    await pay(tenant.admin, 3_000, body, headers),
  ];
  expect(first).toSucceed(201);
  expect(second.body).toEqual(first.body);
});

describe("it is refused", () => {
  test("without a reason, or without naming what, or of another sum", async () => {
    const [lost] = await carried(side, 1_000);
    for (
      const [more, field] of [
        [{ notes: null }, "notes"],
        [{ delivery_ids: undefined }, "carrier_collection_ids"],
        [{ kind: "gift" }, "kind"],
      ] as const
    ) {
      const refused = await writeOff([lost.id], 3_000, more);
      expect(refused).toFailWith(400, "validation_failed");
      expect(refused.body.field).toBe(field);
    }
    expect(await writeOff([lost.id], 2_000)).toFailWith(409, "remittance_amount_mismatch");
    expect(await writeOff([lost.id], 3_000)).toSucceed(201);
  });

  test("to operations, who may not give up the company's money", async () => {
    const [lost] = await carried(side, 1_000);
    const body = { kind: "write_off", notes: "Lost", delivery_ids: [lost.id] };
    for (const who of [tenant.ops, tenant.staff, tenant.driver]) {
      expect((await pay(who, 3_000, body)).status).toBe(403);
    }
  });
});

describe.each([{ release: "on_remit" }, { release: "on_bank" }])("under %o", (rule) => {
  test("the owner may spend the COD, until the write-off is reversed", async () => {
    const mine = await newSide();
    await setPayouts(mine.tenant, rule);
    const { admin, customer } = mine.tenant;
    const [lost] = await carried(mine, 7_000);
    expect(await standing(customer)).toEqual([7_000, 7_000, 0]);
    const body = { kind: "write_off", notes: "Bankrupt", delivery_ids: [lost.id] };
    const { remittance } = (await pay(admin, 9_000, body)).body;
    expect(await standing(customer)).toEqual([7_000, 0, 7_000]);
    await sound(mine.tenant);
    expect(await reverse(remittance.id, admin)).toSucceed(200);
    expect(await standing(customer)).toEqual([7_000, 7_000, 0]);
    await sound(mine.tenant);
  });
});
