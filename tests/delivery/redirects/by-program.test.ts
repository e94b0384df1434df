/** A program that reports by an API key from a door that came before the redirect: the person who redirected is notified. */
import { expect, test } from "vitest";
import { withKey } from "../../support/api.ts";
import { newKey } from "../../support/api-keys.ts";
import { checkAll, deliveryIn } from "../../support/deliveries.ts";
import { report } from "../../support/outcomes.ts";
import { fee, newRoads, redirect } from "../../support/redirects.ts";

test("a program that reports from the old door", async () => {
  const roads = await newRoads();
  const { tenant } = roads;
  const program = withKey((await newKey(tenant)).key);
  const { id } = await deliveryIn(roads, "in_transit", { cod_amount: 5000 });
  const occurred_at = new Date().toISOString();
  expect(await redirect(tenant.ops, id, roads.far, {})).toSucceed(200);
  const cash_collected = { cod: 5000, delivery_fee: fee.near };
  expect(await report(program, id, { result: "delivered", occurred_at, cash_collected }))
    .toSucceed(200);
  const { body } = await tenant.ops.get("/tenants/me/notifications", {
    query: { type: "redirect_late" },
  });
  expect(body.data).toMatchObject([{ payload: { delivery_id: id, amount: fee.near } }]);
  await checkAll(tenant);
});
