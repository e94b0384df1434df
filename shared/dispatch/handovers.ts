/** Handovers that nobody will confirm any more. */
import { system } from "../db/db.ts";
import type { Job } from "../db/jobs.ts";

/** The job behind a driver who is shut out or leaves: parcels they have not confirmed are with those who have them in hand. */
export async function withdrawHandovers(
  { tenant_id, payload }: Pick<Job, "tenant_id" | "payload">,
): Promise<void> {
  await system(
    "select to_jsonb(delivery.handovers_withdraw($1::text::uuid, $2::text::uuid)) as answer",
    [tenant_id, String(payload.driver_id)],
  );
}
