/** Corrections of items that were sent, received or reprocessed by mistake. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { newService } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import {
  type Destination,
  eventsOf,
  newDestination,
  ordered,
  requestTo,
  setDestination,
  statusOf,
} from "../../support/set-destination.ts";

const base = "/delivery/transfer-manifests";
const resolve = "/delivery/transfer-manifest-items/bulk/resolve-exceptions";
const queue = "/delivery/transfer-manifest-exceptions";
let made: Destination;
let tenant: Tenant;

beforeAll(async () => {
  made = await newDestination();
  tenant = made.tenant;
  await saveSettings(tenant.id, "delivery.transfer_manifest", {
    reasons: [{ value: "damaged", label: "Damaged" }],
  });
});

const order = (itemIds: string[]) =>
  tenant.dispatcher.post(setDestination, requestTo(made)(itemIds));

describe("an item that is reprocessed before it was received", () => {
  /** Received but for the first item, which is missing. */
  const missing = () => newManifest(tenant, { status: "received_with_exceptions", items: 3 });
  const reprocess = (id: string) =>
    tenant.dispatcher.post(resolve, { item_ids: [id], outcome: "reprocess" });

  test("has its manifest receiving again, which says what it waits for, and is ordered in one call", async () => {
    const { id, number, itemIds, barcodes } = await missing();
    const answer = await reprocess(itemIds[0]);
    expect(answer).toSucceed(200);
    expect(answer.body.data.manifests).toEqual([{
      manifest_id: id,
      manifest_number: number,
      status: "receiving",
      remaining_count: 1,
      waiting_for: [{ item_id: itemIds[0], barcode_value: barcodes[0] }],
    }]);
    const rest = await order(itemIds.slice(1));
    expect(rest.body).toMatchObject({ success: false, code: "manifest_receiving_incomplete" });
    expect(rest.body.message).toContain(`${number} (1)`);
    expect(rest.body.data.receipt.manifests).toMatchObject([{
      ready: false,
      waiting_for: [{ barcode_value: barcodes[0] }],
    }]);
    const checked = await tenant.dispatcher.post(
      "/delivery/transfer-manifest-items/bulk/validate",
      { barcodes },
    );
    expect(checked.body.data.total_valid).toBe(3);
    const all = await order(itemIds);
    expect(all).toSucceed(200);
    expect(all.body.data.created_count).toBe(3);
    expect(await statusOf(id)).toBe("received");
    expect(await eventsOf(id)).toMatchObject({ receiving_resumed: 1, receiving_completed: 1 });
    const [row] = await sql`select received_count, received_at is not null as received
      from delivery.transfer_manifests where id = ${id}`;
    expect(row).toEqual({ received_count: 3, received: true });
  });

  test.each([
    ["put back as an exception", "received_with_exceptions", false],
    ["void", "received", true],
  ])("%s frees the rest at once", async (_, status, voids) => {
    const { id, itemIds } = await missing();
    expect(await reprocess(itemIds[0])).toSucceed(200);
    const back = { manifest_item_id: itemIds[0], reason: "damaged" };
    expect(await tenant.dispatcher.post(queue, back)).toSucceed(201);
    expect(await statusOf(id)).toBe("received_with_exceptions");
    if (voids) {
      const gone = { item_ids: [itemIds[0]], outcome: "void" };
      expect(await tenant.dispatcher.post(resolve, gone)).toSucceed(200);
    }
    expect(await statusOf(id)).toBe(status);
    expect((await order(itemIds.slice(1))).body.data.created_count).toBe(2);
  });

  test("a second round is completed with an event of its own", async () => {
    const { id, itemIds } = await missing();
    for (let round = 0; round < 2; round++) {
      expect(await reprocess(itemIds[0])).toSucceed(200);
      expect(
        await tenant.dispatcher.post(queue, { manifest_item_id: itemIds[0], reason: "damaged" }),
      ).toSucceed(201);
    }
    expect(await eventsOf(id)).toMatchObject({ receiving_resumed: 2, receiving_completed: 2 });
  });

  test("below the cores too, receiving begins again only for an item", async () => {
    const { id } = await newManifest(tenant, { status: "received" });
    await expect(sql`update delivery.transfer_manifests set status = 'receiving' where id = ${id}`)
      .rejects.toThrow("invalid_status_transition");
  });
});

