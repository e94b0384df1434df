/** Deliveries that have not ended, where the map of zones has changed. */
import { system } from "../../../shared/db/db.ts";
import type { Job } from "../../../shared/db/jobs.ts";

/** At most so many deliveries are held at once. */
const many = 500;

/** The job behind a zone that was drawn, redrawn, closed or opened: deliveries from and to there get their zones by the map of now. */
export async function followZones({ tenant_id, payload }: Job): Promise<void> {
  let found: number;
  do {
    found = await system<number>(
      "select to_jsonb(delivery.zones_follow($1::text::uuid, $2::text, $3::text::integer)) as answer",
      [tenant_id, JSON.stringify(payload.boxes), String(many)],
    );
  } while (found === many);
}
