/** Cash of a tenant in the hands of an administrator of the system, who is no member of it. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { carried, newSide } from "../../support/carriers.ts";
import {
  accountOf,
  cashDifferences,
  cashRow,
  newCash,
  remit,
  selected,
  settle,
} from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { balanceOf, checkBooks, fundWallet } from "../../support/money.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

let system: Person;
let tenant: Tenant;
beforeAll(async () => {
  system = await newSystemAdmin();
});
beforeEach(async () => {
  tenant = await newTenant();
});
const expectBooksInOrder = async () => {
  expect(await cashDifferences(tenant)).toEqual([]);
  expect(await checkBooks(tenant)).toEqual([]);
};

const inTenant = () => ({ query: { tenant_id: tenant.id } });
const post = (path: string, body: object = {}) => system.post(path, body, inTenant());
const actorOf = async (payment: string) =>
  (await sql`select actor_id, receiver_id from money.cod_settlements where payment_id = ${payment}`)[
    0
  ];

describe("remitting", () => {
  test("names the person who took the cash, since they have no desk in the tenant", async () => {
    const cash = await newCash(tenant);
    expect(await post(remit, selected(cash.id))).toFailWith(400, "receiver_required");
    expect(await post(remit, { ...selected(cash.id), remitted_to_user_id: system.id }))
      .toFailWith(400, "invalid_receiver");
    const receiver_id = tenant.dispatcher.id;
    const answer = await post(remit, { ...selected(cash.id), remitted_to_user_id: receiver_id });
    expect(answer).toSucceed(200);
    expect(await actorOf(answer.body.data.settlement_payment_id))
      .toEqual({ actor_id: system.id, receiver_id });
    expect((await cashRow(cash.id)).remitted_to_user_id).toBe(receiver_id);
    expect(await accountOf(tenant, "cash_on_hand", receiver_id)).toBe(1250);
    await expectBooksInOrder();
  });

  test.each([["staff", false], ["customer", true], ["customer", false], ["driver", true]] as const)(
    "also where the tenant knows them (as %s, active: %s)",
    async (type, active) => {
      const cash = await newCash(tenant);
      const membership = { tenant_id: tenant.id, user_id: system.id, tenant_user_type: type };
      await sql`insert into tenancy.tenant_users ${sql({ ...membership, is_active: active })}`;
      expect(await post(remit, selected(cash.id))).toFailWith(400, "receiver_required");
      const all = { scope: "all", driver_id: tenant.driver.id };
      expect(await post(remit, all)).toFailWith(400, "receiver_required");
      const named = { ...selected(cash.id), remitted_to_user_id: tenant.dispatcher.id };
      expect(await post(remit, named)).toSucceed(200);
      expect(await accountOf(tenant, "cash_on_hand", tenant.dispatcher.id)).toBe(1_250);
      await expectBooksInOrder();
    },
  );

  test("not where they are of its staff: the cash is with them", async () => {
    const cash = await newCash(tenant);
    const membership = { tenant_id: tenant.id, user_id: system.id, tenant_user_type: "staff" };
    await sql`insert into tenancy.tenant_users ${sql({ ...membership, is_active: true })}`;
    expect(await post(remit, selected(cash.id))).toSucceed(200);
    expect(await accountOf(tenant, "cash_on_hand", system.id)).toBe(1_250);
    await expectBooksInOrder();
  });

  test("is for the members of a tenant as before", async () => {
    const cash = await newCash(tenant);
    expect(await tenant.admin.post(remit, selected(cash.id))).toSucceed(200);
  });
});

test("settling by wallet needs no receiver", async () => {
  const cash = await newCash(tenant);
  const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 2000);
  const answer = await post(settle, selected(cash.id));
  expect(answer).toSucceed(200);
  expect(await actorOf(answer.body.data.settlement_payment_id))
    .toEqual({ actor_id: system.id, receiver_id: null });
  expect(await balanceOf(wallet)).toBe(750);
  await expectBooksInOrder();
});

test("the first receipt of an old row is printed", async () => {
  const { id } = await newCash(tenant, { cod: 500, fee: 50 });
  await sql`update money.cod_collections set status = 'remitted', remitted_at = '2025-05-05T10:00:00Z' where id = ${id}`;
  const answer = await post(`/delivery/cod-collections/${id}/receipt`);
  expect([200, 202]).toContain(answer.status);
  expect(await actorOf(answer.body.settlement_payment_id))
    .toEqual({ actor_id: system.id, receiver_id: null });
});

test("a shortage that they counted and resolved is missing from the desk that receives the rest", async () => {
  const { id: cash } = await newCash(tenant);
  const declared = await post("/delivery/cod-collections/handover", {
    driver_id: tenant.driver.id,
    amount: 1250,
    counted_amount: 1200,
  });
  expect(declared).toSucceed(201);
  const { id } = declared.body.data;
  expect(
    await post(`/delivery/cod-collections/handovers/${id}/resolve`, { resolution: "written_off" }),
  ).toSucceed(200);
  const before = await accountOf(tenant, "cash_on_hand", tenant.dispatcher.id);
  expect(await tenant.dispatcher.post(remit, selected(cash))).toSucceed(200);
  expect(await accountOf(tenant, "cash_on_hand", tenant.dispatcher.id) - before).toBe(1200);
  expect(await accountOf(tenant, "cash_on_hand", null)).toBe(0);
  await expectBooksInOrder();
});

describe("what they counted", () => {
  const counted = async () => {
    await newCash(tenant);
    const handover = { driver_id: tenant.driver.id, amount: 1250, counted_amount: 1250 };
    const declared = await post("/delivery/cod-collections/handover", handover);
    expect(declared).toSucceed(201);
    return declared.body.data.id as string;
  };
  const statusOf = async (id: string) =>
    (await sql`select status from money.cash_handovers where id = ${id}`)[0].status;

  test("is cancelled by the office", async () => {
    const id = await counted();
    const cancel = `/delivery/cod-collections/handovers/${id}/cancel`;
    expect(await tenant.dispatcher.post(cancel, {})).toSucceed(200);
    expect(await statusOf(id)).toBe("cancelled");
  });

  test("ends with the settlement that leaves no cash for it", async () => {
    const id = await counted();
    await fundWallet(tenant, "driver", tenant.driver.id, 2000);
    const all = { scope: "all", driver_id: tenant.driver.id };
    expect(await tenant.dispatcher.post(settle, all)).toSucceed(200);
    expect(await statusOf(id)).toBe("cancelled");
    await expectBooksInOrder();
  });
});

test("a carrier's payment is entered", async () => {
  const side = await newSide();
  const [parcel] = await carried(side, 7_000);
  const answer = await system.post("/carriers/tenant/simulated/remittances", {
    amount: 9_000,
    currency: "IQD",
    reference: "R-1",
    carrier_collection_ids: [parcel.collection],
  }, { query: { tenant_id: side.tenant.id } });
  expect(answer).toSucceed(201);
});
