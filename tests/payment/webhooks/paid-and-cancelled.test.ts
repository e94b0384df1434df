/** Card orders that were paid without our hearing of it, and then ended: the gateway is asked, and the money is somebody's. */
import { expect, test } from "vitest";
import { sql, stack } from "../../support/db.ts";
import "../../support/expect.ts";
import { checkAll, placeOrder, type Shop, standing } from "../../support/orders.ts";
import { atGateway, hoursLater, newCardShop } from "../../support/payments.ts";

/** The clock asks, and what it queued is done. -> how many looks it queued for this shop */
async function ask({ tenant }: Shop): Promise<number> {
  const last = async () =>
    Number((await sql`select coalesce(max(id), 0) as id from app.jobs`)[0].id);
  const before = await last();
  await sql`select money.payments_reconcile()`;
  const [{ count }] = await sql`select count(*)::int from app.jobs
    where kind = 'payment.reconcile' and tenant_id = ${tenant.id} and id > ${before}`;
  await expect.poll(async () => {
    await fetch(`${stack.functionsUrl}/payment/internal/jobs`, {
      method: "POST",
      headers: { apikey: stack.secretKey },
    });
    const [{ open }] = await sql`select count(*)::int as open from app.jobs
      where kind = 'payment.reconcile' and tenant_id = ${tenant.id} and status in ('queued', 'running')`;
    return open;
  }, { timeout: 20_000 }).toBe(0);
  return count;
}

const openReports = async ({ tenant }: Shop) =>
  (await tenant.admin.get("/payment/webhook-events", { query: { open: true } })).body.data;
const cancel = ({ tenant }: Shop, id: string) =>
  tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "customer_request" });

test("an order that its shop cancels after it was paid unheard: the money is found, and is due to its customer", async () => {
  const shop = await newCardShop(10);
  const placed = await placeOrder(shop, "gatewayone");
  await atGateway(placed.instructions.redirect_url, "pay", "yes");
  expect(await cancel(shop, placed.id)).toSucceed(200);
  expect(await openReports(shop)).toEqual([]);
  // A look at once would be one at what was opened a moment ago.
  await sql`update money.payments set created_at = created_at - interval '2 minutes' where order_id = ${placed.id}`;
  expect(await ask(shop)).toBe(1);
  expect(await openReports(shop)).toMatchObject([{
    order_id: placed.id,
    reason: "order_cancelled",
  }]);
  const { body } = await shop.tenant.customer.get(`/storefront/orders/${placed.id}/payment-status`);
  expect(body.order).toMatchObject({ status: "cancelled", refund_due: true });
  // It is known now.
  expect(await ask(shop)).toBe(0);
  await hoursLater(placed, 2);
  expect(await ask(shop)).toBe(0);
  await checkAll(shop.tenant);
});

test("one that nobody paid is asked about once soon, once an hour, and no more after its end", async () => {
  const shop = await newCardShop(10);
  const placed = await placeOrder(shop, "gatewayone");
  expect(await cancel(shop, placed.id)).toSucceed(200);
  await sql`update money.payments set created_at = created_at - interval '2 minutes' where order_id = ${placed.id}`;
  expect(await ask(shop)).toBe(1);
  expect(await ask(shop)).toBe(0);
  await sql`update money.payments set last_checked_at = last_checked_at - interval '10 minutes',
    processed_at = processed_at - interval '20 minutes' where order_id = ${placed.id}`;
  expect(await ask(shop)).toBe(0);
  await hoursLater(placed, 2);
  expect(await ask(shop)).toBe(1);
  await hoursLater(placed, 23);
  expect(await ask(shop)).toBe(1);
  await hoursLater(placed, 2);
  expect(await ask(shop)).toBe(0);
  expect(await standing(placed.id)).toMatchObject({ status: "cancelled", paid: 0 });
  expect(await openReports(shop)).toEqual([]);
});
