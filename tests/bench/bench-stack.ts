/** The stack as the benchmarks use it: demo data, durable as in production, no log lines, no strictness. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Stack, startStack } from "../../supabase/local/stack.ts";
import { templateCluster } from "../support/template.ts";

export interface Bench {
  stack: Stack;
  tenantId: string;
  /** Whose tables are filled: the tenant itself unless a benchmark adds others. */
  tenants: string[];
  userId: string;
  token: string;
  stop(): Promise<void>;
}

/** A fresh stack with a dispatcher of the demo tenant signed in. */
export async function startBench(
  env: Record<string, string> = {},
  workers = 1,
): Promise<Bench> {
  const dataDir = mkdtempSync(join(tmpdir(), "barid-bench-"));
  const installation = process.env.BARID_PROVE_POSTGRES;
  const stack = await startStack({
    dataDir,
    port: 0,
    dbPort: 0,
    seed: true,
    schedules: false,
    installation,
    template: process.env.DATABASE_URL ? undefined : await templateCluster(installation),
    workers,
    env: { BARID_DB_POOL: "8", BARID_STRICT: "0", BARID_LOG_LEVEL: "warn", ...env },
  });
  const [row] = await stack.sql`select u.user_id, u.tenant_id from tenancy.tenant_users u
    join tenancy.profiles p on p.id = u.user_id where p.email = 'dispatcher@demo.test'`;
  const token = await stack.jwtSign({
    sub: row.user_id,
    app_metadata: { tenant_id: row.tenant_id },
  });
  return {
    stack,
    tenantId: row.tenant_id,
    tenants: [row.tenant_id],
    userId: row.user_id,
    token,
    async stop() {
      await stack.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Megabytes of memory a process holds now, and the most it ever held. */
export function memoryMb(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? NaN) / 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

/** Runs a program and gives back what it printed. Asynchronous: the stack lives in this process. */
export function run(command: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: process.env });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes) => (printed += bytes));
    }
    child.on(
      "error",
      () => reject(new Error(`${command} is not installed: apt-get install postgresql-contrib-15`)),
    );
    child.on("close", () => resolve(printed));
  });
}
