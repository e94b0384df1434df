/** The statements of a company for a day of its cycle: each owner's in a transaction of its own, so that nobody waits long. */
import { system } from "../../../shared/db/db.ts";
import type { Job } from "../../../shared/db/jobs.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";

/**
 * The job behind `cycle` of the setting delivery.payouts. What fails for one owner does not keep others from their
 * statement; it is tried again with the job, in which those that are made are not looked at.
 */
export async function makeStatements(
  { tenant_id, payload }: Pick<Job, "tenant_id" | "payload">,
): Promise<void> {
  const failed: unknown[] = [];
  let after: string | null = null;
  for (;;) {
    const wallets: string[] = await system<string[]>(
      "select money.cycle_wallets($1::text::uuid, $2::text::date, $3::text::uuid) as answer",
      [tenant_id, String(payload.day), after],
    );
    if (wallets.length === 0) break;
    for (const wallet of wallets) {
      try {
        await system(
          "select to_jsonb(money.cycle_statement_make($1::text::uuid, $2::text::date, $3::text::uuid)) as answer",
          [tenant_id, String(payload.day), wallet],
        );
      } catch (error) {
        log("warn", "statement_failed", { wallet, ...describeError(error) });
        failed.push(error);
      }
    }
    after = wallets.at(-1)!;
  }
  for (const error of failed) throw error;
  await system(
    "select to_jsonb(money.cycle_day_end($1::text::uuid, $2::text::date)::text) as answer",
    [tenant_id, String(payload.day)],
  );
}
