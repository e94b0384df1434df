import { parseArgs } from "node:util";
import { errorCode, Failure } from "./failure.ts";

/** The options of `npm start`. */
export interface StartOptions {
  reset: boolean;
  port: number;
  dbPort: number;
  workers: number;
  quiet: boolean;
  help: boolean;
}

/** The text of `npm start -- --help`. */
export const startHelp = `npm start -- [options]

  --port <port>      HTTP port (54321)
  --db-port <port>   Postgres port (54322)
  --workers <n>      Deno processes that serve the functions (1)
  --reset            throw the local data away and build it anew
  --quiet            print nothing but the URL and errors
  --help             this text`;

/** A wrong command line: one line, exit code 2. */
export class UsageFailure extends Failure {}

/** Reads the options of `npm start`; fails with one line on anything unknown. */
export function parseStartOptions(args: string[]): StartOptions {
  const { port, workers, "db-port": dbPort, ...switches } = read(args);
  return {
    ...switches,
    port: number("--port", port, 1, 65535),
    dbPort: number("--db-port", dbPort, 1, 65535),
    workers: number("--workers", workers, 1, 32),
  };
}

function read(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        port: { type: "string", default: "54321" },
        "db-port": { type: "string", default: "54322" },
        workers: { type: "string", default: "1" },
        reset: { type: "boolean", default: false },
        quiet: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    if (!(error instanceof TypeError) || !errorCode(error)?.startsWith("ERR_PARSE_ARGS")) {
      throw error;
    }
    // The first sentence says what is wrong, the others how positional arguments are given: there are none.
    const [said] = error.message.split(/[.\n]/);
    throw new UsageFailure(`${said}: npm start -- --help lists the options.`);
  }
}

function number(name: string, value: string, low: number, high: number): number {
  const parsed = Number(value);
  if (value.trim() && Number.isInteger(parsed) && parsed >= low && parsed <= high) return parsed;
  throw new UsageFailure(`${name} needs a number from ${low} to ${high}, not "${value}".`);
}
