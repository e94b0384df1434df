import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newBranch } from "../../support/make.ts";
import { newBarcode, newManifest } from "../../support/manifests.ts";
import { fundWallet, newService } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const base = "/delivery/transfer-manifests";
const photo = "https://example.com/photo.jpg";
const signature = "https://example.com/signature.png";
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
});

async function rowOf(id: string) {
  const [row] = await sql`select * from delivery.transfer_manifests where id = ${id}`;
  return row;
}

async function itemStatuses(id: string): Promise<string[]> {
  const rows =
    await sql`select status from delivery.transfer_manifest_items where manifest_id = ${id} order by position`;
  return rows.map((row) => row.status);
}

async function eventsOf(id: string) {
  return await sql`select event_type, actor_id, payload from delivery.transfer_manifest_events
    where manifest_id = ${id} order by id`;
}

test("a parcel goes all the way from a draft to a completed manifest, an event for each step", async () => {
  const service = await newService(tenant);
  await fundWallet(tenant, "institution", tenant.institution.id, 1_000_000);
  const branch = await newBranch(tenant);
  const made = await tenant.driver.post(base, {
    institution_user_id: tenant.institution.id,
    source_branch_id: branch,
    creation_source: "form",
  });
  const { id } = made.body.data;
  const at = (action: string) => `${base}/${id}/${action}`;
  const added = await tenant.driver.post(at("items"), {
    items: [{ barcode_value: newBarcode() }],
  });
  const item = added.body.data.items[0].id;
  const steps = [
    await tenant.driver.post(at("pickup"), {
      proof: { photo_urls: [photo] },
      latitude: 33.3,
      longitude: 44.4,
    }),
    await tenant.driver.post(at("depart")),
    await tenant.driver.post(at("arrive"), { latitude: 33.4, longitude: 44.5 }),
    await tenant.driver.post(at("proofs"), {
      stage: "delivery",
      photo_urls: [photo],
      signature_url: signature,
      signed_by: "Ali",
    }),
    await tenant.warehouse.post(at("start-receiving")),
    await tenant.warehouse.post(at("receive-items"), { item_ids: [item] }),
    await tenant.warehouse.post(at("complete-receiving")),
    await tenant.dispatcher.post("/delivery/transfer-manifest-items/bulk/set-destination", {
      item_ids: [item],
      destination_branch_id: branch,
      delivery_service_id: service,
    }),
    await tenant.warehouse.post(at("start-processing")),
    await tenant.warehouse.post(at("complete")),
  ];
  for (const answer of steps) expect(answer).toSucceed();
  expect(await itemStatuses(id)).toEqual(["order_created"]);
  const events = await eventsOf(id);
  expect(events.map((event) => event.event_type)).toEqual([
    "manifest_created",
    "items_added",
    "manifest_picked_up",
    "manifest_in_transit",
    "driver_arrived",
    "proof_added",
    "receiving_started",
    "item_received",
    "receiving_completed",
    "order_created",
    "processing_started",
    "manifest_completed",
  ]);
  expect(events[2].payload).toMatchObject({ photos: 1, latitude: 33.3, longitude: 44.4 });
  expect(events[7].payload).toMatchObject({
    item_id: item,
    barcode_value: added.body.data.items[0].barcode_value,
    source: "receiving",
    actor_id: tenant.warehouse.id,
  });
  expect(events[8].payload).toMatchObject({ received_count: 1, source: "receiving" });
  const row = await rowOf(id);
  expect(row).toMatchObject({
    status: "completed",
    receiver_id: tenant.warehouse.id,
    received_by: tenant.warehouse.id,
    received_count: 1,
  });
  for (
    const instant of [
      "picked_up_at",
      "departed_at",
      "driver_arrived_at",
      "receiving_started_at",
      "received_at",
      "processing_started_at",
      "completed_at",
    ]
  ) expect(row[instant], instant).toBeInstanceOf(Date);
});

