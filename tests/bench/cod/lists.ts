/** The list of collected cash at ten thousand and at a million rows of one tenant, as clients ask for it. */
import { compareRows, get, p95s } from "../ask.ts";
import type { Bench } from "../bench-stack.ts";
import type { Report } from "../report.ts";
import { fill } from "./rows.ts";

const small = 10_000;
const large = 1_000_000;

export async function lists(bench: Bench, report: Report): Promise<void> {
  await fill(bench, 0, small);
  const few = await measure(bench);
  await fill(bench, small, large);
  const many = await measure(bench);
  compareRows(report, { few, many, rows: [small, large], of: "collections" });
}

/** p95 in milliseconds of a page of 20 with its sums. */
export async function measure(bench: Bench): Promise<Record<string, number>> {
  const { stack: { sql } } = bench;
  const ids = (await sql`select id from bench.drivers order by n limit 100`).map(({ id }) => id);
  const codes = (await sql`select delivery_code from money.cod_collections
    tablesample system (50) limit 500`).map((row) => String(row.delivery_code));
  const list = (query: string) => get(bench, `/delivery/cod-collections?${query}`);
  return await p95s({
    "COD list, first page": () => list(""),
    "COD list, by driver": (i) => list(`driver_id=${ids[i % ids.length]}`),
    "COD list, by status": () => list("status=remitted"),
    "COD list, by search": (i) => list(`search=${codes[i % codes.length]}`),
  });
}
