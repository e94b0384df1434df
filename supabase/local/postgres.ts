import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { explain, Failure } from "./failure.ts";
import { freePort, requireFreePort } from "./ports.ts";
import { embeddedPostgres, postgresUser, reachable, requireSpace } from "./postgres-files.ts";
import { processesIn, signalAll, waitUntilGone } from "./processes.ts";

/** How to run the database. */
export interface PostgresOptions {
  /** Where the cluster lies; moved to /var/tmp when Postgres's user cannot reach it. */
  dataDir: string;
  /** 0 picks a free one. */
  port: number;
  /** Off for tests only: without fsync a crash of the machine may lose the cluster. */
  durable?: boolean;
  /** Throws the cluster away first. */
  reset?: boolean;
  /** Folder of a stopped cluster that a new one is copied from, instead of being made by initdb. */
  template?: string;
  /** Address of a database on a server that runs already and is left alone; none is started. */
  database?: string;
  /** Folder with `bin/postgres` of another installation than the embedded one. */
  installation?: string;
  /** More settings of the server. */
  settings?: Record<string, string>;
  /** More environment for the server. */
  env?: Record<string, string>;
  /** Every line the server writes. */
  log?: (line: string) => void;
  /** The server ended without `stop` or `kill` having been called. */
  onCrash?: () => void;
}

/** A running database. */
export interface Postgres {
  /** As superuser `postgres`. */
  readonly url: string;
  /** The cluster's real folder; undefined on a server we did not start. */
  readonly dataDir: string | undefined;
  /** The postmaster's process id; undefined while it is down or not ours. */
  readonly pid: number | undefined;
  /** Ends it in good order, also while it is starting again. */
  stop(): Promise<void>;
  /** Ends the postmaster and all its children at once with SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again on the same folder and port; fails when it is stopped meanwhile. */
  restart(): Promise<void>;
}

/**
 * Starts the embedded Postgres on `dataDir`, creating the cluster when there is none. A server left behind by a
 * crashed run on the same folder is stopped first. With `database` or DATABASE_URL that server is used and left alone.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const foreign = options.database ?? process.env.DATABASE_URL;
  if (foreign) return foreignServer(foreign, options);
  const dataDir = reachable(options.dataDir);
  const native = options.installation ?? embeddedPostgres();
  await stopLeftovers(dataDir);
  if (options.reset) removeCluster(dataDir);
  await createCluster(native, dataDir, options);
  if (options.port !== 0) await requireFreePort(options.port, "--db-port");
  const port = options.port || await freePort();

  let server = launch(native, dataDir, port, options);
  let stopped = false;
  await server.ready;
  return {
    url: `postgresql://postgres:postgres@127.0.0.1:${port}/postgres`,
    dataDir: realpathSync(dataDir),
    get pid() {
      return server.child.exitCode === null && server.child.signalCode === null
        ? server.child.pid
        : undefined;
    },
    stop() {
      stopped = true;
      return server.end("SIGINT");
    },
    kill: () => server.end("SIGKILL"),
    async restart() {
      stopped = false;
      await server.end("SIGINT");
      await stopLeftovers(dataDir);
      if (!stopped) server = launch(native, dataDir, port, options);
      await server.ready.catch((error: unknown) => {
        if (!stopped) throw error;
      });
      if (stopped) throw new Failure("Postgres was stopped before it was up again.");
    },
  };
}

interface Server {
  child: ChildProcess;
  /** It accepts connections; until then it can be ended already. */
  ready: Promise<void>;
  end(signal: "SIGINT" | "SIGKILL"): Promise<void>;
}

function removeCluster(dataDir: string): void {
  try {
    rmSync(dataDir, { recursive: true, force: true });
  } catch (error) {
    throw explain(error, dataDir);
  }
}

async function createCluster(
  native: string,
  dataDir: string,
  { template, durable = true }: PostgresOptions,
): Promise<void> {
  try {
    if (
      existsSync(join(dataDir, "PG_VERSION")) && existsSync(join(dataDir, "global", "pg_control"))
    ) {
      requireSpace(dataDir, 64);
      return;
    }
    mkdirSync(join(dataDir, ".."), { recursive: true, mode: 0o755 });
    requireSpace(join(dataDir, ".."), 256);
    // A folder that an interrupted initdb left is not a cluster: pg_control is among the last things it writes.
    rmSync(dataDir, { recursive: true, force: true });
    mkdirSync(dataDir, { mode: 0o700 });
    const { uid, gid } = postgresUser;
    if (uid !== undefined && gid !== undefined) chownSync(dataDir, uid, gid);
  } catch (error) {
    throw explain(error, dataDir);
  }
  const [program, args] = template
    ? ["cp", ["-R", "-p", `${template}/.`, dataDir]] as const
    : [join(native, "bin", "initdb"), [
      ...["-D", dataDir, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"],
      // One that is copied for each test has little of what it would recover from.
      ...["--no-instructions", ...(durable ? [] : ["--wal-segsize=1"])],
    ]] as const;
  const lines: string[] = [];
  const child = spawn(program, args, {
    ...postgresUser,
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe"],
    env: serverEnvironment(),
  });
  createInterface(child.stderr).on("line", (line) => lines.push(line));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once("error", reject).once("close", resolve)
  );
  if (code !== 0) {
    rmSync(dataDir, { recursive: true, force: true });
    throw serverFailure("The database could not be created", lines, dataDir);
  }
}

