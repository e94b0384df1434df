/**
 * The worker: hands events to subscriptions, claims what is due, sends it over at most `maxSockets`
 * connections, `maxLanes` of them to one subscriber, and records results. A slow subscriber holds its own
 * few connections; meanwhile the others continue. One run at a time in a process; a call meanwhile
 * makes it look once more. A run that has nothing to do stays until the next attempt is due (`watch.ts`).
 */
import { system } from "../../../shared/db/db.ts";
import { type Clock, theClock } from "../../../shared/runtime/clock.ts";
import { describeError, log, traced, traceFields } from "../../../shared/runtime/log.ts";
import { continueTrace } from "../../../shared/runtime/trace-context.ts";
import { triggerWebhookDispatch } from "../../../shared/outbound/webhook-dispatch.ts";
import { type Claimed, send, type SendResult } from "./send.ts";
import { Watch } from "./watch.ts";

const maxSockets = 20;
const maxLanes = 4;
/** Claimed ahead, so that connections need not wait for the database. */
const maxAhead = 100;
/** No new claims after this: the next run begins, and what is in hand is sent, before the runtime's time limit. */
const maxRunMs = 40_000;
/** While something is being sent, how often to look for more. */
const lookMs = 200;
/** How often the sender renews its lease on what it claimed; a lease lasts ten times as long. */
const beatMs = 1_000;

export interface Ran {
  events: number;
  sent: number;
  failed: number;
}

let running: Promise<Ran> | undefined;
let again = false;
let wakeUp = () => {};

/** Sends what is due and what comes due while the run lasts. `handOver` calls the next run, where time was too short. */
export async function runSender(
  clock: Clock = theClock,
  handOver: () => Promise<void> = triggerWebhookDispatch,
): Promise<Ran> {
  again = true;
  wakeUp();
  running ??= begin(clock, handOver);
  return await running;
}

function begin(clock: Clock, handOver: () => Promise<void>): Promise<Ran> {
  const leave = () => {
    if (running === own) running = undefined;
  };
  const own: Promise<Ran> = run(clock, () => {
    leave();
    return handOver();
  }).finally(leave);
  return own;
}

async function run(clock: Clock, next: () => Promise<void>): Promise<Ran> {
  const lanes = new Lanes();
  const heart = setInterval(() => void renew(lanes.held()), beatMs);
  try {
    return await work(lanes, clock, next);
  } finally {
    clearInterval(heart);
  }
}

async function work(lanes: Lanes, clock: Clock, next: () => Promise<void>): Promise<Ran> {
  const count: Ran = { events: 0, sent: 0, failed: 0 };
  const watch = new Watch();
  const stopAt = clock.now() + maxRunMs;
  let lookedAt = -Infinity;
  let handedOver: Promise<void> | undefined;
  while (true) {
    const late = clock.now() >= stopAt;
    // Others do not wait for a slow subscriber that this run still has in hand.
    if (late && !handedOver && !lanes.idle) {
      handedOver = next();
      // Fails where it is awaited.
      handedOver.catch(() => {});
    }
    const wanted = again;
    // Of the next run by then.
    if (!late) again = false;
    const results = lanes.take();
    if (results.length > 0) await finish(results);
    for (const { ok } of results) count[ok ? "sent" : "failed"]++;
    if (results.length > 0) watch.renew();
    let found = 0;
    if (!late && (wanted || lanes.idle || clock.now() - lookedAt > lookMs)) {
      lookedAt = clock.now();
      found = (await fanOut()).events;
      count.events += found;
    }
    if (!late && lanes.waiting < maxSockets) {
      lanes.add(await claim(maxAhead - lanes.waiting, lanes.subscriptions()));
    }
    if (!lanes.idle) await lanes.progress(lookMs);
    else if (late || (found === 0 && !again && !wanted)) {
      if (handedOver) {
        await handedOver;
        return count;
      }
      const dueMs = await watch.dueMs();
      if (late) {
        if (again || dueMs !== null) await next();
        return count;
      }
      // Asked for while we looked: not yet the end.
      if (again) continue;
      if (dueMs === null) return count;
      const woken = new Promise<void>((resolve) => (wakeUp = resolve));
      await clock.rest(Math.min(Math.max(dueMs, lookMs), stopAt - clock.now()), woken);
    }
  }
}

