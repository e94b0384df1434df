/** A transfer of cash that was wrong is taken back by its mirror, once, as long as its receiver has the cash. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import {
  desks,
  heldBy,
  key,
  reverse,
  sound,
  transfer,
  withCash,
} from "../../support/cash-desks.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";

let b: Tenant;
beforeAll(async () => {
  b = await newTenant();
});

const made = async (tenant: Tenant, body: object): Promise<string> => {
  const answer = await transfer(tenant.dispatcher, body);
  expect(answer).toSucceed(201);
  return answer.body.data.id;
};
const toAdmin = (tenant: Tenant, amount: number) =>
  made(tenant, { kind: "handover", to_user_id: tenant.admin.id, amount });

test("a deposit is reversed by the owner of the desk that gave it; both journals stay", async () => {
  const tenant = await withCash(1000);
  const id = await made(tenant, { amount: 300 });
  const answer = await reverse(tenant.dispatcher, id);
  expect(answer).toSucceed(200);
  expect(answer.body.data).toMatchObject({
    id,
    amount: 300,
    reversed_at: expect.any(String),
    reversed_by: { id: tenant.dispatcher.id },
    reversal_reason: "Typed twice",
  });
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(1000);
  expect(
    await sql`select t.kind, t.description, e.amount from money.ledger_transactions t
      join money.ledger_entries e on e.transaction_id = t.id join money.accounts a on a.id = e.account_id
      where t.reference_id = ${id} and a.kind = 'cash_on_hand' order by e.id`,
  ).toEqual([
    { kind: "cash_transfer", description: "Cash brought to the bank", amount: -300 },
    { kind: "cash_transfer_REVERSAL", description: "Typed twice", amount: 300 },
  ]);
  expect(
    await sql`select event_type from integration.system_events where entity_id = ${id} order by event_type`,
  ).toEqual([{ event_type: "cash_transfer.created" }, { event_type: "cash_transfer.reversed" }]);
  expect(
    await sql`select action from app.audit_log where tenant_id = ${tenant.id} and entity_id = ${id} order by id`,
  ).toEqual([{ action: "insert" }, { action: "update" }]);
  const again = await reverse(tenant.admin.in("ar"), id);
  expect(again).toFailWith(409, "cash_transfer_already_reversed");
  expect(again.body.message).toBe("تم التراجع عن عملية نقل النقد هذه من قبل.");
  await sound(tenant);
});

test("a handover is reversed while its receiver holds the cash, and not after they passed it on", async () => {
  const tenant = await withCash(1000);
  const id = await toAdmin(tenant, 600);
  const onward = await transfer(tenant.admin, { amount: 1 });
  expect(onward).toSucceed(201);
  const refused = await reverse(tenant.dispatcher, id);
  expect(refused).toFailWith(409, "insufficient_desk_cash");
  expect(refused.body).toMatchObject({ held: 599, currency: "IQD" });
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(400);
  expect(await reverse(tenant.admin, onward.body.data.id)).toSucceed(200);
  expect(await reverse(tenant.dispatcher, id)).toSucceed(200);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(1000);
  expect(await heldBy(tenant, tenant.admin)).toBe(0);
  await sound(tenant);
});

test("twenty who take back one transfer at once: one does; under one key all hear the same", async () => {
  const tenant = await withCash(1000);
  const [first, second] = [await toAdmin(tenant, 100), await toAdmin(tenant, 200)];
  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      (_, n) => reverse(n % 2 ? tenant.dispatcher : tenant.admin, first),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    expect(answer).toFailWith(409, "cash_transfer_already_reversed");
  }
  const path = `${desks}/transfers/${second}/reverse`;
  await expectReplayed(tenant.dispatcher, path, { reason: "Wrong" }, { reason: "Other" });
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(1000);
  await sound(tenant);
});

test("a transfer and a reversal at the same time never leave the receiver below zero", async () => {
  const tenant = await withCash(1000);
  for (let round = 0; round < 5; round++) {
    const id = await toAdmin(tenant, 100);
    const held = await heldBy(tenant, tenant.admin);
    const [back, gone] = await Promise.all([
      reverse(tenant.dispatcher, id),
      transfer(tenant.admin, { amount: held }),
    ]);
    expect([[200, 409], [409, 201]]).toContainEqual([back.status, gone.status]);
  }
  await sound(tenant);
});

test("is for who gave the cash and for administrators, of their own tenant", async () => {
  const tenant = await withCash(100);
  const id = await toAdmin(tenant, 50);
  const other = await newPerson(tenant.id, "staff", "dispatcher");
  for (const person of [other, tenant.ops, tenant.warehouse, tenant.driver, tenant.customer]) {
    expect(await reverse(person, id)).toFailWith(403, "forbidden");
  }
  expect(await reverse(nobody, id)).toFailWith(401, "unauthorized");
  expect(await reverse(b.admin, id)).toFailWith(404, "cash_transfer_not_found");
  expect(await reverse(tenant.admin, randomUUID())).toFailWith(404, "cash_transfer_not_found");
  expect(await reverse(tenant.admin, "first")).toFailWith(400, "invalid_uuid");
  expect(await reverse(tenant.admin, id, key(), " ")).toFailWith(400, "validation_failed");
  expect(await reverse(tenant.admin, id, {})).toFailWith(400, "idempotency_key_required");
  expect(await heldBy(tenant, tenant.admin)).toBe(50);
  // The receiver cannot refuse it either, without being an administrator.
  const given = await transfer(tenant.admin, {
    kind: "handover",
    to_user_id: other.id,
    amount: 50,
  });
  expect(await reverse(other, given.body.data.id)).toFailWith(403, "forbidden");
  await sound(tenant);
});

test("the database refuses a reversal without its mirror", async () => {
  const tenant = await withCash(100);
  const id = await toAdmin(tenant, 50);
  await expect(
    sql`update money.cash_transfers set reversed_at = now(), reversed_by = actor_id, reversal_reason = 'x' where id = ${id}`,
  ).rejects.toMatchObject({ constraint_name: "cash_transfer_booked" });
});
