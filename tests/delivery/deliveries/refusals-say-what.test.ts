import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { newCash } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { newDelivery, newGround, order, path as deliveries } from "../../support/deliveries.ts";
import { fundWallet, newService } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { adjust } from "../../support/wallets.ts";

// Refusals that say what to do, and what is disregarded whatever it is.
let tenant: Tenant;
const cash = "/delivery/cod-collections";

beforeAll(async () => {
  tenant = await newTenant();
});

describe("settling", () => {
  test.each(["remit", "settle-by-wallet"])("%s of all and of some is refused", async (way) => {
    const { id } = await newCash(tenant);
    const body = { scope: "all", cod_collection_ids: [id], driver_id: tenant.driver.id };
    for (const person of [tenant.dispatcher, tenant.driver]) {
      const answer = await person.post(`${cash}/${way}`, body);
      expect(answer).toFailWith(400, "conflicting_selection");
      expect(answer.body.field).toBe("cod_collection_ids");
    }
    const [row] = await sql`select status from money.cod_collections where id = ${id}`;
    expect(row.status).toBe("collected");
  });

  test("all with an empty list, as forms send it, is all", async () => {
    const own = await newTenant();
    await newCash(own);
    const answer = await own.driver.post(`${cash}/remit`, {
      scope: "all",
      cod_collection_ids: [],
      remitted_to_user_id: own.dispatcher.id,
    });
    expect(answer).toSucceed();
    expect(answer.body.data.remitted_count).toBe(1);
  });

  test("one row named twice is named in the refusal", async () => {
    const { id } = await newCash(tenant);
    for (const way of ["remit", "settle-by-wallet"]) {
      const answer = await tenant.driver.post(`${cash}/${way}`, {
        scope: "selected",
        cod_collection_ids: [id, randomUUID(), id],
      });
      expect(answer).toFailWith(400, "validation_failed");
      expect(answer.body.message).toBe(`cod_collection_ids names ${id} more than once.`);
    }
  });
});

describe("a driver_id that is no id", () => {
  test("is disregarded where a driver's is, and refused of the office", async () => {
    const own = await newTenant();
    const { id } = await newCash(own);
    const query = { driver_id: "nobody" };
    const list = await own.driver.get(cash, { query });
    expect(list.body.cod.collections.map((row: { id: string }) => row.id)).toEqual([id]);
    expect((await own.driver.get(`${cash}/export`, { query })).status).toBe(200);
    expect((await own.driver.get("/delivery/cod-summary", { query })).body.summary)
      .toMatchObject({ total_unremitted: 1250 });
    expect(await own.driver.get("/delivery/assignments", { query })).toSucceed();
    for (const place of [cash, "/delivery/cod-summary", "/delivery/assignments"]) {
      const refused = await own.dispatcher.get(place, { query });
      expect(refused, place).toFailWith(400, "invalid_uuid");
      expect(refused.body.field).toBe("driver_id");
    }
    const all = { scope: "all", driver_id: "nobody" };
    expect(await own.dispatcher.post(`${cash}/remit`, all)).toFailWith(400, "invalid_uuid");
    expect(
      await own.driver.post(`${cash}/remit`, { ...all, remitted_to_user_id: own.dispatcher.id }),
    ).toSucceed();
    // Without any row to look at, too.
    const empty = await newTenant();
    expect(await empty.dispatcher.get(cash, { query })).toFailWith(400, "invalid_uuid");
  });
});

test("with its gate off everybody is answered by the gate", async () => {
  const off = await newTenant({
    settings: { "delivery.transfer_manifest": { enabled: false } },
  });
  for (const person of [off.admin, off.ops, off.staff, off.driver, off.institution, off.customer]) {
    for (
      const answer of [
        await person.get("/delivery/transfer-manifests"),
        await person.post("/delivery/transfer-manifest-items/bulk/set-destination", { odd: 1 }),
      ]
    ) expect(answer).toFailWith(403, "transfer_manifest_disabled");
  }
});

