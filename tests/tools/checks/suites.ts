/**
 * Which tests `npm test` runs and which `npm run test:full` runs beside it: CI calls both. Here stands everything that is
 * not run by `npm test` in its whole form, and why.
 */

/** Run by `npm run test:full` alone: a file, or a folder that ends with a slash, and the reason. */
export const onlyInFull: Readonly<Record<string, string>> = {
  "tests/deploy/": "ask the real CLI and type-check every function for what changes seldom",
  "tests/bench/cod/statements.test.ts":
    "fills a stack of its own, and only the benchmarks use its statements",
  "tests/contract/examples-recorded.test.ts":
    "makes every call of the document on a stack of its own; that each has a valid example is tested everywhere",
  "tests/contract/own-system-read-only.test.ts":
    "makes every call on a system of its own that takes no changes; what the database refuses is classified in one place",
  "tests/contract/openapi-lint.test.ts":
    "reads the whole document with two linters; what they look for seldom changes",
  "tests/e2e/clients.test.ts": "installs generators of clients from the registry",
  "tests/monitoring/dashboard.test.ts":
    "makes a schema of Grafana's types, and nothing else depends on the file",
  "tests/e2e/demo.test.ts": "simulates days of a company, and nothing else depends on it",
  "tests/local/command-line.test.ts": "starts every command, which seldom changes",
  "tests/prove/upgrade.test.ts":
    "works on with the functions of each released version while it is upgraded",
  "tests/sql/upgrade.test.ts":
    "upgrades a database of each released version; only a migration changes what it says",
  "tests/sql/upgrade-opening.test.ts":
    "upgrades a company of an earlier version, as does the one before",
  "tests/sql/upgrade-people.test.ts":
    "upgrades a company of an earlier version, as do the two before",
  "tests/sql/upgrade-requests.test.ts":
    "upgrades a company of an earlier version, as do the three before",
  "tests/sql/upgrade-sent-back.test.ts":
    "upgrades a company of an earlier version, as do the four before",
  "tests/sql/upgrade-sorted.test.ts":
    "upgrades a company of an earlier version, as do the five before",
  "tests/local/stack.test.ts":
    "starts the local stack in every way; every test uses one, and only supabase/local changes what this says",
  "tests/local/template.test.ts": "builds template folders anew, which every run uses",
  "tests/contract/client.test.ts":
    "makes the client's types and calls every operation by it; that they are what endpoints declare is checked everywhere",
  "tests/prove/ssrf.test.ts": "starts a system of its own that may call nobody inside",
  "tests/tenants/administration/own-system.test.ts":
    "starts a system of its own and kills its functions; the wizard's other failures are tested everywhere",
  "tests/tenants/administration/own-system-subscriptions.test.ts":
    "starts a system of its own for a setting that nobody has by default",
  "tests/tenants/erasure/own-system-everybody.test.ts":
    "erases nine people of a company one after the other; three others are tested everywhere",
  "tests/tenants/erasure/own-system-recipient.test.ts":
    "erases somebody without an account on a system of its own; a driver and others of the company are erased everywhere",
  "tests/tenants/erasure/own-system-every-table.test.ts":
    "stops an erasure after every second table; those that run through are tested everywhere",
  "tests/sql/operators-sql.test.ts":
    "runs each statement of the operator's pages; only a migration changes what it says",
  "tests/contract/collection.test.ts":
    "makes calls of a collection, which is made of the document alone",
  "tests/local/tests-of.test.ts": "reads every test, for a command that nothing depends on",
  "tests/delivery/cod-holds/many-rows.test.ts":
    "counts what is read of hundreds of rows; what is done with them is tested everywhere",
  "tests/delivery/cod-holds/reconciliation-rows.test.ts":
    "counts what is read of hundreds of rows, as does the one before",
  "tests/delivery/merchant-balances/many-rows.test.ts":
    "counts what is read of hundreds of rows, as do the two before",
  "tests/e2e/walkthroughs.test.ts": "runs each program and command of the documents, twice",
};

/**
 * Tests with a brief form in `npm test`, which `npm run test:full` runs whole: a file, or a folder that ends with a slash,
 * and how the two differ. Where something is drawn at random, or goes until time is up, the brief form is one case with a
 * fixed seed and a fixed number of calls, which comes out the same however busy the machine is.
 */
export const briefInTest: Readonly<Record<string, string>> = {
  "tests/prove/crash.test.ts": "ten seconds of faults under load; here each kind of fault once",
  "tests/prove/dispatch.test.ts": "random histories of offers and answers; here a short one",
  "tests/prove/desk-queues.test.ts": "random histories of cash on desks; here a short one",
  "tests/delivery/cod-holds/on-bank-races.test.ts":
    "races of cash that leaves desks; here fewer rounds",
  "tests/prove/storm.test.ts": "50 requests for each of two keys a kind of call; here 10 for one",
  "tests/prove/merchant.test.ts": "400 random histories of merchants' money; here 20",
  "tests/prove/payments.test.ts": "20 orders and 40 notices of gateways in any order; here half",
  "tests/prove/model.test.ts": "random histories with every operation; here a short one",
  "tests/contract/list-pages.test.ts":
    "every list is sent every number that makes no sense; here each list one",
  "tests/contract/fields.test.ts":
    "the fields of each list are asked for in four parts; here in two",
  "tests/contract/examples.test.ts": "every example is compared with its schema; here every eighth",
  "tests/contract/fuzz.test.ts": "as many requests as half a minute takes; here one a call",
  "tests/contract/tenants/":
    "every role names another tenant in every place for an id; here administrators do, the others in a third each, and one sample a call is sent",
  "tests/sql/ledger-races.test.ts": "3200 postings at once; here 240",
  "tests/warehousing/stock/races.test.ts": "a thousand transfers at once; here a hundred",
  "tests/warehousing/inventory-counts/races.test.ts": "240 changes at once; here 120",
  "tests/warehousing/inventory/rest-of-parcel.test.ts":
    "six rounds of two who are at one parcel; here two",
  "tests/delivery/outcomes/undo-declared.test.ts":
    "eight rounds of an undo and a count; here three",
  "tests/delivery/assignments/races.test.ts":
    "every dispatcher asks for all; here until the van is full",
  "tests/delivery/cod/settlements-reverse-books.test.ts":
    "races of up to 15 rounds; here two or three",
  "tests/delivery/shipment-labels/page.test.ts":
    "every page is scanned, every barcode and every text too long in every form; here three pages, and one form each",
  "tests/delivery/merchant-statements/document-page.test.ts":
    "2,000 rows in each language, and every number of rows about a page's end; here 200 in two of them, and fewer",
  "tests/delivery/auto-assignment/races.test.ts": "100 orders for ten drivers; here 40 for four",
  "tests/delivery/driver-performance/refresh.test.ts": "three random histories; here one",
  "tests/delivery/zones/zones.test.ts": "10,000 addresses find their zone; here 900",
  "tests/storefront/orders/endings.test.ts":
    "every pair of ends with every way of paying; here with one",
  "tests/shared/driver.test.ts": "twenty seconds of broken connections; here each kind twice",
  "tests/e2e/cash-history.test.ts": "250 random bookings; here 60",
  "tests/e2e/main-job.test.ts": "kills of each kind of process; here of one",
};

/** Needs the pg_dump of its server: `npm run test:debian` has both. */
export const onlyOnDebian = "tests/deploy/restore.test.ts";

/** The files that vitest excludes in `npm test`. */
export const excludedFromTest = Object.keys(onlyInFull).map((path) =>
  `--exclude=${path.endsWith("/") ? `${path}**` : path}`
);
