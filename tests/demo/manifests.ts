/** The morning: drivers fetch parcels at the institution and bring them, proven, to the processing point. */
import type { Count } from "./count.ts";
import { DemoFailure, done, type Person } from "./barid.ts";
import type { World } from "./people.ts";
import type { Item, Manifest, Plan } from "./plan.ts";
import { each, type Progress } from "./progress.ts";

export interface Arrived {
  plan: Manifest;
  barcodes: string[];
  items: { id: string; barcode: string; plan: Item }[];
}

/** The smallest picture there is: one transparent point. */
const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==",
  "base64",
);

/** Brings every manifest of the plan to where it awaits receipt. */
export function bringIn(
  world: World,
  plan: Plan,
  count: Count,
  progress: Progress,
): Promise<Arrived[]> {
  return each(plan.manifests, async (manifest) => {
    const barcodes = await labels(world, manifest.items.length);
    const arrived = await carry(world, manifest, barcodes, count);
    progress.step();
    return arrived;
  });
}

/** Printed labels that no parcel has yet. */
async function labels({ dispatcher: { barid } }: World, quantity: number): Promise<string[]> {
  const { data: batch } = await done(
    barid.POST("/delivery/transfer-manifest-barcode-batches", { body: { quantity } }),
  );
  const { data } = await done(
    barid.GET("/delivery/transfer-manifest-barcode-batches/{batch_id}", {
      params: { path: { batch_id: batch.id } },
    }),
  );
  return data.barcodes.map(({ barcode }) => barcode);
}

async function carry(
  world: World,
  plan: Manifest,
  barcodes: string[],
  count: Count,
): Promise<Arrived> {
  const driver = world.drivers[plan.driver];
  const { barid } = driver;
  const { data: branch } = await done(
    barid.GET("/delivery/institution-branches/by-code/{branch_code}", {
      params: { path: { branch_code: world.branch.code } },
    }),
  );
  // The driver scans the first at the counter and the others while loading them.
  const { data: { id } } = await done(barid.POST("/delivery/transfer-manifests", {
    body: {
      institution_user_id: branch.institution_user_id,
      source_branch_id: branch.id,
      creation_source: "institution_qr",
      items: [{ barcode_value: barcodes[0] }],
    },
  }));
  const at = { params: { path: { manifest_id: id } } };
  if (barcodes.length > 1) {
    await done(barid.POST("/delivery/transfer-manifests/{manifest_id}/items", {
      ...at,
      body: { items: barcodes.slice(1).map((barcode_value) => ({ barcode_value })) },
    }));
  }
  const proof = (stage: "pickup" | "delivery", kind: "photo" | "signature") =>
    upload(driver, id, stage, kind, count);
  await done(barid.POST("/delivery/transfer-manifests/{manifest_id}/pickup", {
    ...at,
    body: { proof: { photo_urls: [await proof("pickup", "photo")] } },
  }));
  await done(barid.POST("/delivery/transfer-manifests/{manifest_id}/depart", at));
  await done(barid.POST("/delivery/transfer-manifests/{manifest_id}/arrive", {
    ...at,
    body: { latitude: 33.299, longitude: 44.427 },
  }));
  await done(barid.POST("/delivery/transfer-manifests/{manifest_id}/proofs", {
    ...at,
    body: {
      stage: "delivery",
      photo_urls: [await proof("delivery", "photo")],
      signature_url: await proof("delivery", "signature"),
      signed_by: "سالم",
    },
  }));
  const { data: detail } = await done(
    barid.GET("/delivery/transfer-manifests/{manifest_id}", at),
  );
  count.numbers.manifests++;
  count.numbers.items += detail.items_count;
  const ids = new Map(detail.items.map((item) => [item.barcode_value, item.id]));
  return {
    plan,
    barcodes,
    items: barcodes.map((barcode, n) => ({ id: ids.get(barcode)!, barcode, plan: plan.items[n] })),
  };
}

/** Puts a picture into the bucket of proofs; answers its path. */
async function upload(
  { barid, supabase }: Person,
  manifest_id: string,
  stage: "pickup" | "delivery",
  kind: "photo" | "signature",
  count: Count,
): Promise<string> {
  const { data: place } = await done(
    barid.POST("/delivery/transfer-manifests/{manifest_id}/proof-uploads", {
      params: { path: { manifest_id } },
      body: { stage, kind, content_type: "image/png" },
    }),
  );
  const { error } = await supabase.storage.from("proofs")
    .uploadToSignedUrl(place.path, place.token, picture, { contentType: "image/png" });
  if (error) throw new DemoFailure(`proof ${place.path}: ${error.message}`);
  count.numbers.proofs++;
  return place.path;
}
