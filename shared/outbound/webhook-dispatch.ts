/**
 * Wakes the sender of webhooks after a request that somebody listens to. Calls that come while one is under
 * way become a single one after it. A lost call is made up for by the clock within a minute.
 */
import { log } from "../runtime/log.ts";
import { callPlatform } from "./fetch.ts";

let underWay: Promise<void> | undefined;
let again = false;

export function triggerWebhookDispatch(): Promise<void> {
  if (underWay) again = true;
  return underWay ??= wake().finally(() => (underWay = undefined));
}

async function wake(): Promise<void> {
  do {
    again = false;
    const response = await callPlatform("/functions/v1/webhooks/internal/dispatch", {
      method: "POST",
      body: {},
    }, { timeoutMs: 60_000 });
    if (!response.ok) log("warn", "sender_not_woken", { status: response.status });
    await response.body?.cancel();
  } while (again);
}
