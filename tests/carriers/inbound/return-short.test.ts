/** A carrier brings a return into a warehouse while the company cannot refund the fee of the parcel that came back. */
import { expect, test } from "vitest";
import { enable, external, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { path, statusOf } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { fundWallet } from "../../support/money.ts";
import { checkAll, walletOf } from "../../support/orders.ts";
import { newYard } from "../../support/packages.ts";
import { newTenant } from "../../support/people.ts";
import { fromWarehouse, sentBackBy, transferred } from "../../support/send-back.ts";
import { adjust } from "../../support/wallets.ts";

test("it comes in all the same, and the refund waits for the office", async () => {
  const tenant = await newTenant();
  const yard = await newYard(tenant);
  const { secret } = await enable(tenant);
  await sql`update warehousing.bins set is_default_receiving = true where id = ${yard.bin!}`;
  await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}' where id = ${yard.service}`;
  const parcel = await fromWarehouse(yard, { payer_type: "sender", payment_method: "wallet" });
  await transferred(yard, parcel);
  const back = await sentBackBy(yard, parcel.id, "operational-return");
  expect(await tenant.ops.patch(`${path}/${back.id}/carrier`, external)).toSucceed(200);
  const booked = await tenant.ops.post(`/carriers/shipments/${back.id}`, {
    carrier_code: "simulated",
  });
  const { tracking_number } = booked.body.shipment;
  const [till] = await sql`select id, balance from money.accounts
    where tenant_id = ${tenant.id} and kind = 'wallet' and owner_type = 'tenant'`;
  expect(await adjust(tenant.admin, till.id, Number(till.balance), "debit")).toSucceed(200);

  for (const status of ["picked_up", "delivered"]) {
    const answer = await report(tenant, secret, { tracking_number, status });
    expect(answer.body).toMatchObject({ outcome: "applied" });
  }
  expect(await statusOf(back.id)).toBe("delivered");
  expect(await statusOf(parcel.id)).toBe("returned");
  const events = await sql`select event_type, event_data from integration.system_events
    where entity_id = ${parcel.id} and event_type like '%refund_due'`;
  expect(events).toMatchObject([{
    event_type: "delivery.refund_due",
    event_data: { delivery_id: parcel.id, currency: "IQD" },
  }]);
  const [{ type }] = (await tenant.admin.get("/tenants/me/notifications")).body.data;
  expect(type).toBe("refund_due");
  expect(await walletOf(tenant, tenant.customer.id)).toBeLessThan(10_000);
  await checkAll(tenant);
});
