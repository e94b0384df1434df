/** Alerts, dashboard, runbooks and documents speak of metrics that there are, and of each other. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { families } from "../../functions/system/metrics/families.ts";

const read = (path: string) => readFileSync(path, "utf8");
const rules = read("docs/monitoring/alerts.yml");
const runbooks = read("docs/runbooks.md");
const operations = read("docs/operations.md");
const dashboard = read("docs/monitoring/dashboard.json");

const alerts = [...rules.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name!);
const titles = [...runbooks.matchAll(/^## (.+)$/gm)].map(([, title]) => title!);
/** The sections of a page as links name them. */
const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!.toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-")
  );

const endings = {
  counter: ["_total"],
  gauge: [""],
  info: ["_info"],
  histogram: ["_bucket", "_count", "_sum"],
};
const series = Object.entries(families).flatMap(([name, { type }]) =>
  endings[type].map((ending) => name + ending)
);
const named = (text: string) => [...new Set(text.match(/\bbarid_[a-z_]+_[a-z_]+\b/g) ?? [])];

test("each alert has a runbook and names it, and each runbook but the database's an alert", () => {
  expect(alerts.length).toBeGreaterThan(10);
  expect(new Set(alerts).size).toBe(alerts.length);
  expect(titles.filter((title) => !title.startsWith("Database ")).toSorted())
    .toEqual(alerts.toSorted());
  const links = [...rules.matchAll(/^ +runbook: docs\/runbooks\.md#(\S+)$/gm)].map(([, at]) => at);
  expect(links).toEqual(alerts.map((name) => name.toLowerCase()));
});

test("each alert is tried with numbers that make it fire, and with some that do not", () => {
  const tried = read("tests/monitoring/alerts.yml");
  for (const name of alerts) {
    expect(tried).toContain(`name: ${name} fires\n`);
    expect(tried).toContain(`name: ${name} is quiet\n`);
  }
});

test("each runbook says first what to ask", () => {
  const sections = runbooks.split(/^## /m).slice(1);
  const silent = sections.filter((text) => !/```(sql|sh|promql)\n/.test(text));
  expect(silent.map((text) => text.split("\n", 1)[0])).toEqual([]);
});

test("every link of a runbook leads to a section there is", () => {
  const pages: Record<string, string> = {
    "": runbooks,
    "operations.md": operations,
    "platform.md": read("docs/platform.md"),
  };
  const links = [...runbooks.matchAll(/\]\(([\w.]*)#([\w-]+)\)/g)];
  expect(links.length).toBeGreaterThan(15);
  const broken = links.filter(([, page, at]) => !anchorsOf(pages[page!] ?? "").includes(at!));
  expect(broken.map(([link]) => link)).toEqual([]);
});

test("alerts, dashboard and runbooks ask for series that the endpoint has", () => {
  const jobs = new Set(read("sql/cron.sql").match(/\bbarid_\w+/g));
  for (const text of [rules, dashboard, ...runbooks.match(/```promql[^`]+```/g) ?? []]) {
    const asked = named(text).filter((name) => !jobs.has(name));
    expect(asked.filter((name) => !series.includes(name))).toEqual([]);
  }
});

test("every metric stands in the dashboard and is explained in the documents", () => {
  for (const [name, { type }] of Object.entries(families)) {
    expect(operations).toContain(`\`${name}\``);
    expect(endings[type].some((ending) => dashboard.includes(name + ending))).toBe(true);
  }
});
