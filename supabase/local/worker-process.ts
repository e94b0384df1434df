import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Failure, messageOf } from "./failure.ts";
import { defaultDataDir, denoBinary, root } from "./paths.ts";

/** The permissions of a function on the platform, no more and no less. */
const permissions = [
  "--allow-env",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-import",
  "--allow-sys=hostname",
];

/** The options of a worker. */
export interface WorkerOptions {
  env: Record<string, string>;
  log: (line: string) => void;
}

/** One Deno process that serves all functions. */
export interface WorkerProcess {
  readonly pid: number;
  readonly port: number;
  /** Functions that could not be imported; only known after a preload. */
  readonly broken: string[];
  /** Resolves when the process is gone. */
  readonly exited: Promise<void>;
  /** Lets requests and background tasks end; what is not done after `timeoutMs` is cut off. */
  drain(timeoutMs: number): Promise<void>;
  /** SIGKILL, as a crash would. */
  kill(): void;
}

/** Starts a worker and resolves once it answers. Port 0 lets the system choose. */
export async function startWorker(
  options: WorkerOptions,
  port: number,
  preload: boolean,
): Promise<WorkerProcess> {
  const child = spawn(denoBinary(), [
    "run",
    ...permissions,
    ...["--config", join(root, "deno.json")],
    join(root, "supabase", "local", "worker.ts"),
    String(port),
    ...(preload ? ["preload"] : []),
  ], {
    cwd: root,
    // Its own process group: Ctrl-C reaches only us, and we stop the parts in the right order.
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...denoEnvironment(), ...options.env },
  });
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  // Writing to a process that just died is no news: its end is reported by `exited`.
  child.stdin.on("error", () => {});
  createInterface(child.stderr).on("line", options.log);
  const { port: listening, broken } = await announcement(child, options.log);
  await healthy(listening, child);
  return {
    pid: child.pid!,
    port: listening,
    broken,
    exited,
    async drain(timeoutMs) {
      child.kill("SIGTERM");
      const cutOff = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
      await exited;
      clearTimeout(cutOff);
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

/**
 * The environment of Deno: the caller's variables it needs, and a cache next to our data, since the home folder may be
 * closed.
 */
export function denoEnvironment(): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    DENO_DIR: process.env.DENO_DIR ?? join(defaultDataDir, "deno"),
    DENO_NO_UPDATE_CHECK: "1",
    NO_COLOR: "1",
  };
}

function announcement(
  child: ChildProcess,
  log: (line: string) => void,
): Promise<{ port: number; broken: string[] }> {
  return new Promise((resolve, reject) => {
    let announced = false;
    createInterface(child.stdout!).on("line", (line) => {
      if (announced) return log(line);
      announced = true;
      try {
        resolve(JSON.parse(line));
      } catch {
        reject(
          new Failure(
            `A worker said "${line}" instead of its port: look at supabase/local/worker.ts.`,
          ),
        );
      }
    });
    child.once(
      "error",
      (error) => reject(new Failure(`Deno could not be started: ${messageOf(error)}.`)),
    );
    child.once(
      "close",
      () => reject(new Failure("A function worker ended while starting: see its lines above.")),
    );
  });
}

async function healthy(port: number, child: ChildProcess): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/.health`, {
    signal: AbortSignal.timeout(5_000),
  })
    .catch((error) => {
      child.kill("SIGKILL");
      throw new Failure(`A function worker does not answer: ${messageOf(error)}.`);
    });
  await answer.body?.cancel();
}
