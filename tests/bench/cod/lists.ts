/** The list of collected cash at ten thousand and at a million rows of one tenant, as clients ask for it. */
import { performance } from "node:perf_hooks";
import type { Bench } from "../bench-stack.ts";
import { percentiles } from "../load.ts";
import type { Report } from "../report.ts";
import { fill } from "./rows.ts";

const small = 10_000;
const large = 1_000_000;
const asks = 200;

export async function lists(bench: Bench, report: Report): Promise<void> {
  await fill(bench, 0, small);
  const few = await measure(bench);
  await fill(bench, small, large);
  const many = await measure(bench);
  for (const kind of Object.keys(few)) {
    report.note(
      `COD list, ${kind}: p95 ${few[kind]!.toFixed(1)} ms on 10,000, ${
        many[kind]!.toFixed(1)
      } ms on 1,000,000`,
    );
    report.ratio({
      what: `COD list, ${kind}: p95 on 1,000,000 rows against 10,000`,
      value: many[kind]! / few[kind]!,
      atMost: 2,
    });
  }
}

/** p95 in milliseconds of a page of 20 with its sums. */
export async function measure({ stack, token }: Bench): Promise<Record<string, number>> {
  const headers = { authorization: `Bearer ${token}` };
  const ids = (await stack.sql`select id from bench.drivers order by n limit 100`).map((row) =>
    row.id as string
  );
  const codes = (await stack
    .sql`select delivery_code from money.cod_collections tablesample system (50) limit 500`)
    .map((row) => String(row.delivery_code));
  const time = async (query: (i: number) => string) => {
    const took: number[] = [];
    for (let i = -20; i < asks; i++) {
      const start = performance.now();
      const response = await fetch(
        `${stack.apiUrl}/delivery/cod-collections?${query(Math.abs(i))}`,
        { headers },
      );
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${response.status}`);
      if (i >= 0) took.push(performance.now() - start);
    }
    return percentiles(took).p95;
  };
  return {
    "first page": await time(() => ""),
    "by driver": await time((i) => `driver_id=${ids[i % ids.length]}`),
    "by status": await time(() => "status=remitted"),
    "by search": await time((i) => `search=${codes[i % codes.length]}`),
  };
}
