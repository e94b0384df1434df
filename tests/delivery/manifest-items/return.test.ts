/** A cancelled order gives its item back, so that another one can be made of it. */
import { beforeAll, expect, test } from "vitest";
import { newStaged } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newWarehouse, path as deliveries } from "../../support/deliveries.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { balanceOf, checkBooks } from "../../support/money.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import {
  type Destination,
  eventsOf,
  newDestination,
  ordered,
  requestTo,
  setDestination,
  statusOf,
} from "../../support/set-destination.ts";

let made: Destination;
let tenant: Tenant;

beforeAll(async () => {
  made = await newDestination();
  tenant = made.tenant;
});

const cancel = (id: string, person = tenant.dispatcher) =>
  person.post(`${deliveries}/${id}/cancel`, { reason: "wrong place" });
const itemOf = async (id: string) =>
  (await sql`select status, delivery_id, destination_branch_id, received_at is not null as received
    from delivery.transfer_manifest_items where id = ${id}`)[0];
const returned = {
  status: "received",
  delivery_id: null,
  destination_branch_id: null,
  received: true,
};

test("search, validate and set-destination take it as any received item", async () => {
  const { manifest, itemIds: [item, kept], barcodes, orders } = await ordered(made, 2);
  const before = await balanceOf(made.wallet);
  expect(await cancel(orders[0].id)).toSucceed(200);
  expect(await itemOf(item)).toEqual(returned);
  expect((await itemOf(kept)).status).toBe("order_created");
  expect(await statusOf(manifest)).toBe("received");
  expect(await eventsOf(manifest)).toMatchObject({ order_cancelled: 1 });
  const found = await tenant.dispatcher.get("/delivery/transfer-manifest-items/search", {
    query: { q: barcodes[0] },
  });
  expect(found.body.data).toMatchObject([{ manifest_item_id: item, already_has_order: false }]);
  const checked = await tenant.dispatcher.post("/delivery/transfer-manifest-items/bulk/validate", {
    barcodes: [barcodes[0]],
  });
  expect(checked.body.data.results).toMatchObject([{ valid: true, current_status: "received" }]);

  const branch = await newBranch(tenant);
  const again = await tenant.dispatcher.post(
    setDestination,
    requestTo({ ...made, branch })([item]),
  );
  expect(again.body.data).toMatchObject({ created_count: 1, failed_count: 0 });
  const { delivery } = again.body.data.created[0];
  expect(delivery.id).not.toBe(orders[0].id);
  expect(delivery.delivery_code).not.toBe(orders[0].delivery_code);
  expect(await balanceOf(made.wallet)).toBe(before);
  // A scan of its barcode finds the live one.
  const scan = await tenant.warehouse.get(`/warehousing/package-scan/${barcodes[0]}`);
  expect(scan.body.delivery.id).toBe(delivery.id);
  // And so it goes a second time.
  expect(await cancel(delivery.id)).toSucceed(200);
  expect(await itemOf(item)).toEqual(returned);
  expect(await checkBooks(tenant)).toEqual([]);
});

test("a completed manifest is processing again, and can be completed once more", async () => {
  const { manifest, itemIds, orders } = await ordered(made, 1);
  const step = (name: string) =>
    tenant.dispatcher.post(`/delivery/transfer-manifests/${manifest}/${name}`, {});
  expect(await step("start-processing")).toSucceed(200);
  expect(await step("complete")).toSucceed(200);
  expect(await cancel(orders[0].id, tenant.institution)).toSucceed(200);
  expect(await statusOf(manifest)).toBe("processing");
  const detail = await tenant.dispatcher.get(`/delivery/transfer-manifests/${manifest}`, {
    query: { include: "events" },
  });
  expect(detail.body.data).toMatchObject({ completed_at: null, counts: { received: 1 } });
  expect(detail.body.data.events.slice(-2).map((e: { event_type: string }) => e.event_type))
    .toEqual(["order_cancelled", "processing_resumed"]);
  expect(await step("complete")).toFailWith(409, "manifest_items_unfinished");
  const again = await tenant.dispatcher.post(setDestination, requestTo(made)(itemIds));
  expect(again.body.data.created_count).toBe(1);
  expect(await step("complete")).toSucceed(200);
});

test("a staged order gives it back with its legs cancelled", async () => {
  const staged = await newDestination();
  const { warehouse } = await newWarehouse(staged.tenant, await newAddress(staged.tenant));
  await saveSettings(staged.tenant.id, "general.warehouse", {
    handoff_required: true,
    default_warehouse_id: warehouse,
  });
  const { itemIds, orders } = await ordered(staged, 1);
  const [leg] = await sql`select id from delivery.deliveries
    where parent_id = ${orders[0].id} and leg = 'A'`;
  expect(await cancel(leg.id, staged.tenant.dispatcher)).toSucceed(200);
  expect(await itemOf(itemIds[0])).toEqual(returned);
  const again = await staged.tenant.dispatcher.post(setDestination, requestTo(staged)(itemIds));
  expect(again.body.data.created_count).toBe(1);
});

test("only a cancelled order lets its item go, also below the cores", async () => {
  const { itemIds, orders } = await ordered(made, 1);
  const free =
    sql`update delivery.transfer_manifest_items set status = 'received', delivery_id = null
    where id = ${itemIds[0]}`;
  await expect(free).rejects.toThrow("item_already_has_order");
  const other = await newStaged(tenant);
  expect(await cancel(other.parent)).toSucceed(200);
  expect((await itemOf(itemIds[0])).delivery_id).toBe(orders[0].id);
});

test("a number that a delivery has already is a conflict, not a fault, and nothing is made", async () => {
  const { orders: [{ id, delivery_code }] } = await ordered(made, 1);
  const { itemIds } = await newManifest(tenant, { items: 1 });
  await sql`update delivery.deliveries set delivery_code = ${delivery_code + 1} where id = ${id}`;
  const answer = await tenant.dispatcher.post(setDestination, requestTo(made)(itemIds));
  expect(answer).toFailWith(409, "conflict");
  await sql`update delivery.deliveries set delivery_code = ${delivery_code} where id = ${id}`;
  const again = await tenant.dispatcher.post(setDestination, requestTo(made)(itemIds));
  expect(again.body.data.created_count).toBe(1);
});
