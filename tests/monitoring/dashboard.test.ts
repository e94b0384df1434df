/** docs/monitoring/dashboard.json is what Grafana calls a dashboard. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { dashboardFaults } from "./grafana-schema.ts";

const dashboard = JSON.parse(readFileSync("docs/monitoring/dashboard.json", "utf8"));

test("the dashboard is valid by the schema of Grafana, and one with a fault is not", {
  timeout: 120_000,
}, () => {
  expect(dashboardFaults(dashboard)).toEqual([]);
  const wrong = structuredClone(dashboard);
  const [panel] = wrong.panels.filter(({ type }: { type: string }) => type === "timeseries");
  panel.gridPosition = panel.gridPos;
  panel.targets[0].expression = "1";
  panel.options.legend.displayMode = "sideways";
  const faults = dashboardFaults(wrong).join("\n");
  for (const name of ["gridPosition", "expression", "displayMode"]) expect(faults).toContain(name);
});

test("no two panels have one id or lie on each other, and all fit the width", () => {
  const panels: { id: number; gridPos: { x: number; y: number; w: number; h: number } }[] =
    dashboard.panels;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  for (const { id, gridPos: a } of panels) {
    expect(a.x + a.w).toBeLessThanOrEqual(24);
    const over = panels.filter(({ id: other, gridPos: b }) =>
      other !== id && a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
    );
    expect(over.map(({ id }) => id)).toEqual([]);
  }
});
