/**
 * How often one caller may ask: token buckets of a minute, kept in Postgres because no process sees all of a caller's
 * requests. Asked in a transaction of its own, so that a request that is refused counts as well.
 */
import type { Actor } from "./actor.ts";
import { isAccepted } from "../db/api-keys.ts";
import { repeatable } from "../db/db.ts";
import { type AnyEndpoint, readsOnly } from "../api/endpoint.ts";
import { publicWritesPerMinute, readsPerMinute, writesPerMinute } from "../runtime/env.ts";
import { AppError } from "../errors/errors.ts";

/**
 * Lets a request pass or fails with `rate_limited` and the seconds to wait. A user or a known API key has one bucket for
 * what reads and one for what writes; keys that nobody knows yet are counted by address; what anybody may send is counted by address, and reading it is not counted. The
 * system itself (a secret key) is never kept waiting. `whose`: among whom the connections are shared, see `fairnessKeyOf`.
 */
export async function enforceRateLimit(
  actor: Actor | undefined,
  endpoint: AnyEndpoint,
  request: Request,
  whose: string,
): Promise<void> {
  const bucket = bucketOf(actor, readsOnly(endpoint), request);
  if (!bucket || bucket.perMinute <= 0) return;
  // Taken twice where a connection broke, which costs the caller one request of many.
  const wait = await repeatable<number | null>(
    "select private.rate_take($1::text, $2::text::integer) as answer",
    [bucket.name, String(bucket.perMinute)],
    whose,
  );
  if (wait !== null) throw new AppError("rate_limited", { retry_after: wait });
}

function bucketOf(
  actor: Actor | undefined,
  reads: boolean,
  request: Request,
): { name: string; perMinute: number } | undefined {
  if (actor?.kind === "service") return undefined;
  if (actor?.kind === "api_key" && !isAccepted(actor.hash)) {
    return { name: `keys/${addressOf(request)}`, perMinute: publicWritesPerMinute };
  }
  if (actor) {
    const who = actor.kind === "user" ? actor.id : actor.hash;
    return reads
      ? { name: `reads/${who}`, perMinute: readsPerMinute }
      : { name: `writes/${who}`, perMinute: writesPerMinute };
  }
  return reads
    ? undefined
    : { name: `public/${addressOf(request)}`, perMinute: publicWritesPerMinute };
}

/**
 * The client's address as the platform's gateway reports it. The first of `x-forwarded-for` may be what the client wrote
 * there; Cloudflare, which stands before hosted projects, overwrites a header of its own.
 */
function addressOf({ headers }: Request): string {
  const header = headers.get("cf-connecting-ip") ?? headers.get("x-forwarded-for")?.split(",")[0];
  return header?.trim().slice(0, 64) ?? "";
}
