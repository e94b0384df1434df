/** The setting delivery.payouts; orders of manifests, which are charged many at a time; redirects. */
import { expect, test } from "vitest";
import { delivered, setPayouts, sound, standing } from "../../support/cod-holds.ts";
import { newDelivery, newGround } from "../../support/deliveries.ts";
import { newManifest } from "../../support/manifests.ts";
import { fundWallet, newService } from "../../support/money.ts";
import { newTenant } from "../../support/people.ts";
import { fee, newRoads, redirect } from "../../support/redirects.ts";
import {
  changeDestination,
  newDestination,
  requestTo,
  setDestination,
} from "../../support/set-destination.ts";

test("says when COD is released; what would have no effect is refused by its name", async () => {
  const tenant = await newTenant();
  const put = (settings: unknown) =>
    tenant.admin.put(`/tenants/${tenant.id}/settings`, { delivery: { payouts: { settings } } });
  const saved = await put({ release: "on_remit", hold_days: 3, minimum: 500, keep: 0 });
  expect(saved).toSucceed(200);
  expect(await put({ release: "on_bank" })).toSucceed(200);
  expect(saved.body.delivery.payouts.settings).toEqual({
    release: "on_remit",
    hold_days: 3,
    minimum: 500,
    keep: 0,
  });
  for (
    const [settings, field] of [
      [{ release: "never" }, "release"],
      [{ release: 7 }, "release"],
      [{ hold_days: -1 }, "hold_days"],
      [{ hold_days: 1.5 }, "hold_days"],
      [{ hold_days: 366 }, "hold_days"],
      [{ hold_days: "2" }, "hold_days"],
      [{ minimum: -1 }, "minimum"],
      [{ keep: "much" }, "keep"],
      [{ cycle: "yearly" }, "cycle"],
      [{ weekday: 0 }, "weekday"],
      [{ weekday: "Thursday" }, "weekday"],
      [{ day: 0 }, "day"],
      [{ day: 29 }, "day"],
    ] as const
  ) {
    const answer = await put(settings);
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe(`delivery.payouts.settings.${field}`);
  }
  const cycle = { cycle: "weekly", weekday: "thursday", day: 28 };
  expect((await put(cycle)).body.delivery.payouts.settings).toMatchObject(cycle);
  for (const unknown of [{ released: "on_remit" }, { cycles: "weekly" }]) {
    expect(await put(unknown)).toFailWith(400, "validation_failed");
  }
  const emptied = await put({
    ...{ release: null, hold_days: null, minimum: null, keep: null },
    ...{ cycle: null, weekday: null, day: null },
  });
  expect(emptied.body.delivery.payouts.settings).toEqual({});
});

test("orders of a manifest, and their changes, cost at most what is available", async () => {
  const made = await newDestination(1_500);
  const { tenant } = made;
  await setPayouts(tenant, { release: "on_remit" });
  const ground = await newGround(tenant);
  await delivered(ground, [7_000], {
    customer_id: undefined,
    institution_user_id: tenant.institution.id,
  });
  expect(await standing(tenant.institution)).toEqual([8_500, 7_000, 1_500]);
  const { itemIds } = await newManifest(tenant, { items: 2 });
  const answer = await tenant.dispatcher.post(setDestination, requestTo(made)(itemIds));
  expect(answer.body.data).toMatchObject({ created_count: 1, failed_count: 1 });
  expect(answer.body.data.failed[0]).toMatchObject({
    error_key: "insufficient_wallet_balance",
    error_message:
      "Of the 7500 IQD in the wallet 500 IQD can be spent now, and 1000 IQD are needed.",
  });
  expect(await standing(tenant.institution)).toEqual([7_500, 7_000, 500]);
  const dearer = await newService(tenant, { default_price: 1_501 });
  for (const dry_run of [true, false]) {
    const changed = await tenant.dispatcher.post(changeDestination, {
      item_ids: [itemIds[0]],
      destination_branch_id: made.branch,
      delivery_service_id: dearer,
      dry_run,
    });
    expect(changed.body.data.failed).toMatchObject([{
      error_key: "insufficient_wallet_balance",
      error_message:
        "Of the 7500 IQD in the wallet 500 IQD can be spent now, and 501 IQD are needed.",
    }]);
  }
  await sound(tenant);
});

test("a redirect costs at most what is available, as its dry run says before", async () => {
  const roads = await newRoads();
  const { tenant } = roads;
  await setPayouts(tenant, { release: "on_remit" });
  await delivered(roads, [7_000]);
  await fundWallet(tenant, "customer", tenant.customer.id, fee.near + 1_111);
  const { id } = await newDelivery(roads, { payer_type: "sender", payment_method: "wallet" });
  for (const dry_run of [true, false]) {
    const refused = await redirect(tenant.customer, id, roads.far, { dry_run });
    expect(refused).toFailWith(400, "insufficient_wallet_balance");
    expect(refused.body).toMatchObject({ balance: 8_111, available: 1_111, required: 1_112 });
  }
  await fundWallet(tenant, "customer", tenant.customer.id, 1);
  expect(await redirect(tenant.customer, id, roads.far)).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
  await sound(tenant);
});
