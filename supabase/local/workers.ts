import { spawn } from "node:child_process";
import { existsSync, type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import { clearTimeout, setTimeout } from "node:timers";
import { messageOf } from "./failure.ts";
import { denoBinary, root, slugs } from "./paths.ts";
import {
  denoEnvironment,
  startWorker,
  type WorkerOptions,
  type WorkerProcess,
} from "./worker-process.ts";

/** Requests under way when a reload comes may take this long to end. */
const drainMs = 30_000;

/** On the way out everything has to be gone within three seconds. */
const stopMs = 1_500;

/** The function workers. */
export interface Workers {
  /** Process ids of the workers that are up. */
  readonly pids: number[];
  /** The ports to try for the next request, best first; empty while none is up. */
  candidates(): number[];
  /** Starts new workers, then lets the old ones end; resolves false when the new code does not load. */
  reload(options?: { checkTypes: boolean }): Promise<boolean>;
  /** Kills worker `index` as a crash would; it is then restarted. */
  kill(index: number): void;
  /** Calls back after a worker was started or ended. */
  onChange(changed: () => void): void;
  stop(): Promise<void>;
}

interface Slot {
  worker?: WorkerProcess;
  /** Kept over a crash, so that whoever talks to a worker directly finds it again. */
  port: number;
  crashes: number;
}

/** Starts `count` workers and keeps that many running. */
export async function startWorkers(
  options: WorkerOptions & { count: number; watch: boolean },
): Promise<Workers> {
  const { log } = options;
  const slots: Slot[] = Array.from({ length: options.count }, () => ({ port: 0, crashes: 0 }));
  let turn = 0;
  let stopped = false;
  let changed = () => {};
  let reloading: Promise<boolean> = Promise.resolve(true);

  const adopt = (slot: Slot, worker: WorkerProcess) => {
    const since = Date.now();
    slot.worker = worker;
    slot.port = worker.port;
    changed();
    void worker.exited.then(() => {
      if (stopped || slot.worker !== worker) return;
      slot.worker = undefined;
      changed();
      slot.crashes = Date.now() - since > 10_000 ? 1 : slot.crashes + 1;
      log(`worker ${worker.pid} ended unexpectedly; starting another`);
      void revive(slot);
    });
  };
  const revive = async (slot: Slot): Promise<void> => {
    // At once the first time; a worker that dies again and again must not take the machine with it.
    const wait = slot.crashes > 1 ? Math.min(100 * 2 ** slot.crashes, 5_000) : 0;
    await new Promise((resolve) => setTimeout(resolve, wait));
    if (stopped || slot.worker) return;
    try {
      const worker = await startWorker(options, slot.port, false);
      if (stopped || slot.worker) worker.kill();
      else adopt(slot, worker);
    } catch (error) {
      log(`worker: ${messageOf(error)}`);
      slot.crashes += 1;
      // Something else may have taken the port in between.
      slot.port = 0;
      await revive(slot);
    }
  };
  const replaceAll = async (checkTypes: boolean): Promise<boolean> => {
    if (stopped || (checkTypes && !await typesHold(log))) return false;
    const started = await startAll(options, slots.map(() => 0), true);
    const broken = [...new Set(started.flatMap((worker) => worker.broken))];
    if (stopped || broken.length > 0) {
      if (broken.length > 0) {
        log(`${broken.join(", ")} would not start; the old code keeps running`);
      }
      for (const worker of started) worker.kill();
      return false;
    }
    const old = slots.flatMap((slot) => slot.worker ?? []);
    slots.forEach((slot, index) => adopt(slot, started[index]!));
    for (const worker of old) void worker.drain(drainMs);
    log("functions reloaded");
    return true;
  };

  (await startAll(options, slots.map((slot) => slot.port), false))
    .forEach((worker, index) => adopt(slots[index]!, worker));
  const workers: Workers = {
    get pids() {
      return slots.flatMap((slot) => slot.worker?.pid ?? []);
    },
    candidates() {
      const up = slots.flatMap((slot) => slot.worker?.port ?? []);
      turn = (turn + 1) % Math.max(up.length, 1);
      return [...up.slice(turn), ...up.slice(0, turn)];
    },
    reload({ checkTypes } = { checkTypes: false }) {
      reloading = reloading.then(() => replaceAll(checkTypes)).catch((error) => {
        log(`reload: ${messageOf(error)}`);
        return false;
      });
      return reloading;
    },
    kill: (index) => slots[index]?.worker?.kill(),
    onChange: (callback) => void (changed = callback),
    async stop() {
      stopped = true;
      watchers.forEach((watcher) => watcher.close());
      await Promise.all(slots.map((slot) => slot.worker?.drain(stopMs)));
    },
  };
  const watchers = options.watch
    ? watchCode(() => void workers.reload({ checkTypes: true }), log)
    : [];
  return workers;
}

/** All or none: when one does not start, those that did are ended. */
async function startAll(
  options: WorkerOptions,
  ports: number[],
  preload: boolean,
): Promise<WorkerProcess[]> {
  const results = await Promise.allSettled(
    ports.map((port) => startWorker(options, port, preload)),
  );
  const started = results.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
  const failed = results.find((result) => result.status === "rejected");
  if (!failed) return started;
  for (const worker of started) worker.kill();
  throw failed.reason;
}

/** Running code loses its types unread, so a reload checks them; the findings are printed. */
async function typesHold(log: (line: string) => void): Promise<boolean> {
  const files = slugs.map((slug) => join(root, "functions", slug, "index.ts"));
  const check = spawn(denoBinary(), [
    "check",
    "--quiet",
    "--config",
    join(root, "deno.json"),
    ...files,
  ], {
    cwd: root,
    stdio: ["ignore", "ignore", "pipe"],
    env: denoEnvironment(),
  });
  let findings = "";
  check.stderr.on("data", (chunk) => findings += chunk);
  const code = await new Promise<number | null>((resolve) => check.once("close", resolve));
  if (code === 0) return true;
  for (const line of findings.trim().split("\n")) log(line);
  log("the old code keeps running");
  return false;
}

/** Calls back once a burst of changes to the functions' code is over. */
function watchCode(changed: () => void, log: (line: string) => void): FSWatcher[] {
  let quiet: NodeJS.Timeout | undefined;
  const note = () => {
    clearTimeout(quiet);
    quiet = setTimeout(changed, 200);
  };
  const dirs = ["functions", "shared"].map((dir) => join(root, dir)).filter(existsSync);
  const watchers = [
    ...dirs.map((dir) => watch(dir, { recursive: true }, note)),
    // The folder, not the file: an editor that saves by renaming would leave us watching the old one.
    watch(root, (_event, file) => file === "deno.json" && note()),
  ];
  for (const watcher of watchers) {
    watcher.on("error", (error) => log(`watching files: ${messageOf(error)}`));
  }
  return watchers;
}