test("what resolves nothing is no success, and both or no selector are said", async () => {
  const { itemIds } = await newManifest(tenant, { status: "received" });
  const none = await tenant.dispatcher.post(resolve, {
    item_ids: [itemIds[0], randomUUID()],
    outcome: "void",
  });
  expect(none.status).toBe(200);
  expect(none.body).toMatchObject({
    success: false,
    message: "Exceptions resolved: 0; entries that failed: 2.",
    data: { resolved_count: 0, failed_count: 2 },
  });
  for (const selectors of [{}, { item_ids: itemIds, manifest_id: randomUUID() }]) {
    const answer = await tenant.dispatcher.post(resolve, { ...selectors, outcome: "void" });
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.message)
      .toBe("item_ids is needed, or manifest_id in its place, and not both.");
  }
});

describe("another processing point", () => {
  const move = (id: string, point: string, person = tenant.warehouse, headers = {}) =>
    person.patch(`${base}/${id}`, { destination_processing_point_id: point }, { headers });

  test.each(["draft", "picked_up", "in_transit", "awaiting_receipt", "receiving"] as const)(
    "of a manifest that is %s",
    async (status) => {
      const { id, point } = await newManifest(tenant, { status });
      const to = await newProcessingPoint(tenant);
      const answer = await move(id, to);
      expect(answer).toSucceed(200);
      expect(answer.body.data).toMatchObject({ status, processing_point_id: to });
      expect(await move(id, to)).toSucceed(200);
      const events = await sql`select payload from delivery.transfer_manifest_events
        where manifest_id = ${id} and event_type = 'processing_point_changed'`;
      expect(events).toHaveLength(1);
      expect(events[0].payload).toMatchObject({ from: point, to });
    },
  );

  test("is refused once an item was received, and when the point is none", async () => {
    const to = await newProcessingPoint(tenant);
    const half = await newManifest(tenant, {
      status: "receiving",
      items: [{ status: "received" }, {}],
    });
    const refused = await move(half.id, to);
    expect(refused).toFailWith(409, "manifest_action_not_allowed");
    expect(refused.body.message).toContain("received already");
    for (const status of ["received", "processing", "completed", "cancelled"] as const) {
      const { id } = await newManifest(tenant, { status });
      expect(await move(id, to)).toFailWith(409, "manifest_action_not_allowed");
    }
    const { id } = await newManifest(tenant);
    const stranger = await newTenant();
    expect(await move(id, await newProcessingPoint(stranger)))
      .toFailWith(404, "processing_point_not_found");
    await sql`update delivery.transfer_processing_points set is_active = false where id = ${to}`;
    expect(await move(id, to)).toFailWith(409, "processing_point_inactive");
    expect(await move(randomUUID(), to)).toFailWith(404, "manifest_not_found");
    expect(await move(id, to, stranger.ops)).toFailWith(404, "manifest_not_found");
    for (const person of [tenant.driver, tenant.institution, tenant.staff]) {
      expect(await move(id, to, person)).toFailWith(403, "forbidden");
    }
    expect(await move(id, to, nobody)).toFailWith(401, "unauthorized");
    expect(await move(id, to, tenant.ops, { "if-match": '"1"' })).toFailWith(
      412,
      "version_conflict",
    );
  });

  test("and a first item at the same moment: one of them", async () => {
    const to = await newProcessingPoint(tenant);
    for (let round = 0; round < 5; round++) {
      const { id, itemIds } = await newManifest(tenant, { status: "receiving" });
      const [moved, received] = await Promise.all([
        move(id, to),
        tenant.dispatcher.post(`${base}/${id}/receive-items`, { item_ids: [itemIds[0]] }),
      ]);
      expect(received).toSucceed(200);
      if (moved.status !== 200) expect(moved).toFailWith(409, "manifest_action_not_allowed");
      expect((await eventsOf(id)).processing_point_changed ?? 0).toBe(moved.status === 200 ? 1 : 0);
    }
  });
});

