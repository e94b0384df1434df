import type { Bundle } from "../bundle/index.ts";
import type { Cli } from "../cli.ts";
import type { Settings } from "../settings.ts";

/** A deployment, as its steps see it. */
export interface Deployment {
  settings: Settings;
  cli: Cli;
  bundles: Bundle[];
  /** `--remote=…` for commands that talk to the project, and for those that talk to its database. */
  project: string;
  database: string;
  /** Prints a line for the person who deploys. */
  print(line: string): void;
}

/** A part of a deployment. It can be done again: what is as it should be is left alone. */
export interface Step {
  name: string;
  /** The changes that it would make, a line each; none where all is well. Fails when it cannot be done. Changes nothing. */
  plan(deployment: Deployment): Promise<string[]>;
  /** Does it. Absent where `plan` only looks. */
  apply?(deployment: Deployment): Promise<void>;
  /** Words for the person who sees it fail. */
  advice?: string;
}
