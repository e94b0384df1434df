// npm run test:debian: what the embedded Postgres cannot show. PostgreSQL 15 with the real pg_cron takes the same
// migrations and tests, plpgsql_check reads every function, and a real browser opens the API reference.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultDataDir, slugs } from "../paths.ts";
import { startPostgres } from "../postgres.ts";
import {
  browser,
  everyJobTicks,
  lint,
  missingPrograms,
  postgresDir,
  type Program,
} from "../proof/debian.ts";
import { docsPage } from "../proof/docs-page.ts";
import { filesIn, textOf } from "../proof/files.ts";
import { closing, prove, type Step } from "../proof/steps.ts";
import { vitestStep } from "../proof/vitest.ts";
import { type Stack, startStack } from "../stack.ts";

const schemas = [
  "app",
  "private",
  "tenancy",
  "money",
  "delivery",
  "warehousing",
  "storefront",
  "integration",
  "public",
];
const missing = missingPrograms();
if (missing.length) {
  console.log(`Some programs are missing: apt-get install ${missing.join(" ")} gets them.`);
}

const dir = mkdtempSync(join(tmpdir(), "barid-debian-"));
try {
  process.exitCode = closing(await proof());
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function proof() {
  if (missing.includes("postgresql-15") || missing.includes("postgresql-15-cron")) {
    return await prove([[...withStack(undefined), databaseTests()].map(skipped)]);
  }
  const server = await startPostgres({
    dataDir: join(dir, "postgres"),
    port: 0,
    durable: false,
    installation: postgresDir,
    settings: {
      shared_preload_libraries: "pg_cron",
      "cron.database_name": "postgres",
      "cron.use_background_workers": "on",
    },
  });
  // From here on every stack uses this server.
  process.env.DATABASE_URL = server.url;
  try {
    const stack = await startStack({ dataDir: join(dir, "stack"), port: 0 });
    const first = await prove([withStack(stack)]).finally(() => stack.stop());
    const second = await prove([[databaseTests()]]);
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
  const jobs = filesIn("sql/60_cron").flatMap((file) =>
    [...textOf(file).matchAll(/cron\.schedule\(\s*'(\w+)'/g)].map((match) => match[1]!)
  );
  return [
    { name: "pg_cron runs every job", run: () => everyJobTicks(stack!.sql, jobs) },
    needing("postgresql-15-plpgsql-check", {
      name: "Functions are sound (plpgsql_check)",
      run: () => lint(stack!.dbUrl, schemas),
    }),
    needing("chromium", {
      name: "API reference in a browser",
      run: () => docsPage(stack!.url, browser, join(defaultDataDir, "api-reference.png")),
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
      "--exclude=tests/**/own-system.test.ts",
    ],
  );
}

function needing(program: Program, step: Step): Step {
  return missing.includes(program) ? skipped(step) : step;
}

function skipped({ name }: Step): Step {
  return { name, run: () => Promise.resolve({ skipped: 1 }) };
}
