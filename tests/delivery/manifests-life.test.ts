import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { newBarcode, newManifest } from "../support/manifests.ts";
import { newAddress, newBranch } from "../support/make.ts";
import { newTenant, saveSettings, type Tenant } from "../support/people.ts";

const base = "/delivery/transfer-manifests";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

async function statusOf(id: string) {
  const [row] = await sql`select status from delivery.transfer_manifests where id = ${id}`;
  return row.status;
}

async function eventsOf(id: string): Promise<string[]> {
  const rows =
    await sql`select event_type from delivery.transfer_manifest_events where manifest_id = ${id} order by id`;
  return rows.map((row) => row.event_type);
}

test("a parcel goes from draft to the receipt, an event for each step", async () => {
  const branch = await newBranch(tenant);
  const made = await tenant.driver.post(base, {
    institution_user_id: tenant.institution.id,
    source_branch_id: branch,
    creation_source: "form",
  });
  expect(made).toSucceed(201);
  const id = made.body.data.id;
  const barcode = newBarcode();
  const added = await tenant.driver.post(`${base}/${id}/items`, {
    items: [{ barcode_value: barcode }],
  });
  expect(added).toSucceed(201);
  const photo = `${tenant.id}/${id}/p.jpg`;
  expect(
    await tenant.driver.post(`${base}/${id}/pickup`, {
      proof: { photo_urls: [photo] },
      latitude: 33.3,
      longitude: 44.4,
    }),
  ).toSucceed();
  expect(await tenant.driver.post(`${base}/${id}/depart`)).toSucceed();
  expect(await tenant.driver.post(`${base}/${id}/arrive`)).toSucceed();
  expect(await tenant.warehouse.post(`${base}/${id}/start-receiving`)).toFailWith(
    409,
    "manifest_delivery_proof_required",
  );
  expect(
    await tenant.driver.post(`${base}/${id}/proofs`, {
      stage: "delivery",
      photo_urls: [photo],
      signature_url: "https://example.com/s.png",
      signed_by: "Ali",
    }),
  ).toSucceed(201);
  expect(await tenant.warehouse.post(`${base}/${id}/start-receiving`)).toSucceed();
  const item = added.body.data.items[0].id;
  const received = await tenant.warehouse.post(`${base}/${id}/receive-items`, { item_ids: [item] });
  expect(received).toSucceed();
  expect(received.body.data).toMatchObject({ received_item_ids: [item], remaining_count: 0 });
  const done = await tenant.warehouse.post(`${base}/${id}/complete-receiving`, {});
  expect(done).toSucceed();
  expect(done.body.data).toMatchObject({
    status: "received",
    received_count: 1,
    received_by: tenant.warehouse.id,
  });
  expect(await tenant.warehouse.post(`${base}/${id}/start-processing`)).toSucceed();
  expect(await tenant.warehouse.post(`${base}/${id}/complete`)).toFailWith(
    409,
    "manifest_items_unfinished",
  );
  const detail = await tenant.institution.get(`${base}/${id}`, { query: { include: "events" } });
  expect(detail).toSucceed();
  expect(await eventsOf(id)).toEqual([
    "manifest_created",
    "items_added",
    "manifest_picked_up",
    "manifest_in_transit",
    "driver_arrived",
    "proof_added",
    "receiving_started",
    "item_received",
    "receiving_completed",
    "processing_started",
  ]);
  expect(await statusOf(id)).toBe("processing");
  console.log(JSON.stringify(detail.body, null, 1));
});
