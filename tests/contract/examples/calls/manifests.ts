/** Manifests of parcels from institutions, their items, and the places they come from and go to. */
import { type ManifestOptions, newBarcode, newManifest } from "../../../support/manifests.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../../support/make.ts";
import type { Call, Calls, World } from "../call.ts";

/** A manifest that stands as it has to. */
const given = (options: ManifestOptions): Pick<Call, "before"> => ({
  before: async ({ tenant, things }: World) => {
    const made = await newManifest(tenant, {
      branch: things.branch,
      point: things.point,
      ...options,
    });
    return { things: { manifest: made.id, item: made.itemIds[0]!, barcode: made.barcodes[0]! } };
  },
});

const received = given({ status: "received" });

const proof = {
  photo_urls: ["https://cdn.example.com/proofs/manifest-7.jpg"],
  signature_url: "https://cdn.example.com/proofs/manifest-7-signature.png",
  signed_by: "Sara Hadi",
};
const here = { latitude: 33.299, longitude: 44.427 };
const upload = (stage: string) => ({ stage, kind: "photo", content_type: "image/jpeg" });
const package_details = {
  items: [{ name: "Medicine", quantity: 2, weight: 1.5, length: 20, width: 15, height: 10 }],
};

export const manifests: Calls = {
  "POST /delivery/transfer-manifest-items/bulk/validate": {
    body: ({ barcode }) => ({ barcodes: [barcode] }),
  },
  "POST /delivery/transfer-manifest-items/bulk/set-destination": {
    ...received,
    body: ({ item, address, service }) => ({
      item_ids: [item],
      destination_address_id: address,
      delivery_service_id: service,
    }),
  },
  "POST /delivery/transfer-manifest-items/bulk/change-destination": {
    before: async (world) => {
      const { things } = await received.before!(world);
      await world.tenant.ops.post("/delivery/transfer-manifest-items/bulk/set-destination", {
        item_ids: [things!.item],
        destination_address_id: world.things.address,
        delivery_service_id: world.things.service,
      });
      return { things: { ...things, address: await newAddress(world.tenant) } };
    },
    body: ({ item, address }) => ({ item_ids: [item], destination_address_id: address }),
  },
  "POST /delivery/transfer-manifest-exceptions": {
    ...given({ status: "received" }),
    body: ({ item }) => ({
      manifest_item_id: item,
      reason: "damaged",
      notes: "The box is torn",
      photo_urls: ["https://cdn.example.com/exceptions/torn-box.jpg"],
    }),
  },
  "POST /delivery/transfer-manifest-items/bulk/resolve-exceptions": {
    ...given({ status: "received", items: [{ exception: "damaged" }, {}] }),
    body: ({ item }) => ({ item_ids: [item], outcome: "reprocess", notes: "Packed anew" }),
  },
  "POST /delivery/transfer-manifests": {
    body: ({ institution, branch, point, driver }) => ({
      institution_user_id: institution,
      source_branch_id: branch,
      processing_point_id: point,
      driver_id: driver,
      creation_source: "form",
      notes: "Two boxes, one is fragile",
      items: [{ barcode_value: newBarcode(), package_details }],
    }),
  },
  "POST /delivery/transfer-manifests/:manifest_id/items": {
    ...given({ status: "draft" }),
    body: () => ({ items: [{ barcode_value: newBarcode(), package_details }] }),
  },
  "DELETE /delivery/transfer-manifests/:manifest_id/items/:item_id": given({ status: "draft" }),
  "POST /delivery/transfer-manifests/:manifest_id/pickup": {
    ...given({ status: "draft" }),
    by: "driver",
    body: () => ({ proof, ...here }),
  },
  "POST /delivery/transfer-manifests/:manifest_id/depart": {
    ...given({ status: "picked_up" }),
    by: "driver",
  },
  "POST /delivery/transfer-manifests/:manifest_id/arrive": {
    ...given({ status: "in_transit" }),
    by: "driver",
    body: () => ({ proof, ...here }),
  },
  "POST /delivery/transfer-manifests/:manifest_id/start-receiving": {
    ...given({ status: "awaiting_receipt" }),
    body: () => ({ receive_all: false }),
  },
  "POST /delivery/transfer-manifests/:manifest_id/receive-items": {
    ...given({ status: "receiving" }),
    body: ({ item }) => ({ item_ids: [item] }),
  },
  "POST /delivery/transfer-manifests/:manifest_id/complete-receiving": {
    ...given({ status: "receiving", items: [{ status: "received" }, { status: "received" }] }),
    body: () => ({ missing: "exception" }),
  },
  "POST /delivery/transfer-manifests/:manifest_id/start-processing": given({ status: "received" }),
  "POST /delivery/transfer-manifests/:manifest_id/complete": given({
    status: "processing",
    items: [{ status: "void" }],
  }),
  "POST /delivery/transfer-manifests/:manifest_id/cancel": {
    ...given({ status: "draft" }),
    body: () => ({ reason: "The pharmacy sends it tomorrow" }),
  },
  "POST /delivery/transfer-manifests/:manifest_id/proofs": {
    ...given({ status: "draft", proof: false }),
    body: () => ({ stage: "pickup", ...proof }),
  },
  "POST /delivery/transfer-manifests/:manifest_id/proof-uploads": {
    ...given({ status: "draft" }),
    body: () => upload("pickup"),
  },
  "PATCH /delivery/transfer-manifests/:manifest_id": {
    ...given({ status: "draft" }),
    body: ({ point }, { tenant }) => ({
      destination_processing_point_id: point,
      driver_id: tenant.driver2.id,
    }),
  },
  "POST /delivery/transfer-processing-points": {
    body: ({ address }) => ({ name: "Mansour hub", code: "PP-MNS", address_id: address }),
  },
  "PATCH /delivery/transfer-processing-points/:processing_point_id": {
    body: () => ({ name: "Karrada hub", metadata: { opens: "08:00" } }),
  },
  "POST /delivery/transfer-processing-points/:processing_point_id/deactivate": {
    before: async ({ tenant }) => ({ things: { point: await newProcessingPoint(tenant) } }),
  },
  "POST /delivery/institutions/:institution_user_id/branches": {
    body: ({ address, point }) => ({
      name: "Adhamiyah branch",
      code: "BR-ADH",
      address_id: address,
      default_processing_point_id: point,
      contact_info: { phone: "+9647711000002" },
    }),
  },
  "POST /delivery/institutions/:institution_user_id/branches/import": {
    body: ({ address }) => ({ name: "Doura branch", code: "BR-DRA", address_id: address }),
  },
  "PATCH /delivery/institutions/:institution_user_id/branches/:branch_id": {
    body: () => ({ name: "Mansour branch", contact_info: { phone: "+9647711000001" } }),
  },
  "POST /delivery/institutions/:institution_user_id/branches/:branch_id/deactivate": {
    before: async ({ tenant }) => ({
      things: { branch: await newBranch(tenant, { address: await newAddress(tenant) }) },
    }),
  },
  "POST /delivery/transfer-manifest-barcode-batches": {
    body: ({ institution, branch }) => ({
      quantity: 50,
      institution_user_id: institution,
      branch_id: branch,
    }),
  },
};
