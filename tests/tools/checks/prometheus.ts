/** Checks with Prometheus itself: its rules, a scrape of a running stack, and every query of the alerts and the dashboard. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { families } from "../../../functions/system/metrics/families.ts";
import { freePort } from "../../../supabase/local/ports.ts";
import type { Stack } from "../../../supabase/local/stack.ts";
import { runProgram, verdict } from "./programs.ts";
import type { StepResult } from "./steps.ts";

export const prometheus = "/usr/bin/prometheus";
const promtool = "/usr/bin/promtool";
const folder = "docs/monitoring";
const key = "for-a-scraper-of-the-stack";

/** promtool on the rules, and on what each of them does with numbers that are given. */
export async function rulesHold(): Promise<StepResult> {
  const checked = verdict(await runProgram(promtool, ["check", "rules", `${folder}/alerts.yml`]));
  const tested = verdict(
    await runProgram(promtool, ["test", "rules", "tests/monitoring/alerts.yml"]),
  );
  return both(checked, tested);
}

/** Prometheus with the configuration of the documents reads a stack, and knows what alerts and dashboard ask for. */
export async function metricsAreScraped(stack: Stack): Promise<StepResult> {
  await stack.sql`insert into tenancy.api_keys (name, key_hash, scopes, is_system_capable)
    values ('Prometheus', sha256(convert_to(${key}, 'UTF8')), '{view:metrics:system}', true)
    on conflict (key_hash) do nothing`;
  const text = await metricsOf(stack);
  const dir = mkdtempSync(join(tmpdir(), "barid-prometheus-"));
  try {
    return both(await namesAreGood(dir, text), await scrape(dir, stack));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function metricsOf(stack: Stack): Promise<string> {
  const headers = { authorization: `ApiKey ${key}` };
  // Something to count: answers of every function, saved by the processes that end.
  await Promise.all(
    ["delivery", "payment", "storefront"].map((slug) =>
      fetch(`${stack.url}/functions/v1/${slug}/nothing`)
    ),
  );
  await stack.restartWorkers();
  for (let round = 0; round < 100; round++) {
    const answer = await fetch(`${stack.url}/functions/v1/system/metrics`, { headers });
    const text = await answer.text();
    if (text.includes("barid_http_requests_total{")) return text;
    await setTimeout(200);
  }
  throw new Error("the metrics did not count the requests within 20 seconds");
}

/** promtool reads the older text format alone, in which the type of a counter stands at the name with its ending. */
async function namesAreGood(dir: string, text: string): Promise<StepResult> {
  const older = text
    .replace(/^# (TYPE|HELP) (\S+) (counter .*|counter)$/gm, "# $1 $2_total $3")
    .replace(/^# TYPE (\S+) info$/gm, "# TYPE $1_info gauge");
  const counters = Object.entries(families).filter(([, { type }]) => type === "counter");
  const named = counters.reduce(
    (all, [name, { help }]) =>
      all.replace(`# HELP ${name} ${help}`, `# HELP ${name}_total ${help}`),
    older.replace("# HELP barid_build ", "# HELP barid_build_info "),
  );
  const lines = named.split("\n").filter((line) => !/^# (UNIT|EOF)/.test(line));
  const file = join(dir, "metrics.txt");
  writeFileSync(file, `${lines.join("\n")}\n`);
  return verdict(
    await runProgram("/bin/sh", ["-c", `${promtool} check metrics < ${file}`]),
  );
}

async function scrape(dir: string, stack: Stack): Promise<StepResult> {
  const port = await freePort();
  const config = configurationFor(dir, stack);
  const child = spawn(prometheus, [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(dir, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ], { stdio: ["ignore", "ignore", "pipe"] });
  const lines: string[] = [];
  child.stderr.on("data", (chunk) => lines.push(String(chunk)));
  const ended = new Promise((resolve) => child.once("close", resolve));
  try {
    const api = `http://127.0.0.1:${port}/api/v1`;
    const error = await scraped(api);
    if (error) return { failed: 1, details: [error, ...lines.slice(-5)] };
    return await queriesAnswer(api);
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

/** The file of the documents with the address, the key and the interval of this stack. */
function configurationFor(dir: string, stack: Stack): string {
  writeFileSync(join(dir, "key"), key);
  const written = readFileSync(join(folder, "prometheus.yml"), "utf8")
    .replace("scheme: https", "scheme: http")
    .replace("<ref>.supabase.co", new URL(stack.url).host)
    .replace("/etc/prometheus/barid.key", join(dir, "key"))
    .replace("scrape_interval: 30s", "scrape_interval: 1s")
    .replace("alerts.yml", join(process.cwd(), folder, "alerts.yml"));
  const file = join(dir, "prometheus.yml");
  writeFileSync(file, written);
  return file;
}

/** Waits for a scrape that went well; else what Prometheus says of the last one. */
async function scraped(api: string): Promise<string | undefined> {
  let last = "Prometheus did not start within 30 seconds";
  for (let round = 0; round < 150; round++) {
    const answer = await ask(`${api}/targets`).catch(() => undefined);
    const [target] = answer?.data.activeTargets ?? [];
    if (target?.health === "up") return undefined;
    if (target?.lastError) last = target.lastError;
    await setTimeout(200);
  }
  return last;
}

async function queriesAnswer(api: string): Promise<StepResult> {
  const dashboard = JSON.parse(readFileSync(join(folder, "dashboard.json"), "utf8"));
  const targets: string[] = dashboard.panels.flatMap((panel: { targets?: { expr: string }[] }) =>
    (panel.targets ?? []).map(({ expr }) => expr)
  );
  const { data } = await ask(`${api}/rules`);
  const rules: string[] = data.groups.flatMap((group: { rules: { query: string }[] }) =>
    group.rules.map(({ query }) => query)
  );
  const runbooks = readFileSync("docs/runbooks.md", "utf8");
  const asked = [...runbooks.matchAll(/^ *```promql\n([^`]+?)\n *```/gm)].map(([, block]) =>
    block!
  );
  const details: string[] = [];
  const queries = [
    ...asked,
    ...targets.map((one) => one.replaceAll("$__rate_interval", "1m")),
    ...rules,
  ];
  for (const query of queries) {
    const { status, error } = await ask(`${api}/query?query=${encodeURIComponent(query)}`);
    if (status !== "success") details.push(`${query}: ${error}`);
  }
  const { data: names } = await ask(`${api}/label/__name__/values`);
  const known = await metadataOf(api);
  for (const [name, { type, help }] of Object.entries(families)) {
    const metadata = known[name]?.[0];
    if (metadata?.type !== type || metadata.help !== help) {
      details.push(`${name} is ${JSON.stringify(metadata)}`);
    }
  }
  const always = [
    "barid_http_requests_total",
    "barid_jobs_oldest_due_age_seconds",
    "barid_build_info",
    "barid_http_request_duration_seconds_bucket",
    "barid_cash_mismatch_tenants",
  ];
  details.push(
    ...always.filter((name) => !names.includes(name)).map((name) => `${name} has no sample`),
  );
  const checks = queries.length + Object.keys(families).length + always.length;
  return { passed: checks - details.length, failed: details.length, details };
}

async function metadataOf(api: string): Promise<Record<string, { type: string; help: string }[]>> {
  return (await ask(`${api}/metadata`)).data;
}

// deno-lint-ignore no-explicit-any -- answers of many shapes
async function ask(url: string): Promise<any> {
  return await (await fetch(url)).json();
}

function both(one: StepResult, other: StepResult): StepResult {
  return {
    passed: (one.passed ?? 0) + (other.passed ?? 0),
    failed: (one.failed ?? 0) + (other.failed ?? 0),
    details: [...(one.details ?? []), ...(other.details ?? [])],
  };
}
