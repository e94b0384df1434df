/** The options of `npm run demo`. */
import { readCommandLine, UsageFailure } from "../../supabase/local/command-line.ts";
import { Failure } from "../../supabase/local/failure.ts";
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

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

/** Reads the command line; without --url it is the stack that runs in this folder. Fails: UsageFailure, and where none runs Failure. */
export function readOptions(args: string[], dataDir = defaultDataDir): DemoOptions {
  const { values: given } = readCommandLine("npm run demo", {
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
  });
  const live = given.live === true;
  if (given.speed !== undefined && !live) {
    throw new UsageFailure("--speed belongs to --live.");
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
      throw new UsageFailure(`--url needs a URL, not "${given.url}".`);
    }
    if (!key) throw new UsageFailure("--url needs --publishable-key beside it.");
    return { ...options, url: given.url.replace(/\/+$/, ""), key };
  }
  const state = readState(dataDir);
  if (!state) {
    throw new Failure("Barid is not running here: start it with npm start, in another terminal.");
  }
  return { ...options, url: state.url, key: given["publishable-key"] ?? state.publishable_key };
}

function whole(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= low && value <= high) return value;
  throw new UsageFailure(`${name} needs a number from ${low} to ${high}, not "${text}".`);
}
