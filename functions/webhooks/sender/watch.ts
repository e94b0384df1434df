/**
 * Waiting for the next attempt: a failed one is due again after five seconds, and nothing else may happen until then.
 * Of all runs that have nothing to do the newest keeps the watch, since it knows the latest; the others end.
 */
import { system } from "../../../shared/db/db.ts";

/** One run's part in the watch. */
export class Watch {
  private readonly id = crypto.randomUUID();
  private taking = true;

  /** The run has made progress and knows more than the watcher: it takes over with its next look. */
  renew(): void {
    this.taking = true;
  }

  /** Milliseconds until something is due; null: nothing within the next minute, or another run watches. */
  async dueMs(): Promise<number | null> {
    const take = this.taking;
    this.taking = false;
    return await system<number | null>(
      "select to_jsonb(integration.webhooks_watch($1::text::uuid, $2::text::boolean)) as answer",
      [this.id, String(take)],
    );
  }
}
