/** The database as its owner sees it: for making what a test needs and looking at what it left. */
import { join } from "node:path";
import postgres from "postgres";
import { inject } from "vitest";
import { readConfig } from "../../supabase/local/config.ts";
import { loadTokenKeys, userTokens } from "../../supabase/local/keys.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import type { StackAddresses } from "./stack.ts";

/** The shared stack as this file of tests speaks to it. */
export interface OurStack extends StackAddresses {
  /** The functions themselves: one of their processes. */
  functionsUrl: string;
  /** A signed token of a user. */
  jwtSign: Stack["jwtSign"];
}

// Files of tests run one after the other in a process, and share these connections until it ends.
const shared = { stack: await ours(inject("stack")), sql: open(inject("stack").dbUrl) };

/** The shared stack's, also while a test is on a stack of its own. */
export const sharedSql = shared.sql;

export let stack: OurStack = shared.stack;
export let sql = shared.sql;

async function ours(addresses: StackAddresses): Promise<OurStack> {
  const { functionsUrls, url, dataDir } = addresses;
  const keys = await loadTokenKeys(join(dataDir, "signing-key.json"), () => `${url}/auth/v1`);
  const mine = Number(process.env.VITEST_POOL_ID ?? 1) % functionsUrls.length;
  return {
    ...addresses,
    functionsUrl: functionsUrls[mine]!,
    jwtSign: userTokens(keys, url, readConfig().jwtExpiry),
  };
}

/**
 * A connection for what is asked again and again, of one tenant after the other: each question is planned once, and since tables
 * are small then and grow, no plan reads one in whole.
 */
export const openReader = (more: { onclose?: () => void } = {}) =>
  open(stack.dbUrl, {
    max: 1,
    connection: { plan_cache_mode: "force_generic_plan", enable_seqscan: "off" },
    ...more,
  });

function open(
  url: string,
  more: { max?: number; connection?: Record<string, string>; onclose?: () => void } = {},
) {
  return postgres(url, {
    max: 4,
    ...more,
    // A Postgres that is killed between taking a connection and answering leaves it waiting; another attempt is answered.
    connect_timeout: 5,
    // A session, with all that a test made in it, lasts as long as the test, which may be hours.
    max_lifetime: null,
    // Where Postgres is killed again and again, waiting longer each time may meet only its absences.
    backoff: () => 0.1,
    onnotice: () => {},
    // An error says which line of a test asked.
    debug: true,
    types: {
      bigint: postgres.BigInt,
      numeric: { to: 1700, from: [1700], parse: Number, serialize: String },
    },
  });
}

/**
 * From now on `stack`, `sql` and every builder that stands on them are about a stack of the test's own. Answers how to
 * end what that needs.
 */
export function moveTo(own: Stack): () => Promise<void> {
  sql = open(own.dbUrl);
  stack = {
    ...stack,
    url: own.url,
    functionsUrl: own.apiUrl,
    dbUrl: own.dbUrl,
    publishableKey: own.publishableKey,
    secretKey: own.secretKey,
    jwtSign: own.jwtSign,
    pid: process.pid,
  };
  return async () => {
    const moved = sql;
    ({ stack, sql } = shared);
    await moved.end({ timeout: 1 });
  };
}
