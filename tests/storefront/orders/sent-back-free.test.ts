/** Goods that a store's customer has received, and sends back. */
import { expect, test } from "vitest";
import "../../support/expect.ts";
import { newService } from "../../support/money.ts";
import { approveOrder, bring, newSplitShop } from "../../support/order-goods.ts";
import { placeOrder } from "../../support/orders.ts";

/** An order of three that its customer has; `sendBack` orders the return of one of them. */
async function received() {
  const shop = await newSplitShop({ first: 5, second: 0 });
  const { customer, ops } = shop.tenant;
  const { id } = await placeOrder(shop, "wallet", 3);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await bring(shop, delivery_id, "delivered");
  const { body: { delivery: { items: [item] } } } = await customer.get(
    `/delivery/deliveries/${delivery_id}`,
  );
  const delivery_service_id = await newService(shop.tenant, { allow_returns: true });
  const sendBack = (more: object, by = customer) =>
    by.post("/delivery/deliveries", {
      delivery_flow: "customer_return",
      original_delivery_id: delivery_id,
      delivery_service_id,
      unit_size: 1,
      payer_type: "sender",
      payment_method: "cash",
      return_items: [{ delivery_item_id: item.id, quantity: 1 }],
      ...more,
    });
  return { customer, ops, sendBack };
}

test("their return collects no amount, as it is ordered, as a draft is changed, and later", async () => {
  const { customer, ops, sendBack } = await received();
  const refused = await sendBack({ cod_amount: 5_000 });
  expect(refused).toFailWith(409, "order_amount_fixed");
  expect(refused.body.message).toContain("comes back from a store's order");

  const draft = await sendBack({ status: "draft" });
  expect(draft).toSucceed(201);
  const path = `/delivery/deliveries/${draft.body.delivery.id}`;
  expect(await customer.patch(path, { cod_amount: 5_000 }))
    .toFailWith(409, "order_amount_fixed");
  expect(await customer.post(`${path}/submit`)).toSucceed(200);
  for (const person of [customer, ops]) {
    const change = { cod_amount: 5_000, reason: "Please" };
    expect(await person.post(`${path}/amount-changes`, change))
      .toFailWith(409, "order_amount_fixed");
  }
});

test("their return is paid by them, unless the office orders it", async () => {
  const { customer, ops, sendBack } = await received();
  const refused = await sendBack({ payer_type: "receiver" });
  expect(refused).toFailWith(403, "forbidden");
  expect(refused.body.message).toContain("customer pays for what they send back");
  const own = await sendBack({ status: "draft" });
  const path = `/delivery/deliveries/${own.body.delivery.id}`;
  expect(await customer.patch(path, { payer_type: "receiver" })).toFailWith(403, "forbidden");
  expect(await ops.patch(path, { payer_type: "receiver" })).toSucceed(200);
  expect(await customer.post(`${path}/submit`)).toSucceed(200);
  expect(await sendBack({ payer_type: "receiver" }, ops)).toSucceed(201);
});
