/**
 * Adds what this process has counted to what all processes have: one statement in ten seconds at most, which delays no answer,
 * and one when the process is about to end.
 */
import { keepAlive } from "../runtime/background.ts";
import { describeError, log, logFolded, traced } from "../runtime/log.ts";
import { putCountsBack, takeCounts } from "../runtime/metrics.ts";
import { system } from "./db.ts";

const everyMs = 10_000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Something was counted: saves it within ten seconds. */
export function saveMetricsSoon(): void {
  if (timer !== undefined) return;
  timer = setTimeout(() => keepAlive(saveMetrics()), everyMs);
  // Under Node the timer keeps no idle process alive.
  (timer as { unref?: () => void }).unref?.();
}

/** Saves what was counted until now. What cannot be saved is kept for the next time. */
export function saveMetrics(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  // Its log lines belong to no request, not even to the one that asked for it.
  return traced({}, async () => {
    // The line about folded requests is due as often.
    logFolded();
    const counts = takeCounts();
    if (Object.keys(counts).length === 0) return;
    try {
      await system("select integration.metrics_add($1::text::jsonb) as answer", [
        JSON.stringify(counts),
      ]);
    } catch (error) {
      putCountsBack(counts);
      saveMetricsSoon();
      log("warn", "metrics_not_saved", describeError(error));
    }
  });
}

type Hear = (event: string, hear: () => void, options: { once: boolean }) => void;
/**
 * Saves what is left when the platform says that the process is about to end. Once: Deno's command line says it whenever nothing is left to
 * do, and would never end while the database is away.
 */
(globalThis as { addEventListener?: Hear })
  .addEventListener?.("beforeunload", () => keepAlive(saveMetrics()), { once: true });
