import { defineConfig } from "vitest/config";
import { secretsKey } from "./supabase/local/keys.ts";
import { workers } from "./tests/support/cores.ts";

export default defineConfig({
  test: {
    // Proofs without a form for every day run only when they are asked for.
    include: ["tests/**/*.test.ts", ...(process.env.BARID_PROVE ? ["tests/prove/*.proof.ts"] : [])],
    globalSetup: ["tests/support/stack.ts"],
    setupFiles: ["tests/support/expect.ts", "tests/support/event-truth.ts", "tests/support/lock-order.ts"],
    // Tests seal and open what the functions of the stack open and sealed.
    env: { BARID_SECRETS_KEY: secretsKey },
    // Against tests that hang, not against slow machines.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: workers,
    // A process for each file would begin by reading and compiling what the one before it had.
    isolate: false,
    onUnhandledError: (error) => isDriversOwn(error) ? false : undefined,
  },
});

/**
 * Tests that kill Postgres cut their own driver's connections as well. What it does for itself while it connects (it asks
 * for the array types, and sends what waits) then fails with nobody to tell; the functions' pool never asks.
 */
function isDriversOwn(error: object): boolean {
  const { code, query, message, stack } = error as Record<string, string | undefined>;
  const broken = /^(ECONN|EPIPE|CONNECTION_)/.test(code ?? "");
  const asksForTypes = broken && (query ?? "").includes("pg_catalog.pg_type");
  const sendsToNobody = /null \(reading 'write'\)/.test(message ?? "") &&
    (stack ?? "").includes("node_modules/postgres/");
  return asksForTypes || sendsToNobody;
}
