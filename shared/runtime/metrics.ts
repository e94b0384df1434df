/**
 * The counts of this process since they were last saved. A process sees a part of the requests for a few minutes, so nothing is read
 * from it: its counts are added to those of all others in the database (shared/db/save-metrics.ts).
 */

type Labels = Record<string, string>;

/** Upper bounds in seconds. Written as OpenMetrics wants them: with a point. */
const bounds = {
  barid_http_request_duration_seconds: [
    "0.01",
    "0.025",
    "0.05",
    "0.1",
    "0.25",
    "0.5",
    "1.0",
    "2.5",
    "5.0",
    "10.0",
  ],
  barid_database_pool_wait_seconds: ["0.001", "0.01", "0.1", "0.5", "1.0", "2.5", "5.0"],
};

type Counter =
  | "barid_http_requests_total"
  | "barid_database_pool_timeouts_total"
  | "barid_log_requests_folded_total";
type Histogram = keyof typeof bounds;

interface Observed {
  name: Histogram;
  labels: Labels;
  /** By bound, the last without one. */
  counts: number[];
  sum: number;
}

let counters = new Map<string, number>();
let histograms = new Map<string, Observed>();

/** Adds one to a counter. Values of labels come from code, never from clients: each one is a series that stays. */
export function count(name: Counter, labels: Labels): void {
  add(seriesOf(name, labels), 1);
}

/** Adds a duration to a histogram. */
export function observe(name: Histogram, labels: Labels, seconds: number): void {
  const series = seriesOf(name, labels);
  let observed = histograms.get(series);
  if (!observed) {
    observed = { name, labels, counts: bounds[name].map(() => 0).concat(0), sum: 0 };
    histograms.set(series, observed);
  }
  const place = bounds[name].findIndex((bound) => seconds <= Number(bound));
  observed.counts[place < 0 ? bounds[name].length : place]++;
  observed.sum += seconds;
}

/** All that was counted since the last call, by series. */
export function takeCounts(): Record<string, number> {
  for (const { name, labels, counts, sum } of histograms.values()) {
    let total = 0;
    counts.forEach((number, place) => {
      total += number;
      add(seriesOf(`${name}_bucket`, { ...labels, le: bounds[name][place] ?? "+Inf" }), total);
    });
    add(seriesOf(`${name}_count`, labels), total);
    add(seriesOf(`${name}_sum`, labels), sum);
  }
  const taken = Object.fromEntries(counters);
  counters = new Map();
  histograms = new Map();
  return taken;
}

/** Puts back what could not be saved. */
export function putCountsBack(counts: Record<string, number>): void {
  for (const [series, value] of Object.entries(counts)) add(series, value);
}

function add(series: string, value: number): void {
  counters.set(series, (counters.get(series) ?? 0) + value);
}

/** A name with its labels as OpenMetrics writes them. */
export function seriesOf(name: string, labels: Labels): string {
  const list = Object.entries(labels).map(([label, value]) =>
    `${label}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`
  );
  return list.length ? `${name}{${list.join(",")}}` : name;
}
