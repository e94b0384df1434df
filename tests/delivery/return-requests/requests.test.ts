/** Where the office approves returns, an owner's return is a draft until it does; nothing gets round that. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { deliveryIn, type Ground, newGround, path, statusOf } from "../../support/deliveries.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectReplayed } from "../../support/promises.ts";

let ground: Ground;
let tenant: Tenant;
let other: Tenant;

/** A company whose services take returns. */
async function newReturning(return_requests: Record<string, unknown>): Promise<Ground> {
  const made = await newGround(await newTenant());
  await saveSettings(made.tenant.id, "general.delivery", { return_requests });
  await sql`update delivery.delivery_services set allow_returns = true where id = ${made.service}`;
  return made;
}

beforeAll(async () => {
  ground = await newReturning({ auto_approval: false });
  tenant = ground.tenant;
  other = await newTenant();
});

/** Asks for the return of something that was just delivered to this owner. */
async function ask(by: Person, more: Record<string, unknown> = {}, at: Ground = ground) {
  const { id } = await deliveryIn(at, "delivered");
  return await by.post(path, {
    delivery_flow: "customer_return",
    original_delivery_id: id,
    delivery_service_id: at.service,
    payer_type: "sender",
    payment_method: "cash",
    unit_size: 2,
    ...more,
  });
}

async function requested(more: Record<string, unknown> = {}): Promise<string> {
  const answer = await ask(tenant.customer, more);
  expect(answer).toSucceed(201);
  return answer.body.delivery.id;
}

const decide = (by: Person, id: string, what: "approve" | "decline", body: object = {}) =>
  by.post(
    `${path}/${id}/return-request/${what}`,
    what === "decline" ? { reason: "Worn", ...body } : body,
  );
const submit = (by: Person, id: string) => by.post(`${path}/${id}/submit`);
const requestOf = async (id: string) =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.return_request;

