/** The desk of an operations manager, to whom cash was remitted: they read it and move it, and no other one. */
import { expect, test } from "vitest";
import { desks, heldBy, key, reverse, sound, transfer } from "../../support/cash-desks.ts";
import { newCash, remit, selected } from "../../support/cod.ts";
import { fundWallet } from "../../support/money.ts";
import { newPerson, newTenant, saveSettings } from "../../support/people.ts";

const path = `${desks}/transfers`;

/** A company whose operations manager took this much from a driver, and whose dispatcher as much. */
async function withManager(amount: number) {
  const tenant = await newTenant();
  for (const person of [tenant.ops, tenant.dispatcher]) {
    const { id } = await newCash(tenant, { cod: 0, fee: amount });
    const body = { ...selected(id), remitted_to_user_id: person.id };
    expect(await tenant.dispatcher.post(remit, body)).toSucceed(200);
  }
  return tenant;
}

test("an operations manager finds their own desk, and takes nothing from a colleague's, a driver's or the till", async () => {
  const tenant = await withManager(900);
  const { body } = await tenant.ops.get(desks);
  expect(body.data).toMatchObject([{ user: { id: tenant.ops.id }, balance: 900 }]);
  expect((await tenant.ops.get(desks, { query: { user_id: tenant.dispatcher.id } })).body.data)
    .toEqual([]);
  expect((await tenant.dispatcher.get(desks)).body.data).toHaveLength(2);
  for (
    const from of [
      { from_user_id: tenant.dispatcher.id },
      { from_user_id: tenant.driver.id, from_owner_type: "driver" },
      { from_owner_type: "tenant" },
    ]
  ) {
    expect(await transfer(tenant.ops, { ...from, amount: 1 })).toFailWith(403, "forbidden");
  }
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(900);
});

test("an operations manager brings cash to the bank and hands it to colleagues, once each", async () => {
  const tenant = await withManager(900);
  const colleague = await newPerson(tenant.id, "staff", "operations_manager");
  const once = key();
  for (let time = 0; time < 2; time++) {
    expect(await transfer(tenant.ops, { amount: 300 }, once)).toSucceed(201);
  }
  for (const person of [tenant.dispatcher, colleague]) {
    const given = { kind: "handover", to_user_id: person.id, amount: 200 };
    expect(await transfer(tenant.ops, given)).toSucceed(201);
  }
  expect(await heldBy(tenant, tenant.ops)).toBe(200);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(1100);
  expect(await heldBy(tenant, colleague)).toBe(200);
  const answers = await Promise.all([1, 2].map(() => transfer(tenant.ops, { amount: 150 })));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  await sound(tenant);
});

test("an operations manager finds and reverses what left their desk, and not what left others", async () => {
  const tenant = await withManager(900);
  const given = { kind: "handover", to_user_id: tenant.admin.id, amount: 400 };
  const mine = (await transfer(tenant.ops, given)).body.data.id;
  const toMe = { ...given, to_user_id: tenant.ops.id, amount: 50 };
  const received = (await transfer(tenant.dispatcher, toMe)).body.data.id;
  const others = (await transfer(tenant.dispatcher, { amount: 100 })).body.data.id;
  const { body } = await tenant.ops.get(path);
  expect(body.data.map(({ id }: { id: string }) => id)).toEqual([received, mine]);
  for (const id of [received, others]) {
    expect(await reverse(tenant.ops, id)).toFailWith(403, "forbidden");
  }
  expect(await reverse(tenant.ops, mine)).toSucceed(200);
  expect(await heldBy(tenant, tenant.ops)).toBe(950);
  await sound(tenant);
});

test("cash comes to an operations manager's own desk where drivers have to name who takes theirs", async () => {
  const tenant = await withManager(900);
  await saveSettings(tenant.id, "delivery.cod", { driver_self_remit: "require_receiver" });
  const wallet_id = await fundWallet(tenant, "customer", tenant.customer.id, 1_000);
  const comes = { kind: "bank_withdrawal", amount: 100 };
  for (const person of [tenant.ops, tenant.dispatcher, tenant.admin]) {
    const made = await transfer(person, comes);
    expect(made).toSucceed(201);
    expect(made.body.data.to_user.id).toBe(person.id);
  }
  const paidIn = { kind: "wallet_deposit", wallet_id, amount: 50, reference: "Receipt 1" };
  expect(await transfer(tenant.ops, paidIn)).toSucceed(201);
  expect(await heldBy(tenant, tenant.ops)).toBe(1_050);
  // Still only to their own, and a driver has none.
  const toAnother = { ...comes, to_user_id: tenant.dispatcher.id };
  expect(await transfer(tenant.ops, toAnother)).toFailWith(403, "forbidden");
  expect(await transfer(tenant.driver, comes)).toFailWith(403, "forbidden");
  const { id } = await newCash(tenant, { cod: 0, fee: 10 });
  expect(await tenant.driver.post(remit, selected(id))).toFailWith(400, "receiver_required");
  await sound(tenant);
});
