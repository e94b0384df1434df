import { defineConfig } from "vitest/config";
import { secretsKey } from "./supabase/local/keys.ts";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: ["tests/support/stack.ts"],
    setupFiles: ["tests/support/expect.ts"],
    // Tests seal and open what the functions of the stack open and sealed.
    env: { BARID_SECRETS_KEY: secretsKey },
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // Two cores carry Postgres, Deno and the tests.
    maxWorkers: 2,
  },
});