describe("an owner's return", () => {
  test("waits as a draft, charges nothing, and says that it is requested", async () => {
    const answer = await ask(tenant.customer);
    expect(answer).toSucceed(201);
    const { delivery } = answer.body;
    const request = {
      status: "requested",
      reason: null,
      requested_at: expect.any(String),
      decided_at: null,
      decided_by: null,
    };
    expect(delivery).toMatchObject({ status: "draft", return_request: request });
    const detail = await tenant.customer.get(`${path}/${delivery.id}`);
    expect(detail.body.delivery).toMatchObject({ status: "draft", return_request: request });
  });

  test("is announced to those who decide, and its decision to who asked", async () => {
    const noticesOf = async (by: Person, type: string, id: string) =>
      (await by.get("/tenants/me/notifications", { query: { type, limit: 100 } })).body.data
        .filter(({ payload }: Body) => payload.delivery_id === id);
    const [approved, declined] = [await requested(), await requested()];
    expect(await decide(tenant.dispatcher, approved, "approve")).toSucceed(200);
    expect(await decide(tenant.ops, declined, "decline")).toSucceed(200);
    for (const id of [approved, declined]) {
      for (const by of [tenant.admin, tenant.ops, tenant.dispatcher]) {
        expect(await noticesOf(by, "return_requested", id)).toHaveLength(1);
      }
      for (const by of [tenant.driver, tenant.warehouse]) {
        expect(await noticesOf(by, "return_requested", id)).toEqual([]);
      }
    }
    expect(await noticesOf(tenant.customer, "return_approved", approved)).toHaveLength(1);
    expect(await noticesOf(tenant.customer, "return_approved", declined)).toEqual([]);
    const [no] = await noticesOf(tenant.customer, "return_declined", declined);
    expect(no.message).toContain("Worn");
  });

  test("is decided where nobody is named as having asked", async () => {
    const id = await requested();
    await sql`update delivery.return_requests set requested_by = null where delivery_id = ${id}`;
    expect(await decide(tenant.ops, id, "approve")).toSucceed(200);
    const asked = await requested();
    await sql`update delivery.return_requests set requested_by = null where delivery_id = ${asked}`;
    expect(await decide(tenant.ops, asked, "decline")).toSucceed(200);
  });

  test("is not ordered by its owner's submit", async () => {
    const id = await requested();
    const refused = await submit(tenant.customer, id);
    expect(refused).toFailWith(409, "return_request_pending");
    expect(await statusOf(id)).toBe("draft");
    const changed = await tenant.customer.patch(`${path}/${id}`, { notes: "Ring twice" });
    expect(changed).toSucceed(200);
    expect(changed.body.delivery).toMatchObject({
      status: "draft",
      return_request: { status: "requested" },
    });
  });

  test.each(["customer", "ops"] as const)(
    "is requested no more once its draft is cancelled by %s",
    async (who) => {
      const id = await requested();
      const answer = await tenant[who].post(`${path}/${id}/cancel`, { reason: "Kept it" });
      expect(answer).toSucceed(200);
      expect(await requestOf(id)).toMatchObject({
        status: "cancelled",
        reason: null,
        decided_at: expect.any(String),
        decided_by: { id: tenant[who].id },
      });
      const waiting = await tenant.ops.get(path, {
        query: { return_request: "requested", limit: 100 },
      });
      expect(waiting.body.data.map((one: Body) => one.id)).not.toContain(id);
      const refused = await decide(tenant.ops, id, "approve");
      expect(refused).toFailWith(409, "return_request_not_pending");
      expect(refused.body.status).toBe("cancelled");
    },
  );

  test("that was kept as a draft is requested by its owner's submit", async () => {
    const id = await requested({ status: "draft" });
    expect(await requestOf(id)).toBeNull();
    const asked = await submit(tenant.customer, id);
    expect(asked).toSucceed(200);
    expect(asked.body.delivery).toMatchObject({
      status: "draft",
      return_request: { status: "requested" },
    });
    expect(await submit(tenant.customer, id)).toFailWith(409, "return_request_pending");
    expect(await decide(tenant.ops, id, "approve")).toSucceed(200);
  });

  test("of the office needs no approval; nor does a delivery that is no return", async () => {
    const made = await ask(tenant.dispatcher);
    expect(made.body.delivery).toMatchObject({ status: "pending", return_request: null });
    const ordered = await tenant.customer.post(path, {
      delivery_service_id: ground.service,
      pickup_address_id: ground.from,
      dropoff_address_id: ground.to,
      payer_type: "receiver",
      payment_method: "cash",
      unit_size: 2,
    });
    expect(ordered.body.delivery.status).toBe("pending");
    expect(ordered.body.delivery).not.toHaveProperty("return_request");
  });

  test.each([[{}], [{ auto_approval: true }], [{ auto_approval: "off" }]])(
    "is ordered at once with %j",
    async (settings) => {
      const made = await newReturning(settings);
      const answer = await ask(made.tenant.customer, {}, made);
      expect(answer).toSucceed(201);
      expect(answer.body.delivery).toMatchObject({ status: "pending", return_request: null });
    },
  );

  test("is found by the office among those that wait, and no longer when its owner cancels it", async () => {
    const id = await requested();
    const waiting = async () => {
      const query = { return_request: "requested", limit: "100" };
      const answer = await tenant.ops.get(path, { query });
      expect(answer).toSucceed(200);
      return answer.body.data.map((one: { id: string }) => one.id);
    };
    expect(await waiting()).toContain(id);
    expect(await tenant.customer.post(`${path}/${id}/cancel`, { reason: "Kept" })).toSucceed(200);
    expect(await waiting()).not.toContain(id);
    const late = await decide(tenant.ops, id, "approve");
    expect(late).toFailWith(409, "return_request_not_pending");
    const wrong = await tenant.ops.get(path, { query: { return_request: "open" } });
    expect(wrong).toFailWith(400, "validation_failed");
  });
});

