/** An order of a manifest that keeps its service: that was agreed, whatever became of it since. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { checkBooks, newService } from "../../support/money.ts";
import { type Change, newChange, ordered } from "../../support/set-destination.ts";
import { newZone, square } from "../../support/zones.ts";

let { made, tenant, change } = {} as Change;
let service: string;
beforeAll(async () => {
  ({ made, tenant, change } = await newChange());
});
beforeEach(async () => {
  service = await newService(tenant, { price_per_km: 100 });
});
afterAll(async () => expect(await checkBooks(tenant)).toEqual([]));

const now = (fate: Record<string, unknown>) =>
  sql`update delivery.delivery_services set ${sql(fate)} where id = ${service}`;
const orderOf = async (id: string) =>
  (await sql`select delivery_fee, unit_size, unit_size_source, delivery_service_id, dropoff_address_id
    from delivery.deliveries where id = ${id}`)[0];
const gone = { active: false, deleted_at: new Date() };

test.each<[string, Record<string, unknown>]>([
  ["switched off", { active: false }],
  ["deleted", gone],
  ["deleted with its zones", { ...gone, zone_access_mode: "select_zones" }],
  ["closed to its institution", { access_mode: "select_users" }],
  ["for larger parcels only", { unit_min: 20 }],
  ["for smaller parcels only", { unit_min: 0, unit_max: 0.1 }],
])("is sent elsewhere while it is %s, as a dry run says", async (_fate, fate) => {
  const { itemIds, orders } = await ordered({ ...made, service }, 1);
  const before = await orderOf(orders[0].id);
  await now(fate);
  const to = {
    destination_branch_id: undefined,
    destination_address_id: await newAddress(tenant, { latitude: 33.41 }),
  };
  const asked = await change(itemIds, { ...to, dry_run: true });
  expect(asked.body.data).toMatchObject({ changed_count: 1, failed_count: 0 });
  const done = await change(itemIds, to);
  expect(done).toSucceed(200);
  expect(done.body.data.changed).toEqual(asked.body.data.changed);
  const [{ price_difference }] = done.body.data.changed;
  expect(price_difference).toBeGreaterThan(0);
  expect(await orderOf(orders[0].id)).toEqual({
    ...before,
    delivery_fee: before.delivery_fee + price_difference,
    dropoff_address_id: to.destination_address_id,
  });
});

test("goes where its service goes, and with another only where that is open to it", async () => {
  const { itemIds } = await ordered({ ...made, service }, 1);
  const at = { latitude: 33.41 };
  await newZone(tenant, square(44.36, 33.41, 0.01));
  const to = {
    destination_branch_id: undefined,
    destination_address_id: await newAddress(tenant, at),
  };
  await now({ zone_access_mode: "select_zones" });
  const refused = await change(itemIds, to);
  expect(refused.body.data.failed[0].error_key).toBe("delivery_service_not_available");
  const closed = await newService(tenant, { access_mode: "select_users" });
  const other = await change(itemIds, { ...to, delivery_service_id: closed });
  expect(other.body.data.failed[0].error_key).toBe("delivery_service_not_available");
});
