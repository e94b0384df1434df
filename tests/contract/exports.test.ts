/** Every list as a file: the same rows as its pages, whatever the function. */
import { parse } from "csv-parse/sync";
import { beforeAll, describe, expect, test } from "vitest";
import { listOf } from "../../shared/api/list-declaration.ts";
import type { Answer, Person } from "../support/api.ts";
import { settled } from "../support/changes.ts";
import { sql } from "../support/db.ts";
import { type Everything, newEverything } from "../support/everything.ts";
import { newSystemAdmin, saveSettings } from "../support/people.ts";
import { operations } from "./functions.ts";
import { sampleOf, urlOf } from "./requests.ts";

const lists = operations.filter(({ endpoint }) =>
  endpoint.method === "get" && (listOf(endpoint.query) || /EventsQuery|subscriptions.*events/.test(
    endpoint.path,
  )) && endpoint.response !== "csv"
);

let all: Everything;
let system: Person;
beforeAll(async () => {
  system = await newSystemAdmin();
  all = await newEverything("received");
  await saveSettings(all.tenant.id, "general.timezone", { name: "Asia/Baghdad" });
  await sql`update storefront.markets set status = 'approved', is_live = true where tenant_id = ${all.tenant.id}`;
});

/** Any caller with read access. */
async function readers(url: string): Promise<[Person, Answer]> {
  const { tenant } = all;
  for (const person of [tenant.admin, tenant.ops, tenant.institution, tenant.customer, system]) {
    const answer = await person.get(url);
    if (answer.status === 200) return [person, answer];
  }
  throw new Error(`nobody may read ${url}`);
}

const textOf = ({ body }: Answer) =>
  body instanceof Uint8Array
    ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(body)
    : JSON.stringify(body);

/** The first array of an answer, wherever it stands. */
function rowsOf(body: unknown): unknown[] {
  const queue = [body];
  for (const value of queue) {
    if (Array.isArray(value)) return value;
    if (value && typeof value === "object") queue.push(...Object.values(value));
  }
  throw new Error("no rows");
}

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$/;

/** A cell as a clock so many hours ahead of UTC shows it, if it is a time. */
const onClock = (cell: string, hours: number) =>
  instant.test(cell)
    ? new Date(Date.parse(cell) + hours * 3_600_000).toISOString().slice(0, 19).replace("T", " ")
    : cell;

/** Lines of a CSV file; line breaks inside quotes are none. */
const linesOf = (text: string) =>
  text.replace(/"(?:[^"]|"")*"/g, "q").split("\r\n").filter(Boolean);

test("there are lists", () => {
  expect(lists.length).toBeGreaterThan(40);
});

describe.each(lists.map((operation) => [operation.name, operation] as const))(
  "%s",
  (_, operation) => {
    test("comes as a file of all its rows", async () => {
      const url = urlOf(operation, sampleOf(operation, all.things));
      const [person, page] = await readers(url);
      const file = await person.get(url, { query: { format: "csv" } });
      expect(file.status, textOf(file)).toBe(200);
      expect(file.headers.get("content-type")).toBe("text/csv; charset=utf-8");
      expect(file.headers.get("content-disposition")).toMatch(
        /^attachment; filename="[\w-]+\.csv"$/,
      );
      const text = textOf(file);
      expect(text.startsWith("\ufeff")).toBe(true);
      const lines = linesOf(text.slice(1));
      const rows = rowsOf(page.body);
      if (person === system) {
        // A system administrator sees all tenants, more than a page, and other tests add to them meanwhile.
        expect(lines.length).toBeGreaterThan(rows.length);
      } else expect(lines).toHaveLength((page.body.pagination?.total ?? rows.length) + 1);
      if (!rows.length) return;
      const columns = lines[0].split(",");
      expect(columns.length).toBeGreaterThan(2);
      const { id } = rows[0] as { id?: string };
      if (id) expect(text).toContain(id);
      expect(columns).not.toContain("changed");
    });

    test("comes with its times on the company's clock, and all else as it was", async () => {
      const url = urlOf(operation, sampleOf(operation, all.things));
      const [person] = await readers(url);
      const cells = async (query: Record<string, string>): Promise<string[][]> => {
        const file = await person.get(url, { query: { format: "csv", ...query } });
        expect(file.status, textOf(file)).toBe(200);
        return parse(textOf(file), { bom: true });
      };
      const [headings, ...rows] = await cells({});
      const [sameHeadings, ...local] = await cells({ times: "local" });
      expect(sameHeadings).toEqual(headings);
      // A system administrator is in no company, and sees rows that other tests add meanwhile.
      if (person === system) return;
      // A visitor of an open shop is in no company either: in UTC.
      const hours = operation.endpoint.tenant === "none" ? 0 : 3;
      expect(local).toEqual(rows.map((row) => row.map((cell) => onClock(cell, hours))));
    });
  },
);

test("a file takes the list's filters, and refuses what the list refuses", async () => {
  const { tenant, things } = all;
  const none = await tenant.ops.get("/delivery/deliveries", {
    query: { format: "csv", search: "nothing is called this" },
  });
  expect(linesOf(textOf(none).slice(1))).toHaveLength(1);
  const one = await tenant.ops.get("/delivery/deliveries", {
    query: { format: "csv", search: String(things.delivery_code) },
  });
  expect(linesOf(textOf(one).slice(1))).toHaveLength(2);
  const path = "/delivery/deliveries";
  expect(await tenant.ops.get(path, { query: { format: "xml" } }))
    .toFailWith(400, "validation_failed");
  expect(await tenant.ops.get(path, { query: { format: "csv", column_filters: "[]" } }))
    .toFailWith(400, "invalid_column_filters");
});

test("what is a file in any case is the same file however it is asked for", async () => {
  const path = "/delivery/cod-collections/export";
  const plain = await all.tenant.dispatcher.get(path);
  expect(plain.status, textOf(plain)).toBe(200);
  const asked = await all.tenant.dispatcher.get(path, { query: { format: "csv" } });
  expect(textOf(asked)).toBe(textOf(plain));
});

test("with updated_since a file holds what changed since then, and nothing else", async () => {
  await settled(all.tenant.id, ["money.cod_collections", "delivery.deliveries"]);
  for (const path of ["/delivery/cod-collections/export", "/delivery/deliveries"]) {
    const file = async (query: Record<string, string>) => {
      const answer = await all.tenant.dispatcher.get(path, { query: { format: "csv", ...query } });
      expect(answer.status, textOf(answer)).toBe(200);
      return linesOf(textOf(answer).slice(1));
    };
    const [headings, ...rows] = await file({});
    expect(rows.length).toBeGreaterThan(0);
    const [sameHeadings, ...changed] = await file({ updated_since: "2020-01-01" });
    expect(sameHeadings).toBe(headings);
    expect(changed.sort()).toEqual(rows.sort());
    expect(await file({ updated_since: new Date(Date.now() + 60_000).toISOString() }))
      .toEqual([headings]);
  }
});