function launch(
  native: string,
  dataDir: string,
  port: number,
  options: PostgresOptions,
): Server {
  const child = spawn(
    join(native, "bin", "postgres"),
    ["-D", dataDir, ...settings(port, options)],
    {
      ...postgresUser,
      cwd: "/",
      // Its own process group: Ctrl-C reaches only us, and we stop the parts in the right order.
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...serverEnvironment(), ...options.env },
    },
  );
  const exited = new Promise<void>((resolve) =>
    child.once("exit", () => resolve()).once("error", () => resolve())
  );
  let ending = false;
  stopWithUs(child);
  const ready = accepting(child, dataDir, options.log);
  void ready.then(() => exited, () => ending = true).then(() => {
    if (!ending) options.onCrash?.();
  });
  return {
    child,
    ready,
    async end(signal) {
      ending = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      // Children first found, then killed with their parent: one that lives on would block the next start.
      const children = signal === "SIGKILL" ? processesIn(realpathSync(dataDir)) : [];
      child.kill(signal);
      signalAll(children, "SIGKILL");
      const giveUp = setTimeout(() => child.kill("SIGQUIT"), 2_000);
      await exited;
      clearTimeout(giveUp);
      await waitUntilGone(children, 2_000);
    },
  };
}

/** Resolves when the server says that it accepts connections; crash recovery comes before that and may take long. */
function accepting(
  child: ChildProcess,
  dataDir: string,
  log?: (line: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    let up = false;
    createInterface(child.stderr!).on("line", (line) => {
      log?.(line);
      if (up) return;
      lines.push(line);
      if (!line.includes("ready to accept connections")) return;
      up = true;
      resolve();
    });
    child.once("error", reject);
    child.once("close", () => {
      if (!up) reject(serverFailure("Postgres did not start", lines, dataDir));
    });
  });
}

/** A shell that waits on a pipe from us: when we die, however we die, the pipe closes and Postgres is stopped. */
function stopWithUs(postgres: ChildProcess): void {
  const watcher = spawn("/bin/sh", ["-c", `read _; kill -INT ${postgres.pid} 2>/dev/null`], {
    ...postgresUser,
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.on("error", (error) => console.error(`Postgres is not being watched: ${error.message}`));
  postgres.once("exit", () => watcher.kill("SIGKILL"));
}

async function stopLeftovers(dataDir: string): Promise<void> {
  if (!existsSync(dataDir)) return;
  const left = processesIn(realpathSync(dataDir));
  if (left.length === 0) return;
  const postmaster = Number(postmasterPid(dataDir));
  if (left.includes(postmaster)) process.kill(postmaster, "SIGINT");
  if (await waitUntilGone(left, left.includes(postmaster) ? 3_000 : 0)) return;
  signalAll(left, "SIGKILL");
  if (await waitUntilGone(left, 3_000)) return;
  throw new Failure(
    `An old Postgres (process ${left[0]}) still uses ${dataDir}: stop it, then start again.`,
  );
}

function postmasterPid(dataDir: string): string {
  const file = join(dataDir, "postmaster.pid");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n")[0] ?? "" : "";
}

function settings(port: number, { durable = true, settings = {} }: PostgresOptions): string[] {
  const values: Record<string, string | number> = {
    port,
    listen_addresses: "127.0.0.1",
    // No socket file: two stacks on one machine then never meet, and no folder has to be writable for it.
    unix_socket_directories: "",
    wal_level: "logical",
    max_connections: 200,
    shared_buffers: "128MB",
    work_mem: "8MB",
    max_wal_size: "512MB",
    // Compiling a plan costs more than running it for statements as short as ours.
    jit: "off",
    random_page_cost: 1.1,
    timezone: "UTC",
    log_timezone: "UTC",
    log_line_prefix: "%m [%p] %u ",
    // Commits still reach the system's cache, so that a killed Postgres loses nothing in tests either.
    ...(durable ? {} : { fsync: "off", full_page_writes: "off" }),
    ...settings,
  };
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** Without the caller's PG* variables, which would change what the server does; its messages must be English. */
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" };
}

function serverFailure(what: string, lines: string[], dataDir: string): Failure {
  const text = lines.join("\n");
  if (/No space left on device|Disk quota exceeded/.test(text)) {
    return new Failure(`The disk is full: free some space for ${dataDir}, then start again.`);
  }
  if (/Permission denied/.test(text)) {
    return new Failure(`${dataDir} cannot be read or written by Postgres: fix its owner or mode.`);
  }
  if (/Address already in use/.test(text)) {
    return new Failure(
      "The database port is taken: choose another with npm start -- --db-port <port>.",
    );
  }
  const cause = lines.findLast((line) => /FATAL|PANIC|error:/.test(line)) ?? lines.at(-1) ??
    "no message";
  return new Failure(
    `${what} (${cause.replace(/^.*?(FATAL|PANIC|error): */, "")}): try npm start -- --reset.`,
  );
}

function foreignServer(url: string, { reset }: PostgresOptions): Postgres {
  if (reset) {
    throw new Failure(
      "--reset does not touch the server of DATABASE_URL: recreate that database yourself.",
    );
  }
  const refuse = () =>
    Promise.reject(new Failure("The server of DATABASE_URL is not ours to kill or restart."));
  return {
    url,
    dataDir: undefined,
    pid: undefined,
    stop: () => Promise.resolve(),
    kill: refuse,
    restart: refuse,
  };
}
