import { defineConfig } from "vitest/config";
import { secretsKey } from "./supabase/local/keys.ts";

export default defineConfig({
  test: {
    // Proofs without a form for every day run only when they are asked for.
    include: ["tests/**/*.test.ts", ...(process.env.BARID_PROVE ? ["tests/prove/*.proof.ts"] : [])],
    globalSetup: ["tests/support/stack.ts"],
    setupFiles: ["tests/support/expect.ts"],
    // Tests seal and open what the functions of the stack open and sealed.
    env: { BARID_SECRETS_KEY: secretsKey },
    testTimeout: 60_000,
    hookTimeout: 180_000,
    // Two cores carry Postgres, Deno and the tests.
    maxWorkers: 2,
  },
});
