/** Deliveries that were being ordered while a warehouse got another address. */
import { system } from "../../../shared/db/db.ts";
import type { Job } from "../../../shared/db/jobs.ts";

/** The job behind a warehouse that moved: deliveries that still have its address of before get the one of now. */
export async function followWarehouse({ tenant_id, payload }: Job): Promise<void> {
  await system(
    "select to_jsonb(delivery.warehouse_follow($1::text::uuid, $2::text::uuid, $3::text::uuid)) as answer",
    [tenant_id, String(payload.warehouse_id), String(payload.from_address_id)],
  );
}
