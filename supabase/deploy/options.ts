import { readCommandLine, UsageFailure } from "../local/command-line.ts";

/** The options of `npm run deploy`. */
export interface DeployOptions {
  /** The project's reference: twenty letters. May stand in the file of the environment instead. */
  ref?: string;
  /** The environment: its settings are in `.env.<name>`. */
  env?: string;
  /** Shows what would change, and changes nothing. */
  dryRun: boolean;
  /** The functions alone: an older version of them beside a newer schema. */
  functions: boolean;
  /** Asks nobody. */
  yes: boolean;
  help: boolean;
}

export const deployHelp = `npm run deploy -- --project-ref <ref> [options]

  --project-ref <ref>  the project, as its address in the dashboard names it
  --env <name>         settings and secrets from .env.<name> (production, where that file is)
  --functions          deploy the functions alone, such as those of the version before
  --dry-run            show what would change, and change nothing
  --yes                do not ask before the changes are made
  --help               this text

docs/operations.md says what the file holds and what has to be done by hand.`;

/** Reads the command line; fails with one line on anything unknown. */
export function parseDeployOptions(args: string[]): DeployOptions {
  const { values } = readCommandLine("npm run deploy", {
    args,
    options: {
      "project-ref": { type: "string" },
      env: { type: "string" },
      functions: { type: "boolean", default: false },
      "dry-run": { type: "boolean", default: false },
      yes: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { "project-ref": ref, "dry-run": dryRun, ...others } = values;
  if (ref !== undefined && !/^[a-z]{20}$/.test(ref)) {
    throw new UsageFailure(`--project-ref needs the twenty letters of a project, not "${ref}".`);
  }
  if (others.env !== undefined && !/^[a-z][a-z0-9-]*$/.test(others.env)) {
    throw new UsageFailure(`--env needs a name such as staging, not "${others.env}".`);
  }
  return { ref, dryRun, ...others };
}
