/**
 * `npm run deploy -- --project-ref <ref>`: brings a project of Supabase to what this checkout says. First everything is
 * looked at and what would change is shown; then it is changed, step by step; at the end the project is asked whether it
 * works. Each step leaves alone what is as it should be, so after a failure the same command continues where it stopped.
 */
import { createInterface } from "node:readline/promises";
import { version } from "../../shared/runtime/version.ts";
import { Failure, messageOf } from "../local/failure.ts";
import { UsageFailure } from "../local/command-line.ts";
import { root } from "../local/paths.ts";
import { type Bundle, bundleAll } from "./bundle/index.ts";
import { openCli } from "./cli.ts";
import { deployFolder, writeFolder } from "./folder.ts";
import { deployHelp, parseDeployOptions } from "./options.ts";
import { readSettings } from "./settings.ts";
import { login, plan, tools } from "./steps/checks.ts";
import { migrations, schedules } from "./steps/database.ts";
import { buckets, functions, secrets, settings } from "./steps/project.ts";
import { type Patience, smokeTest } from "./steps/smoke.ts";
import type { Deployment, Step } from "./steps/step.ts";

/** In the order in which they are done: a function never runs before the schema that it needs. */
const checks = [tools, login, plan];
const everything = [migrations, settings, buckets, secrets, functions, schedules];

/** Where a deployment finds and leaves what it needs; a test has places of its own. */
export interface Surroundings {
  /** The folder that is deployed. */
  folder: string;
  /** The folder with the files of the environments. */
  files: string;
  shell: NodeJS.ProcessEnv;
  bundle(): Promise<Bundle[]>;
  print(line: string): void;
  /** How often a function is asked for its health, and how long between: a new one answers after a moment. */
  patience: Patience;
}

const usual: Surroundings = {
  folder: deployFolder,
  files: root,
  shell: process.env,
  bundle: bundleAll,
  print: (line) => console.log(line),
  patience: { times: 10, waitMs: 3_000 },
};

/** Deploys as the command line says. Fails with a Failure that names the step and what to do. */
export async function deploy(args: string[], surroundings = usual): Promise<void> {
  const { folder, files, shell, print, patience } = surroundings;
  const options = parseDeployOptions(args);
  if (options.help) return print(deployHelp);
  const read = readSettings(options, shell, files);
  const bundles = await surroundings.bundle();
  writeFolder(folder, bundles);
  const deployment: Deployment = {
    settings: read,
    cli: openCli(folder, { ...shell, ...read.cli }),
    bundles,
    project: `--remote=${read.ref}`,
    database: `--remote=${read.database ?? read.ref}`,
    print,
  };
  print(`Barid ${version} to ${read.ref} (${read.url})`);
  const changing: Step[] = [];
  for (const step of [...checks, ...(options.functions ? [functions] : everything)]) {
    const lines = await named(step, () => step.plan(deployment));
    print(lines.length > 0 ? `${step.name}:` : `${step.name}: as it should be`);
    for (const line of lines) print(`  - ${line}`);
    if (lines.length > 0) changing.push(step);
  }
  if (options.dryRun) return print("Nothing was changed.");
  if (!options.yes) await confirm(read.ref);
  for (const step of changing) {
    await named(step, () => step.apply!(deployment));
    print(`${step.name}: done`);
  }
  for (const line of await smokeTest(deployment, patience)) print(`Works: ${line}`);
}

/** A failure says which step it was, and what to do. */
async function named<T>(step: Step, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure([`${step.name}: ${messageOf(error)}`, step.advice ?? ""].join("\n").trim());
  }
}

async function confirm(ref: string): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageFailure("Nobody can be asked: --yes says yes.");
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`Change ${ref}? Type its reference: `);
  terminal.close();
  if (answer.trim() !== ref) throw new Failure("Nothing was changed.");
}
