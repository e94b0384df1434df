import { Failure } from "./failure.ts";

/** What `npm start` understands. */
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
  const options = {
    reset: false,
    port: 54321,
    dbPort: 54322,
    workers: 1,
    quiet: false,
    help: false,
  };
  const rest = args.flatMap((arg) =>
    /^--[\w-]+=/.test(arg) ? arg.split(/=(.*)/s).slice(0, 2) : [arg]
  );
  while (rest.length > 0) {
    const name = rest.shift()!;
    switch (name) {
      case "--reset":
        options.reset = true;
        break;
      case "--quiet":
        options.quiet = true;
        break;
      case "--help":
        options.help = true;
        break;
      case "--port":
        options.port = number(name, rest.shift(), 1, 65535);
        break;
      case "--db-port":
        options.dbPort = number(name, rest.shift(), 1, 65535);
        break;
      case "--workers":
        options.workers = number(name, rest.shift(), 1, 32);
        break;
      default:
        throw new UsageFailure(
          `Unknown option "${name}": npm start -- --help lists the known ones.`,
        );
    }
  }
  return options;
}

function number(name: string, value: string | undefined, low: number, high: number): number {
  const parsed = Number(value);
  if (value?.trim() && Number.isInteger(parsed) && parsed >= low && parsed <= high) return parsed;
  throw new UsageFailure(`${name} needs a number from ${low} to ${high}, not "${value ?? ""}".`);
}