describe("a service", () => {
  test("keeps its policy if an unknown one is sent", async () => {
    const policy_overrides = { payment_policies: { refund_delivery_fee_on_return: true } };
    const id = await newService(tenant);
    await sql`update delivery.delivery_services set policy_mode = 'custom',
      policy_overrides = ${sql.json(policy_overrides)} where id = ${id}`;
    const put = (overrides: unknown) =>
      tenant.ops.put(`/delivery/services/${id}`, { policy_overrides: overrides });
    for (
      const [wrong, field] of [
        [{ refund: true }, "policy_overrides.refund"],
        [
          { payment_policies: { refund_on_return: true } },
          "policy_overrides.payment_policies.refund_on_return",
        ],
      ] as const
    ) {
      const answer = await put(wrong);
      expect(answer).toFailWith(400, "validation_failed");
      expect(answer.body.field).toBe(field);
    }
    const [row] =
      await sql`select policy_overrides from delivery.delivery_services where id = ${id}`;
    expect(row.policy_overrides).toEqual(policy_overrides);
    expect(await put({ payment_policies: { refund_delivery_fee_on_cancel: false } })).toSucceed();
  });

  test("names the ids that are no users of the company", async () => {
    const id = await newService(tenant);
    const stranger = randomUUID();
    const answer = await tenant.ops.put(`/delivery/services/${id}`, {
      access_mode: "select_users",
      user_ids: [tenant.customer.id, stranger],
    });
    expect(answer).toFailWith(400, "invalid_customer_ids");
    expect(answer.body).toMatchObject({
      field: "user_ids",
      invalid_ids: [stranger],
      message: `These are no users of this company: ${stranger}.`,
    });
  });
});

describe("a price", () => {
  test.each([
    [{ quantity: 0 }, "quantity", /item 2 needs a quantity/],
    [{ quantity: 1.5 }, "quantity", /item 2 needs a quantity/],
    [{ weight: -1 }, "weight", /weight of item 2/],
    [{ height: "tall" }, "height", /height of item 2/],
  ])("of %j names the item and what is wrong with it", async (wrong, name, message) => {
    const box = { items: [{ quantity: 1, weight: 1, length: 1, width: 1, height: 1 }, wrong] };
    const delivery_service_id = await newService(tenant);
    const answer = await tenant.ops.post("/delivery/price", { delivery_service_id, package: box });
    expect(answer).toFailWith(400, "invalid_package");
    expect(answer.body).toMatchObject({ field: "package", item: 2, name });
    expect(answer.body.message).toMatch(message);
  });
});

describe("a wallet that is short", () => {
  test("says what it holds and what is needed, to its owner and the office", async () => {
    const ground = await newGround(tenant);
    await fundWallet(tenant, "customer", tenant.customer.id, 1500);
    const paid = { payer_type: "sender", payment_method: "wallet" };
    for (
      const answer of [
        await tenant.customer.post(deliveries, order(ground, { ...paid, customer_id: undefined })),
        await tenant.ops.post(deliveries, order(ground, paid)),
      ]
    ) {
      expect(answer).toFailWith(400, "insufficient_wallet_balance");
      expect(answer.body).toMatchObject({ balance: 1500, required: 2000, currency: "IQD" });
      expect(answer.body.message).toBe("The wallet holds 1500 IQD, and 2000 IQD are needed.");
    }
  });

  test("says to a customer that it is the company's, and not what that holds", async () => {
    const own = await newTenant();
    const ground = await newGround(own);
    await fundWallet(own, "customer", own.customer.id, 2000);
    const { id } = await newDelivery(ground, { payer_type: "sender", payment_method: "wallet" });
    // The company spent it meanwhile.
    const [till] = await sql`select id, balance from money.accounts
      where tenant_id = ${own.id} and kind = 'wallet' and owner_type = 'tenant'`;
    expect(await adjust(own.admin, till.id, Number(till.balance), "debit")).toSucceed();
    const answer = await own.customer.post(`${deliveries}/${id}/cancel`, { reason: "no" });
    expect(answer).toFailWith(400, "insufficient_wallet_balance");
    expect(answer.body).not.toHaveProperty("balance");
    expect(answer.body.message).toBe(
      "The company's wallet does not hold enough for this. Please ask the company to fill it.",
    );
  });
});
