/**
 * The worker: hands events to subscriptions, claims what is due, sends it over at most `socketsMax`
 * connections, writes results down. A slow subscriber holds at most his own few of them; while he does,
 * the others go on. One run at a time in a process; whoever calls meanwhile makes it look once more.
 */
import { system } from "../../../shared/db.ts";
import { describeError, log } from "../../../shared/log.ts";
import { type Claimed, send, type SendResult } from "./send.ts";

const socketsMax = 20;
/** Ends well before the runtime's wall clock does; the clock of the database goes on. */
const runMsMax = 60_000;
/** While something is being sent, how often to look for more. */
const lookMs = 200;

export interface Ran {
  events: number;
  sent: number;
  failed: number;
}

let running: Promise<Ran> | undefined;
let again = false;

export function runSender(): Promise<Ran> {
  again = true;
  return running ??= run().finally(() => (running = undefined));
}

async function run(): Promise<Ran> {
  const count: Ran = { events: 0, sent: 0, failed: 0 };
  const stopAt = Date.now() + runMsMax;
  const underWay = new Set<Promise<void>>();
  let results: SendResult[] = [];
  while (true) {
    const wanted = again;
    again = false;
    if (results.length > 0) {
      const done = results;
      results = [];
      await finish(done);
    }
    const late = Date.now() >= stopAt;
    const { events } = late ? { events: 0 } : await fanOut();
    count.events += events;
    const free = late ? 0 : socketsMax - underWay.size;
    const claimed = free > 0 ? await claim(free) : [];
    for (const one of claimed) {
      const work: Promise<void> = attempt(one).then((result) => {
        underWay.delete(work);
        if (!result) return;
        results.push(result);
        count[result.ok ? "sent" : "failed"]++;
      });
      underWay.add(work);
    }
    if (underWay.size > 0) {
      if (results.length === 0) await Promise.race([...underWay, pause(lookMs)]);
      // Others that are as good as done are written down with it.
      await pause(1);
    } else if (results.length === 0 && (late || (events === 0 && !again && !wanted))) {
      return count;
    }
  }
}

async function attempt(claimed: Claimed): Promise<SendResult | undefined> {
  try {
    return await send(claimed);
  } catch (error) {
    // Nothing to sign with: not the subscriber's failure. The lease runs out and it is tried again.
    log("error", "webhook_not_signed", { event: claimed.id, ...describeError(error) });
  }
}

function fanOut(): Promise<{ events: number }> {
  return system("select private.webhooks_fan_out() as answer", []);
}

function claim(batch: number): Promise<Claimed[]> {
  return system("select private.webhooks_claim($1::text::integer) as answer", [String(batch)]);
}

/** Written down or sent once more: a result that is lost means another send under the same id. */
function finish(results: SendResult[]): Promise<number> {
  return system("select private.webhooks_finish($1::text::jsonb) as answer", [
    JSON.stringify(results),
  ]);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
