import {
  accessSync,
  constants,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { errorCode, explain, Failure } from "./failure.ts";
import { openToPostgres } from "./postgres-files.ts";
import { startTime } from "./processes.ts";

/** The process that runs the stack of a data folder, as `npm run status` shows it. */
export interface State {
  url: string;
  /** Of the code that was started. */
  version: string;
  /** Of the database: the time of its newest migration. */
  schema: string;
  publishable_key: string;
  secret_key: string;
  db_url: string;
  pid: number;
  workers: number[];
}

interface Owner {
  pid: number;
  started: string;
}

/** Takes the data folder for this process; fails with one line while another one has it. Returns the way to give it back. */
export function lockDataDir(dir: string): () => void {
  const file = join(dir, "lock.json");
  const own = `${file}.${process.pid}`;
  openDataDir(dir);
  try {
    writeFileSync(own, JSON.stringify({ pid: process.pid, started: startTime(process.pid) }));
    const owner = readOwner(file);
    if (owner) {
      throw new Failure(
        `The stack is already running (process ${owner.pid}): npm run status shows it.`,
      );
    }
    // A lock that a crashed run left. Linking fails when another start is quicker.
    rmSync(file, { force: true });
    linkSync(own, file);
  } catch (error) {
    if (errorCode(error) === "EEXIST") {
      throw new Failure("Another start is under way: npm run status shows it.");
    }
    throw explain(error, dir);
  } finally {
    rmSync(own, { force: true });
  }
  return () => rmSync(file, { force: true });
}

/** Records what runs, for `npm run status`. */
export function writeState(dir: string, state: State): void {
  writeFileSync(join(dir, "state.json"), JSON.stringify(state, null, 2), { mode: 0o600 });
}

/** The run on the data folder, undefined when there is none. */
export function readState(dir: string): State | undefined {
  const owner = readOwner(join(dir, "lock.json"));
  const state = owner && readJson<State>(join(dir, "state.json"));
  return state?.pid === owner?.pid ? state : undefined;
}

/** Closed to others but to be passed through when we are root, because Postgres then runs as another user. */
function openDataDir(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true });
    openToPostgres(dir);
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw explain(error, dir);
  }
}

function readOwner(file: string): Owner | undefined {
  const owner = readJson<Owner>(file);
  return owner && startTime(owner.pid) === owner.started ? owner : undefined;
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    // Missing, or cut short by a crash: both mean that nobody who is alive wrote it.
    if (errorCode(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
