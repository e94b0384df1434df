import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: ["tests/support/stack.ts"],
    setupFiles: ["tests/support/expect.ts"],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // Two cores carry Postgres, Deno and the tests.
    maxWorkers: 2,
  },
});