describe("pickup", () => {
  test("needs an item, then the proofs the settings ask for, and keeps them", async () => {
    const empty = await newManifest(tenant, { status: "draft", items: [] });
    expect(
      await tenant.driver.post(`${base}/${empty.id}/pickup`, { proof: { photo_urls: [photo] } }),
    ).toFailWith(409, "manifest_has_no_items");
    const manifest = await newManifest(tenant, { status: "draft" });
    const path = `${base}/${manifest.id}/pickup`;
    for (const body of [{}, { proof: {} }, { proof: { signature_url: signature } }]) {
      const refused = await tenant.driver.post(path, body);
      expect(refused).toFailWith(409, "manifest_pickup_proof_required");
      expect(refused.body).toMatchObject({
        missing: ["photo"],
        manifest_number: manifest.number,
        manifest_status: "draft",
      });
    }
    // Nothing of a refused call is stored.
    expect((await tenant.driver.get(`${base}/${manifest.id}`)).body.data.proofs).toEqual([]);
    const done = await tenant.driver.post(path, {
      proof: { photo_urls: [photo], signature_url: signature, signed_by: "Sara" },
    });
    expect(done).toSucceed(200);
    expect(done.body.data.status).toBe("picked_up");
    const { proofs } = (await tenant.driver.get(`${base}/${manifest.id}`)).body.data;
    expect(proofs).toHaveLength(2);
    expect(proofs).toMatchObject(
      proofs[0].kind === "photo"
        ? [{ url: photo, signed_by: null }, { url: signature, signed_by: "Sara" }]
        : [{ url: signature, signed_by: "Sara" }, { url: photo, signed_by: null }],
    );
  });

  test("asks for what the tenant asks for: nothing, or a signature too", async () => {
    const own = await newTenant();
    const set = (pickup: Record<string, boolean>) =>
      saveSettings(own.id, "delivery.transfer_manifest", { proof_settings: { pickup } });
    await set({ photo_required: false });
    const easy = await newManifest(own, { status: "draft" });
    expect(await own.driver.post(`${base}/${easy.id}/pickup`)).toSucceed();
    await set({ photo_required: true, signature_required: true });
    const strict = await newManifest(own, { status: "draft" });
    const path = `${base}/${strict.id}`;
    expect(await own.driver.post(`${path}/pickup`, { proof: { photo_urls: [photo] } }))
      .toFailWith(409, "manifest_pickup_proof_required");
    const kept = await own.driver.post(`${path}/proofs`, {
      stage: "pickup",
      signature_url: signature,
    });
    expect(kept.body.data.complete).toBe(false);
    expect(await own.driver.post(`${path}/pickup`, { proof: { photo_urls: [photo] } })).toSucceed();
  });
});

describe("on the road", () => {
  test("departure takes the items along, also those in the exception queue, but no void one", async () => {
    const manifest = await newManifest(tenant, {
      status: "picked_up",
      items: [{}, { exception: "damaged" }, { status: "void" }],
    });
    expect(await tenant.driver.post(`${base}/${manifest.id}/depart`)).toSucceed();
    expect(await itemStatuses(manifest.id)).toEqual(["in_transit", "in_transit", "void"]);
  });

  test("a driver who forgot to depart still arrives; the proof may come along", async () => {
    const manifest = await newManifest(tenant, { status: "picked_up" });
    const arrived = await tenant.driver.post(`${base}/${manifest.id}/arrive`, {
      proof: { photo_urls: [photo], signature_url: signature },
    });
    expect(arrived.body.data).toMatchObject({ status: "awaiting_receipt", departed_at: null });
    expect(await tenant.warehouse.post(`${base}/${manifest.id}/start-receiving`)).toSucceed();
  });

  test("operations take every step on the driver's behalf; another driver finds nothing", async () => {
    const manifest = await newManifest(tenant, { status: "draft" });
    for (const action of ["pickup", "depart", "arrive", "cancel"]) {
      expect(
        await tenant.driver2.post(`${base}/${manifest.id}/${action}`, {
          proof: { photo_urls: [photo] },
          reason: "mine now",
        }),
      ).toFailWith(404, "manifest_not_found");
    }
    const body = { proof: { photo_urls: [photo] } };
    for (const action of ["pickup", "depart", "arrive"]) {
      expect(await tenant.dispatcher.post(`${base}/${manifest.id}/${action}`, body)).toSucceed();
    }
    expect((await eventsOf(manifest.id)).map((event) => event.actor_id)).toEqual(
      Array(3).fill(tenant.dispatcher.id),
    );
  });
});

describe("cancelling a manifest", () => {
  test("voids the items, closes their exceptions, frees the barcodes and says why", async () => {
    const manifest = await newManifest(tenant, {
      status: "in_transit",
      items: [{}, { exception: "damaged" }],
    });
    const answer = await tenant.ops.post(`${base}/${manifest.id}/cancel`, {
      reason: "Lorry broke",
    });
    expect(answer.body.data).toMatchObject({
      status: "cancelled",
      cancel_reason: "Lorry broke",
      open_exceptions_count: 0,
    });
    expect(await itemStatuses(manifest.id)).toEqual(["void", "void"]);
    const [exception] =
      await sql`select status, outcome, resolved_by from delivery.transfer_manifest_exceptions where manifest_id = ${manifest.id}`;
    expect(exception).toEqual({ status: "resolved", outcome: "void", resolved_by: tenant.ops.id });
    expect((await eventsOf(manifest.id)).at(-1)).toMatchObject({
      event_type: "manifest_cancelled",
      payload: { reason: "Lorry broke" },
    });
    const again = await newManifest(tenant, { status: "draft", items: [] });
    expect(
      await tenant.ops.post(`${base}/${again.id}/items`, {
        items: manifest.barcodes.map((barcode_value) => ({ barcode_value })),
      }),
    ).toSucceed(201);
  });

  test("is the driver's right for drafts only", async () => {
    const [draft, taken] = await Promise.all([
      newManifest(tenant, { status: "draft" }),
      newManifest(tenant, { status: "picked_up" }),
    ]);
    const body = { reason: "no time" };
    expect(await tenant.driver.post(`${base}/${taken.id}/cancel`, body)).toFailWith(
      403,
      "forbidden",
    );
    expect((await rowOf(taken.id)).status).toBe("picked_up");
    expect(await tenant.driver.post(`${base}/${draft.id}/cancel`, body)).toSucceed();
  });
});
