/**
 * Which tests `npm test` runs and which `npm run test:full` runs beside it: CI calls both. Here stands everything that is
 * not run by `npm test` in its whole form, and why.
 */

/** Run by `npm run test:full` alone: a file, or a folder that ends with a slash, and the reason. */
export const onlyInFull: Readonly<Record<string, string>> = {
  "tests/deploy/": "ask the real CLI and type-check every function for what changes seldom",
  "tests/e2e/demo.test.ts": "simulates days of a company, and nothing else depends on it",
  "tests/e2e/walkthroughs.test.ts": "runs each program and command of the documents, twice",
};

/**
 * Drawn at random or as long as time allows: `npm test` has one case with a fixed seed and a fixed number of calls, which
 * comes out the same however busy the machine is; `npm run test:full` draws anew and takes its time.
 */
export const briefInTest: Readonly<Record<string, string>> = {
  "tests/prove/crash.test.ts": "ten seconds of faults under load; here each kind of fault once",
  "tests/prove/model.test.ts": "long random histories; here a short one",
  "tests/contract/fuzz.test.ts": "as many requests as half a minute takes; here three a call",
  "tests/shared/driver.test.ts": "twenty seconds of broken connections; here each kind in turn",
  "tests/e2e/cash-history.test.ts": "250 random bookings; here 60",
  "tests/e2e/main-job.test.ts": "kills of each kind of process; here of one",
};

/** Needs the pg_dump of its server: `npm run test:debian` has both. */
export const onlyOnDebian = "tests/deploy/restore.test.ts";

/** What vitest leaves out in `npm test`. */
export const excludedFromTest = Object.keys(onlyInFull).map((path) =>
  `--exclude=${path.endsWith("/") ? `${path}**` : path}`
);
