/**
 * The walkthroughs that README and docs tell people to run, each as they run it: a Node process of its own against the demo
 * data of `npm start`. All on one stack, one after the other, so that each begins where another may have ended.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseStartOptions } from "../../supabase/local/options.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { supabase } from "../deploy/cli.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { startValidatingProxy, type ValidatingProxy } from "../support/validating-proxy.ts";
import { anchorsOf, commandsOf, linksOf, pages } from "./documents.ts";

const folder = resolve("tests/walkthrough");
const walkthroughs = readdirSync(folder).filter((file) => file !== "barid.mjs");

let stack: Stack;
let proxy: ValidatingProxy;
let scratch: string;

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "barid-walkthroughs-"));
  stack = await startOwnStack({
    schedules: true,
    seed: true,
    env: { BARID_LOG_LEVEL: "error" },
  });
  proxy = await startValidatingProxy(stack.url);
});

afterAll(async () => {
  proxy?.close();
  await stack?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

interface Ended {
  code: number;
  printed: string;
  complained: string;
}

/** Runs a walkthrough to its end; what it writes lands in the scratch folder. */
function run(walkthrough: string, env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      "node",
      [join(folder, walkthrough)],
      {
        cwd: scratch,
        env: {
          ...process.env,
          TMPDIR: scratch,
          BARID_URL: proxy.url,
          BARID_KEY: stack.publishableKey,
          ...env,
        },
      },
      (_error, printed, complained) => resolve({ code: child.exitCode ?? -1, printed, complained }),
    );
  });
}

async function everythingAddsUp(): Promise<void> {
  expect(await stack.sql`select * from money.verify_books()`).toEqual([]);
  expect(await stack.sql`select * from warehousing.verify_stock()`).toEqual([]);
  expect(
    await stack
      .sql`select c.* from tenancy.tenants t cross join money.cod_differences(t.id, 'infinity') c`,
  ).toEqual([]);
}

describe("the demo data", () => {
  test("adds up: books, stock and cash", everythingAddsUp);

  test("has forty parcels that lie in the main warehouse and wait to be sorted", async () => {
    const [found] = await stack.sql`
      select count(*)::int as parcels, count(distinct d.dropoff_zone_id)::int as zones
      from delivery.deliveries d join warehousing.warehouses w on w.id = d.current_warehouse_id and w.code = 'WH-MAIN'
      where d.delivery_flow = 'pnd_outbound' and d.status = 'pending'`;
    expect(found).toEqual({ parcels: 40, zones: 5 });
  });

  test("added again changes nothing", async () => {
    const count = async () =>
      await stack.sql`select (select count(*) from delivery.deliveries) as deliveries,
        (select count(*) from warehousing.inventory_transactions) as movements,
        (select count(*) from money.ledger_entries) as entries, (select count(*) from storefront.product_variants) as variants`;
    const before = await count();
    for (const file of ["40_warehouse.sql", "50_store.sql", "60_parcels.sql"]) {
      await stack.sql.begin((tx) => tx.unsafe(readFileSync(`sql/demo/${file}`, "utf8")));
    }
    expect(await count()).toEqual(before);
  });
});

describe("a walkthrough", () => {
  test.each(walkthroughs)("%s completes, and every balance adds up", async (walkthrough) => {
    const { code, printed, complained } = await run(walkthrough);
    expect(complained, printed).toBe("");
    expect(code, printed).toBe(0);
    await everythingAddsUp();
  }, 120_000);

  test.each(walkthroughs.filter((walkthrough) => walkthrough !== "bulk-scan.mjs"))(
    "%s can be repeated",
    async (walkthrough) => {
      const { code, complained } = await run(walkthrough);
      expect(complained).toBe("");
      expect(code).toBe(0);
    },
    120_000,
  );

  test("ends with a code and one line when it does not find what it should", async () => {
    // Its items became orders above.
    const { code, complained } = await run("bulk-scan.mjs");
    expect(code).toBe(1);
    expect(complained).toBe(
      "No items are waiting any more: npm start -- --reset brings them back.\n",
    );
  });

  test("makes no call that differs from the API's document", () => {
    expect([...proxy.differences]).toEqual([]);
    expect(proxy.operations.size).toBeGreaterThan(80);
  });

  test("says so when nobody answers at its address", async () => {
    const { code, complained } = await run("cash.mjs", { BARID_URL: "http://127.0.0.1:9" });
    expect(code).toBe(1);
    expect(complained).toContain("Is npm start running");
  });
});