describe("the office", () => {
  test("approves it: it is ordered and charged", async () => {
    const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 5000);
    const before = await balanceOf(wallet);
    const id = await requested({ payment_method: "wallet" });
    expect(await balanceOf(wallet)).toBe(before);
    const answer = await decide(tenant.dispatcher, id, "approve");
    expect(answer).toSucceed(200);
    expect(answer.body.delivery).toMatchObject({
      status: "pending",
      return_request: {
        status: "approved",
        decided_at: expect.any(String),
        decided_by: { id: tenant.dispatcher.id },
      },
    });
    expect(await balanceOf(wallet)).toBe(before - 2000);
    for (const what of ["approve", "decline"] as const) {
      const again = await decide(tenant.ops, id, what);
      expect(again).toFailWith(409, "return_request_not_pending");
      expect(again.body.status).toBe("approved");
    }
  });

  test("approves it by submitting it as well", async () => {
    const id = await requested();
    expect(await submit(tenant.ops, id)).toSucceed(200);
    expect(await requestOf(id)).toMatchObject({ status: "approved" });
  });

  test("cannot approve what the owner's wallet does not pay, and it waits on", async () => {
    const id = await requested({ payment_method: "wallet", unit_size: 90 });
    expect(await decide(tenant.ops, id, "approve")).toFailWith(400, "insufficient_wallet_balance");
    expect(await statusOf(id)).toBe("draft");
    expect(await requestOf(id)).toMatchObject({ status: "requested" });
  });

  test("declines it with a reason: the draft is cancelled, and the owner may ask anew", async () => {
    const { id: original } = await deliveryIn(ground, "delivered");
    const again = () =>
      tenant.customer.post(path, {
        delivery_flow: "customer_return",
        original_delivery_id: original,
        delivery_service_id: ground.service,
        payer_type: "sender",
        payment_method: "cash",
        unit_size: 2,
      });
    const { id } = (await again()).body;
    expect(await again()).toFailWith(409, "return_already_exists");
    const answer = await decide(tenant.ops, id, "decline", { reason: "Older than 14 days" });
    expect(answer).toSucceed(200);
    expect(answer.body.delivery).toMatchObject({
      status: "cancelled",
      return_request: { status: "declined", reason: "Older than 14 days" },
    });
    const late = await submit(tenant.customer, id);
    expect(late).toFailWith(409, "invalid_status_transition");
    expect(await decide(tenant.ops, id, "approve")).toFailWith(409, "return_request_not_pending");
    expect(await again()).toSucceed(201);
  });

  test("decides once, however many do at once; one key is answered with what it did", async () => {
    const id = await requested();
    const answers = await Promise.all(
      Array.from(
        { length: 10 },
        (_, n) => decide(n % 2 ? tenant.ops : tenant.admin, id, n % 3 ? "approve" : "decline"),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer).toFailWith(409, "return_request_not_pending");
    }
    const place = `${path}/${await requested()}/return-request/decline`;
    await expectReplayed(tenant.ops, place, { reason: "Worn" }, { reason: "Old" });
  });

  test("alone decides, about its own company's, with a reason", async () => {
    const id = await requested();
    const { warehouse, staff, driver, institution, customer } = tenant;
    for (const what of ["approve", "decline"] as const) {
      const call = {
        method: "POST",
        path: `${path}/${id}/return-request/${what}`,
        body: { reason: "No" },
      } as const;
      await expectGuarded(call, { denied: [warehouse, staff, driver, institution, customer] });
      const anywhere = { ...call, path: `${path}/{id}/return-request/${what}` };
      await expectNoSuch(other.admin, anywhere, "delivery_id", "delivery_not_found", id);
    }
    for (const reason of [undefined, "", " ", 7]) {
      const answer = await tenant.ops.post(`${path}/${id}/return-request/decline`, { reason });
      expect(answer).toFailWith(400, "validation_failed");
      expect(answer.body.field).toBe("reason");
    }
    const { id: ordinary } = await deliveryIn(ground, "draft");
    const none = await decide(tenant.ops, ordinary, "approve");
    expect(none).toFailWith(409, "return_request_not_pending");
    expect(none.body.status).toBeNull();
  });
});
