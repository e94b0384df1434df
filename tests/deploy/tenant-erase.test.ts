/** `npm run tenant -- erase` as its page has it: in a process of its own, killed, beside rows that somebody holds. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../supabase/local/paths.ts";
import { sql, stack } from "../support/db.ts";
import {
  type Lived,
  newCompany,
  receives,
  rowsThatSay,
  textsOfPerson,
} from "../support/erasure.ts";
import { commandsUnder, statementsUnder, wordsOf } from "./operations-page.ts";

const person = {
  name: "Rebin Qadir",
  phone: "+9647706665544",
  email: "rebin@example.test",
  street: "Mamostayan 30, door 2",
};
let here: Lived;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barid-erase-"));
  here = await newCompany();
  await receives(here, person);
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A command of the page as its reader types it. */
function command(
  position: number,
  onLine: (line: string, process: ChildProcess) => void = () => {},
) {
  const values = {
    slug: `t-${here.shop.tenant.id}`,
    number: "0770 666 5544",
    file: join(folder, "person.json"),
    name: "Dana Aziz",
  };
  const [, , , , ...args] = wordsOf(commandsUnder("Erase a person")[position]!, values);
  const started = spawn(process.execPath, ["supabase/local/bootstrap.mjs", "tenant", ...args], {
    cwd: root,
    detached: true,
    env: {
      ...process.env,
      ...{
        DATABASE_URL: stack.dbUrl,
        SUPABASE_URL: stack.url,
        SUPABASE_SECRET_KEY: stack.secretKey,
      },
    },
  });
  const lines: string[] = [];
  for (const stream of [started.stdout, started.stderr]) {
    createInterface(stream).on("line", (line) => {
      lines.push(line);
      onLine(line, started);
    });
  }
  return new Promise<{ code: number | null; text: string }>((done) =>
    started.once("close", (code) => done({ code, text: lines.join("\n") }))
  );
}

test("the page leads through it, killed and beside a row that somebody holds", async () => {
  const shown = await command(0);
  expect([shown.code, shown.text]).toEqual([0, expect.stringContaining("files of the person")]);
  expect(readFileSync(join(folder, "person.json"), "utf8")).toContain(person.street);
  const plan = await command(1);
  expect([plan.code, plan.text]).toEqual([0, expect.stringContaining("Nothing was erased.")]);
  await command(2, (line, { pid }) => {
    if (line.endsWith("rows erased")) process.kill(-pid!, "SIGKILL");
  });
  const [under] =
    await sql`select ended_at from tenancy.erasures where tenant_id = ${here.shop.tenant.id}`;
  expect(under).toEqual({ ended_at: null });
  const holder = postgres(stack.dbUrl, { max: 1 });
  const holding = holder.begin(async (tx) => {
    await tx`select from money.cod_collections where tenant_id = ${here.shop.tenant.id} for update`;
    await wait(5000);
  });
  const done = await command(2);
  await holding;
  await holder.end();
  expect([done.code, done.text]).toEqual([0, expect.stringContaining("Erased.")]);
  expect(done.text).toContain("The erasure has begun. What is left:");
  expect(await rowsThatSay(textsOfPerson(person))).toEqual([]);
  const records = await sql.unsafe(statementsUnder("Erase a person")[0]!);
  expect(records.filter(({ slug }) => slug === `t-${here.shop.tenant.id}`)).toMatchObject([{
    ...{ run_by: "Dana Aziz", ended_at: expect.any(Date) },
  }]);
}, 120_000);
