/** Items of manifests in and beside the exception queue. */
import { expect } from "vitest";
import { sql } from "./db.ts";
import { newManifest } from "./manifests.ts";
import { fundWallet, newService } from "./money.ts";
import type { Tenant } from "./people.ts";

/** The row of an item in the queue; nothing where it never was there. */
export async function exceptionOf(itemId: string) {
  const [row] =
    await sql`select * from delivery.transfer_manifest_exceptions where manifest_item_id = ${itemId}`;
  return row;
}

/** An item that became an order on the bulk screen. */
export async function newOrderedItem(tenant: Tenant): Promise<string> {
  await fundWallet(tenant, "institution", tenant.institution.id, 1_000_000);
  const manifest = await newManifest(tenant, { items: 1 });
  const answer = await tenant.dispatcher.post(
    "/delivery/transfer-manifest-items/bulk/set-destination",
    {
      item_ids: manifest.itemIds,
      destination_branch_id: manifest.branch,
      delivery_service_id: await newService(tenant),
    },
  );
  expect(answer.body.data.created_count).toBe(1);
  return manifest.itemIds[0];
}