/** Claimed deliveries: waiting for a connection, being sent, or sent and not written down yet. */
class Lanes {
  private queue: Claimed[] = [];
  private readonly sending = new Set<Claimed>();
  private readonly busy = new Map<string, number>();
  private readonly underWay = new Set<Promise<void>>();
  private results: SendResult[] = [];

  get waiting(): number {
    return this.queue.length;
  }

  get idle(): boolean {
    return this.queue.length + this.underWay.size + this.results.length === 0;
  }

  /** Whose claims are to last: results are written down at once. */
  held(): Claimed[] {
    return [...this.sending, ...this.queue];
  }

  subscriptions(): string[] {
    return [...new Set([...this.busy.keys(), ...this.queue.map((one) => one.subscription_id)])];
  }

  add(claimed: Claimed[]): void {
    this.queue.push(...claimed);
    this.start();
  }

  /** The results so far. */
  take(): SendResult[] {
    const results = this.results;
    this.results = [];
    return results;
  }

  /** Until something was sent, or `ms` are over. */
  async progress(ms: number): Promise<void> {
    if (this.results.length === 0) await Promise.race([...this.underWay, pause(ms)]);
    // Others that are as good as done are written down with it.
    await pause(1);
  }

  private start(): void {
    this.queue = this.queue.filter((claimed) => {
      const id = claimed.subscription_id;
      const lanes = this.busy.get(id) ?? 0;
      if (this.underWay.size >= maxSockets || lanes >= maxLanes) return true;
      this.busy.set(id, lanes + 1);
      this.sending.add(claimed);
      const work: Promise<void> = attempt(claimed).then((result) => {
        this.underWay.delete(work);
        this.sending.delete(claimed);
        const left = this.busy.get(id)! - 1;
        if (left > 0) this.busy.set(id, left);
        else this.busy.delete(id);
        if (result) this.results.push(result);
        this.start();
      });
      this.underWay.add(work);
      return false;
    });
  }
}

/** In the trace of the request that caused the event, not of the one that woke this run. */
function attempt(claimed: Claimed): Promise<SendResult | undefined> {
  return traced(traceFields(continueTrace(claimed.trace_context)), async () => {
    try {
      return await send(claimed);
    } catch (error) {
      // Nothing to sign with: not the subscriber's failure. The lease runs out and it is tried again.
      log("error", "webhook_not_signed", { event_id: claimed.id, ...describeError(error) });
    }
  });
}

function fanOut(): Promise<{ events: number }> {
  return system("select integration.webhooks_fan_out() as answer", []);
}

function claim(batch: number, mine: string[]): Promise<Claimed[]> {
  return system(
    "select integration.webhooks_claim($1::text::integer, $2::text::uuid[]) as answer",
    [String(batch), `{${mine.join(",")}}`],
  );
}

/** A beat that is lost is followed by another, well before the lease ends. */
async function renew(held: Claimed[]): Promise<void> {
  if (held.length === 0) return;
  try {
    await system(
      "select to_jsonb(integration.webhooks_renew($1::text::uuid[], $2::text::uuid[])) as answer",
      [`{${held.map(({ id }) => id)}}`, `{${held.map(({ claim_token }) => claim_token)}}`],
    );
  } catch (error) {
    log("warn", "webhook_leases_not_renewed", describeError(error));
  }
}

/** Tried again, since a result that is lost means that the same is sent once more. */
async function finish(results: SendResult[]): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      return await system(
        "select to_jsonb(integration.webhooks_finish($1::text::jsonb)) as answer",
        [
          JSON.stringify(results),
        ],
      );
    } catch (error) {
      if (attempt === 3) throw error;
      log("warn", "webhook_results_not_saved", describeError(error));
      await pause(50 * attempt);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
