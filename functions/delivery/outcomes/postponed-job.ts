/** The rest of a morning on which more parcels set out again than its schedule holds at once. */
import { system } from "../../../shared/db/db.ts";
import type { Job } from "../../../shared/db/jobs.ts";

/** At most so many deliveries are held at once. */
const many = 500;

/** The job behind a company with many postponed parcels: the rest of them is on its way again. */
export async function resumePostponed({ tenant_id }: Pick<Job, "tenant_id">): Promise<void> {
  let resumed: number;
  do {
    resumed = await system<number>(
      "select to_jsonb(delivery.postponed_resume_of($1::text::uuid, $2::text::integer)) as answer",
      [tenant_id, String(many)],
    );
  } while (resumed === many);
}