test("the office cancels until receiving began; a driver does not", async () => {
  const { id } = await newManifest(tenant);
  const cancel = (person: Tenant["ops"]) =>
    person.post(`${base}/${id}/cancel`, { reason: "never sent" });
  expect(await cancel(tenant.driver)).toFailWith(403, "forbidden");
  expect(await cancel(tenant.dispatcher)).toSucceed(200);
  expect(await statusOf(id)).toBe("cancelled");
});

test("what is in use is so by manifests that are named", async () => {
  const point = await newProcessingPoint(tenant);
  const branch = await newBranch(tenant, { point });
  const manifests = [
    await newManifest(tenant, { branch }),
    await newManifest(tenant, { branch, status: "received" }),
  ];
  for (
    const [path, code] of [
      [`/delivery/transfer-processing-points/${point}/deactivate`, "processing_point_in_use"],
      [
        `/delivery/institutions/${tenant.institution.id}/branches/${branch}/deactivate`,
        "branch_in_use",
      ],
    ]
  ) {
    const answer = await tenant.ops.post(path, {});
    expect(answer).toFailWith(409, code);
    expect(answer.body).toMatchObject({
      count: 2,
      manifests: [
        { manifest_number: manifests[0].number, manifest_status: "awaiting_receipt" },
        { manifest_number: manifests[1].number, manifest_status: "received" },
      ],
    });
    expect(answer.body.message).toContain(`${manifests[0].number}, ${manifests[1].number}`);
  }
});

test("the default service of manifests is not switched off", async () => {
  const own = await newTenant();
  const id = await newService(own);
  await saveSettings(own.id, "delivery.transfer_manifest", { default_delivery_service_id: id });
  const put = (active: boolean) => own.ops.put(`/delivery/services/${id}`, { active });
  const answer = await put(false);
  expect(answer).toFailWith(409, "delivery_service_in_use_by_settings");
  expect(answer.body.setting_references).toEqual([
    { source: "delivery.transfer_manifest", setting_key: "default_delivery_service_id" },
  ]);
  expect(await put(true)).toSucceed(200);
  await saveSettings(own.id, "delivery.transfer_manifest", {
    default_delivery_service_id: null as never,
  });
  expect(await put(false)).toSucceed(200);
});

test("the clock completes what is done for a day", async () => {
  const done = await ordered(made, 1);
  const open = await newManifest(tenant, { status: "received" });
  const voided = await newManifest(tenant, { status: "processing", items: [{ status: "void" }] });
  const fresh = await ordered(made, 1);
  const old = [done.manifest, open.id, voided.id];
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update delivery.transfer_manifests set updated_at = now() - interval '25 hours' where id = any (${old})`;
    await tx`update delivery.transfer_manifest_items set updated_at = now() - interval '25 hours'
      where manifest_id = any (${old})`;
  });
  await sql`select delivery.manifests_complete()`;
  expect(await Promise.all([...old, fresh.manifest].map(statusOf)))
    .toEqual(["completed", "received", "completed", "received"]);
  expect(await eventsOf(done.manifest)).toMatchObject({
    processing_started: 1,
    manifest_completed: 1,
  });
});

test("a processing point at a customer's address is refused with the field, and says why", async () => {
  const address_id = await newAddress(tenant);
  await sql`update delivery.addresses set owner_user_id = ${tenant.customer.id} where id = ${address_id}`;
  const refused = await tenant.ops.post("/delivery/transfer-processing-points", {
    name: "Hub",
    code: "HUB",
    address_id,
  });
  expect(refused).toFailWith(404, "address_not_found");
  expect(refused.body).toMatchObject({
    field: "address_id",
    message: "This address is a person's own; choose one of the company's addresses.",
  });
});
