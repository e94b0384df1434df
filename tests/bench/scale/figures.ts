/** The figures of the scale benchmark: docs/scale/figures.json. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** How many ask at once. */
export const clients = [1, 2, 4, 8, 16, 32];

/** Of one path at one size, or at one number of clients. */
export interface Point {
  /** Milliseconds. */
  p50: number;
  p95: number;
  /** Milliseconds of CPU an answer costs, with what the system does meanwhile. */
  databaseCpu: number;
  workerCpu: number;
  /** Answers a second; of single askings, one after the other, it says nothing and is left out. */
  perSecond?: number;
}

export interface Curve {
  path: string;
  points: Point[];
}

/** A list or another call: they are drawn apart. */
export type RowsCurve = Curve & { kind: "list" | "other" };

export interface Disk {
  table: string;
  rows: number;
  /** Of the table with its indexes and what lies beside it. */
  bytesPerRow: number;
  indexBytesPerRow: number;
}

export interface Figures {
  date: string;
  commit: string;
  machine: string;
  /** Rows of each table in one tenant; a second tenant has as many. */
  rows: number[];
  byRows: RowsCurve[];
  clients: number[];
  byClients: Curve[];
  disk: Disk[];
}

/** Where figures and charts are kept. */
export const folder = fileURLToPath(new URL("../../../docs/scale/", import.meta.url));
const file = `${folder}figures.json`;

export function keepFigures(figures: Figures): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, JSON.stringify(figures, null, 2) + "\n");
}

/** Those of the last run. */
export const readFigures = (): Figures => JSON.parse(readFileSync(file, "utf8"));
