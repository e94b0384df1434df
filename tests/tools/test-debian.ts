// npm run test:debian: what the embedded Postgres cannot show. PostgreSQL 15 with the real pg_cron takes the same
// migrations and tests, plpgsql_check reads every function, a real browser opens the API reference, and Prometheus reads the metrics.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { defaultDataDir, slugs } from "../../supabase/local/paths.ts";
import { newFolderForPostgres } from "../../supabase/local/postgres-files.ts";
import { startPostgres } from "../../supabase/local/postgres.ts";
import {
  browser,
  cronSettings,
  everyJobTicks,
  functionsAreSound,
  missingPrograms,
  postgresDir,
  type Program,
  scheduledJobs,
} from "./checks/debian.ts";
import { docsPage } from "./checks/docs-page.ts";
import { filesIn } from "./checks/files.ts";
import { metricsAreScraped, rulesHold } from "./checks/prometheus.ts";
import { closing, prove, type Step } from "./checks/steps.ts";
import { vitestStep } from "./checks/vitest.ts";
import { type Stack, startStack } from "../../supabase/local/stack.ts";

const missing = missingPrograms();
if (missing.length) {
  console.log(`Some programs are missing: apt-get install ${missing.join(" ")} gets them.`);
}

const dir = newFolderForPostgres("barid-debian-");
try {
  process.exitCode = closing(await proof());
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function proof() {
  if (missing.includes("postgresql-15") || missing.includes("postgresql-15-cron")) {
    return await prove([[...withStack(undefined), databaseTests(), restored()].map(skipped)]);
  }
  const server = await startPostgres({
    dataDir: join(dir, "postgres"),
    port: 0,
    durable: false,
    installation: postgresDir,
    settings: cronSettings,
  });
  // From here on every stack uses this server.
  process.env.DATABASE_URL = server.url;
  try {
    const stack = await startStack({ dataDir: join(dir, "stack"), port: 0, seed: true });
    const first = await prove([withStack(stack)]).finally(() => stack.stop());
    const second = await prove([[databaseTests(), restored()]]);
    return {
      passed: first.passed + second.passed,
      failed: first.failed + second.failed,
      skipped: first.skipped + second.skipped,
    };
  } finally {
    await server.stop();
  }
}

function withStack(stack: Stack | undefined): Step[] {
  return [
    { name: "pg_cron runs every job", run: () => everyJobTicks(stack!.sql, scheduledJobs()) },
    needing("postgresql-15-plpgsql-check", {
      name: "Functions are sound (plpgsql_check)",
      run: () => functionsAreSound(stack!.sql),
    }),
    needing("prometheus", { name: "Alert rules (promtool)", run: rulesHold }),
    needing("prometheus", {
      name: "Metrics are read by Prometheus",
      run: () => metricsAreScraped(stack!),
    }),
    needing("chromium", {
      name: "API reference in a browser",
      run: () => docsPage(stack!.url, browser, join(defaultDataDir, "pictures")),
    }),
  ];
}

function databaseTests(): Step {
  const features = slugs.filter((slug) =>
    filesIn("tests").some((file) => file.startsWith(`tests/${slug}/`))
  );
  return vitestStep(
    "Tests on PostgreSQL 15",
    // A test that needs a system of its own would share this server with all others.
    [
      "tests/sql/",
      ...features.map((slug) => `tests/${slug}/`),
      "--exclude=tests/**/own-system*.test.ts",
    ],
  );
}

/** On two servers of its own, and not on the one that the rest uses. */
function restored(): Step {
  return vitestStep("A dump in a new project", ["tests/deploy/restore.test.ts"], {
    DATABASE_URL: undefined,
  });
}

function needing(program: Program, step: Step): Step {
  return missing.includes(program) ? skipped(step) : step;
}

function skipped({ name }: Step): Step {
  return { name, run: () => Promise.resolve({ skipped: 1 }) };
}
