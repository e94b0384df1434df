/** Statements a second as pgbench sends them: what the functions' answers are compared with. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./bench-stack.ts";

export interface Sending {
  connections: number;
  seconds: number;
  /** How statements are sent; "simple" unless said. */
  mode?: "simple" | "extended" | "prepared";
}

/** Sends the text, a statement or several, again and again. Answers how often in a second. */
export async function pgbench(
  dbUrl: string,
  text: string,
  { connections, seconds, mode = "simple" }: Sending,
): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), "barid-bench-"));
  const file = join(dir, "statement.sql");
  writeFileSync(file, text);
  const { hostname, port, username, pathname } = new URL(dbUrl);
  const printed = await run("pgbench", [
    ...["-n", "-M", mode, "-c", String(connections), "-j", "1", "-T", String(seconds), "-f", file],
    ...["-h", hostname, "-p", port, "-U", username, pathname.slice(1)],
  ]).finally(() => rmSync(dir, { recursive: true }));
  const tps = Number(/tps = ([\d.]+)/.exec(printed)?.[1]);
  if (!tps) throw new Error(`pgbench: ${printed.slice(0, 400)}`);
  return tps;
}