describe("what the documents say", () => {
  // The calls of the runbooks are made in operations.test.ts, which has the keys that they need.
  const told = pages.flatMap((page) => commandsOf(page).map((command) => [page, command] as const))
    .filter(([page, command]) => page !== "docs/runbooks.md" || !command.startsWith("curl "));
  const ours = JSON.parse(readFileSync("package.json", "utf8"));

  test.each(told)("%s: %s works", async (_page, command) => {
    const [program, ...words] = command.split(/\s+/);
    if (program === "npm") {
      const [name, ...options] = words[0] === "run"
        ? words.slice(words.findIndex((word, place) => place > 0 && !word.startsWith("-")))
        : words;
      // `ci` and `install` are npm's own; that `ci` takes the lock file is among the checks.
      expect(["ci", "install", ...Object.keys(ours.scripts)]).toContain(name);
      if (name === "start") parseStartOptions(options.filter((option) => option !== "--"));
    } else if (program === "node") {
      // Every walkthrough is run above.
      expect(walkthroughs.map((walkthrough) => `tests/walkthrough/${walkthrough}`)).toContain(
        words[0],
      );
    } else if (program === "curl") {
      const answer = await shell(command.replaceAll("http://127.0.0.1:54321", stack.url));
      expect(JSON.parse(answer)).toMatchObject({ success: true });
    } else if (words[0] === "supabase") {
      const verbs = words.slice(1).filter((word) => /^[a-z]+$/.test(word));
      const help = await supabase([...verbs, "--help"]);
      expect(help.output).toContain(verbs.join(" "));
      for (const flag of words.filter((word) => word.startsWith("--"))) {
        expect(help.output).toContain(flag);
      }
    } else {
      // The project's own runners: what follows them has to be here.
      expect(["npx", "UPDATE=1"]).toContain(program);
      for (const file of words.filter((word) => word.includes("/"))) {
        expect(existsSync(file)).toBe(true);
      }
    }
  });

  test("every walkthrough is in a document", () => {
    const named = told.map(([, command]) => command);
    expect(
      walkthroughs.filter((walkthrough) =>
        !named.includes(`node tests/walkthrough/${walkthrough}`)
      ),
    ).toEqual([]);
  });

  test("the examples for frontends are lines of the program that runs them", () => {
    const lines = (text: string) => text.replace(/\s+/g, " ").trim();
    const program = lines(readFileSync(join(folder, "frontend.mjs"), "utf8"));
    const examples = [
      ...readFileSync("docs/frontends.md", "utf8").matchAll(/^```js\n([\s\S]*?)^```/gm),
    ];
    expect(examples.length).toBeGreaterThan(3);
    expect(examples.map(([, text]) => lines(text!)).filter((text) => !program.includes(text)))
      .toEqual([]);
  });

  test.each(pages)("the links of %s lead somewhere", (page) => {
    const dead = linksOf(page).filter((link) => {
      const [path, anchor] = link.split("#");
      const file = path ? join(dirname(page), path) : page;
      return !existsSync(file) ||
        anchor !== undefined && file.endsWith(".md") && !anchorsOf(file).includes(anchor);
    });
    expect(dead).toEqual([]);
  });
});

function shell(command: string): Promise<string> {
  return new Promise((resolve, reject) =>
    execFile("bash", ["-c", command], (error, printed) => error ? reject(error) : resolve(printed))
  );
}
