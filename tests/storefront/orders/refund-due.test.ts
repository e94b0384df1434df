/** Money that an order owes its customer since the shop's wallet was short when it ended. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { openItems } from "../../../supabase/tenant/open-items.ts";
import { sql, stack } from "../../support/db.ts";
import { placeAt } from "../../support/deletion.ts";
import { assign, moves } from "../../support/deliveries.ts";
import { erased } from "../../support/erasure.ts";
import "../../support/expect.ts";
import { approveOrder, withDriver } from "../../support/order-goods.ts";
import { checkAll, newShop, placeOrder, type Shop, standing } from "../../support/orders.ts";
import { isDue } from "../../support/refunds-due.ts";

/** The lines about refunds that keep the customer from being erased, and the company from being deleted. */
async function openOf({ tenant }: Shop): Promise<string[]> {
  const place = placeAt(stack);
  try {
    const { text } = await erased(place, tenant, { person: tenant.customer.id });
    const company = await place.sql.begin((tx) => openItems(tx, tenant.id));
    return [...text.split("\n"), ...company].filter((line) => line.includes("refund"));
  } finally {
    await place.close();
  }
}

test("an order that came back while the shop's wallet was short is refunded later, and then nothing is due", async () => {
  const own = await newShop();
  await withDriver(own);
  const { id } = await placeOrder(own, "wallet");
  const { delivery_id } = (await approveOrder(own, id)).delivery_assigned;
  await assign(own.tenant, delivery_id);
  await moves(own.tenant.driver, delivery_id, "pickup", "depart", "fail");
  await isDue(own, id, own.tenant.customer, 0);
  const [house] = await sql`select id from money.accounts
    where tenant_id = ${own.tenant.id} and kind = 'wallet' and owner_user_id is null`;
  const adjust = (direction: string) =>
    own.tenant.admin.post(
      `/delivery/wallets/${house.id}/adjust`,
      { amount: 6_000, direction, reason: "The bank" },
      { headers: { "idempotency-key": randomUUID() } },
    );
  expect((await adjust("debit")).status).toBeLessThan(300);
  await moves(own.tenant.driver, delivery_id, "return");
  expect(await standing(id)).toMatchObject({ status: "cancelled", refunds: 0 });
  await isDue(own, id, own.tenant.customer, 6_000);
  expect(await openOf(own)).toEqual([
    "Open: 1 orders of stores owe them a refund: 6000.000 IQD",
    "1 orders of stores owe a refund: 6000.000 IQD",
  ]);
  const { data } = (await own.tenant.admin.get("/tenants/me/notifications", {
    query: { type: "order_refund_due" },
  })).body;
  expect(data).toMatchObject([{ payload: { order_id: id, amount: 6_000, status: "cancelled" } }]);
  expect(data[0].message).toContain("6000 IQD of order");

  expect((await adjust("credit")).status).toBeLessThan(300);
  const refund = (body: object) => own.tenant.admin.post(`/storefront/orders/${id}/refund`, body);
  const part = await refund({ amount: 1_000 });
  expect(part.body.data.order).toMatchObject({ refunded_amount: 1_000, refund_due_amount: 5_000 });
  await isDue(own, id, own.tenant.customer, 5_000);
  expect(await refund({})).toSucceed(200);
  await isDue(own, id, own.tenant.customer, 0);
  expect(await openOf(own)).toEqual([]);
  await checkAll(own.tenant);
});
