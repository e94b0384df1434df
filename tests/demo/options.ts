/** The options of `npm run demo`. */
import { parseArgs } from "node:util";
import { readState } from "../../supabase/local/lock.ts";
import { defaultDataDir } from "../../supabase/local/paths.ts";

export const help = `npm run demo -- [options]

  --seed N               what happens in the day (1); the same seed ends in the same totals
  --deliveries N         parcels of the day, from 20 to 100000 (1000)
  --drivers N            drivers who carry them, from 2 to 500 (20)
  --live                 drivers on the road in real time, with the office's board; 60 parcels and 10 drivers unless said
  --speed N              of --live: how many times faster than the clock they drive, from 1 to 100 (1)
  --quiet                nothing but the totals
  --url URL              a stack other than the one that npm start runs here
  --publishable-key KEY  its key
  --email ADDRESS        the account of a tenant administrator there (admin@demo.test)
  --system-email ADDRESS the account of a system administrator there, who makes the people (system@barid.test)
  --password WORD        the password of both, given to the people of the day as well (Barid-demo-1)
  --help                 this text`;

export interface DemoOptions {
  seed: number;
  deliveries: number;
  drivers: number;
  live: boolean;
  speed: number;
  quiet: boolean;
  help: boolean;
  url: string;
  key: string;
  email: string;
  systemEmail: string;
  password: string;
}

/** A wrong command line (exit code 2), or no stack to talk to (1). */
export class OptionsFailure extends Error {
  constructor(message: string, readonly exitCode: number) {
    super(message);
  }
}

/** Reads the command line; without --url it is the stack that runs in this folder. */
export function readOptions(args: string[], dataDir = defaultDataDir): DemoOptions {
  const given = parse(args);
  const live = given.live === true;
  if (given.speed !== undefined && !live) {
    throw new OptionsFailure("--speed belongs to --live.", 2);
  }
  const options = {
    seed: whole("--seed", given.seed ?? "1", 0, 1_000_000_000),
    live,
    speed: whole("--speed", given.speed ?? "1", 1, 100),
    deliveries: whole(
      "--deliveries",
      given.deliveries ?? (live ? "60" : "1000"),
      live ? 1 : 20,
      100_000,
    ),
    drivers: whole("--drivers", given.drivers ?? (live ? "10" : "20"), live ? 1 : 2, 500),
    quiet: given.quiet === true,
    help: given.help === true,
    email: given.email ?? "admin@demo.test",
    systemEmail: given["system-email"] ?? "system@barid.test",
    password: given.password ?? "Barid-demo-1",
  };
  if (options.help) return { ...options, url: "", key: "" };
  if (given.url) {
    const key = given["publishable-key"];
    if (!URL.canParse(given.url)) {
      throw new OptionsFailure(`--url needs a URL, not "${given.url}".`, 2);
    }
    if (!key) throw new OptionsFailure("--url needs --publishable-key beside it.", 2);
    return { ...options, url: given.url.replace(/\/+$/, ""), key };
  }
  const state = readState(dataDir);
  if (!state) {
    throw new OptionsFailure(
      "Barid is not running here: start it with npm start, in another terminal.",
      1,
    );
  }
  return { ...options, url: state.url, key: given["publishable-key"] ?? state.publishable_key };
}

function parse(args: string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    return parseArgs({
      args,
      options: {
        seed: text,
        deliveries: text,
        drivers: text,
        live: flag,
        speed: text,
        quiet: flag,
        help: flag,
        url: text,
        "publishable-key": text,
        email: text,
        "system-email": text,
        password: text,
      },
    }).values;
  } catch (error) {
    throw new OptionsFailure(
      `${(error as Error).message.split(".")[0]}: npm run demo -- --help lists what is known.`,
      2,
    );
  }
}

function whole(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= low && value <= high) return value;
  throw new OptionsFailure(`${name} needs a number from ${low} to ${high}, not "${text}".`, 2);
}
