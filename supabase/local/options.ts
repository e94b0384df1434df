import { readCommandLine, UsageFailure } from "./command-line.ts";

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

/** Reads the options of `npm start`; fails with one line on anything unknown. */
export function parseStartOptions(args: string[]): StartOptions {
  const { values } = readCommandLine("npm start", {
    args,
    options: {
      port: { type: "string", default: "54321" },
      "db-port": { type: "string", default: "54322" },
      workers: { type: "string", default: "1" },
      reset: { type: "boolean", default: false },
      quiet: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { port, workers, "db-port": dbPort, ...switches } = values;
  return {
    ...switches,
    port: number("--port", port, 1, 65535),
    dbPort: number("--db-port", dbPort, 1, 65535),
    workers: number("--workers", workers, 1, 32),
  };
}

function number(name: string, value: string, low: number, high: number): number {
  const parsed = Number(value);
  if (value.trim() && Number.isInteger(parsed) && parsed >= low && parsed <= high) return parsed;
  throw new UsageFailure(`${name} needs a number from ${low} to ${high}, not "${value}".`);
}
