/** The metrics in the text format of OpenMetrics 1.0. */
import { seriesOf } from "../../../shared/runtime/metrics.ts";
import { families, type Family } from "./families.ts";

export const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** The answer of integration.metrics_read. */
export interface Measured {
  schema: string;
  /** The sums of all processes, by series. */
  counts: Record<string, number>;
  gauges: { name: string; labels: Record<string, string>; value: number }[];
}

const noneYet = {
  barid_database_pool_timeouts_total: 0,
  barid_log_requests_folded_total: 0,
};

interface Sample {
  series: string;
  value: number;
}

/** The text a scraper reads: families in their order, the samples of each together. A series of no known family is left out. */
export function openMetricsOf({ schema, counts, gauges }: Measured, version: string): string {
  const samples: Sample[] = [
    { series: seriesOf("barid_build_info", { version, schema }), value: 1 },
    // A counter that is not there at first would hide its first increase.
    ...Object.entries({ ...noneYet, ...counts }).map(([series, value]) => ({ series, value })),
    ...gauges.map(({ name, labels, value }) => ({ series: seriesOf(name, labels), value })),
  ];
  const lines = Object.entries(families).flatMap(([name, family]) => {
    const own = samples.filter(({ series }) => isOf(series, name, family));
    return [
      `# TYPE ${name} ${family.type}`,
      ...(family.unit ? [`# UNIT ${name} ${family.unit}`] : []),
      `# HELP ${name} ${family.help}`,
      ...own.sort(byLabelsAndBound).map(({ series, value }) => `${series} ${value}`),
    ];
  });
  return `${lines.join("\n")}\n# EOF\n`;
}

const endings: Record<Family["type"], string[]> = {
  counter: ["_total"],
  gauge: [""],
  histogram: ["_bucket", "_count", "_sum"],
  info: ["_info"],
};

function isOf(series: string, name: string, { type }: Family): boolean {
  const own = series.split("{", 1)[0];
  return endings[type].some((ending) => own === name + ending);
}

/** Buckets of the same labels come in the order of their bounds. */
function byLabelsAndBound(one: Sample, other: Sample): number {
  const [left, right] = [split(one.series), split(other.series)];
  return compare(left.labels, right.labels) || compare(left.name, right.name) ||
    left.bound - right.bound;
}

const compare = (one: string, other: string) => one < other ? -1 : one > other ? 1 : 0;

function split(series: string): { name: string; labels: string; bound: number } {
  const [name] = series.split("{", 1);
  const bound = /,?le="([^"]+)"/.exec(series);
  const labels = series.slice(name.length).replace(bound?.[0] ?? "", "").replace("{}", "");
  return { name, labels, bound: bound ? Number(bound[1].replace("+Inf", "Infinity")) : 0 };
}
