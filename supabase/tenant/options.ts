import { readCommandLine, UsageFailure } from "../local/command-line.ts";

export interface ExportOptions {
  command: "export";
  slug: string;
  /** A new or empty folder. */
  to?: string;
  dryRun: boolean;
  /** Exports a company that may still be written to: a copy to look at, not a move. */
  whileActive: boolean;
}

export interface ImportOptions {
  command: "import";
  from: string;
  dryRun: boolean;
}

export interface CompareOptions {
  command: "compare";
  with: string;
}

/** Without `confirm` nothing is removed. */
export interface DeleteOptions {
  command: "delete";
  /** One of the two; a company that is gone has its id alone. */
  slug?: string;
  id?: string;
  /** Its slug, or the id of one that is gone. */
  confirm?: string;
  /** A folder that an export is written to first. */
  keep?: string;
  /** Deletes although money or parcels are open. */
  withOpenItems: boolean;
  /** The person who does it; without it the user of this computer. */
  by?: string;
}

export const tenantHelp = `npm run tenant -- export --slug <slug> --to <folder> [options]
npm run tenant -- import --from <folder> [options]
npm run tenant -- compare --with <folder>
npm run tenant -- delete --slug <slug> [options]

  --slug <slug>     the company, by the name in its addresses
  --to <folder>     where its rows and files are written: a new or an empty folder
  --from <folder>   what an export wrote
  --with <folder>   the same, where it came from: whether anything was written to the company since then
  --while-active    export a company that is not suspended; what it writes meanwhile stays behind
  --dry-run         show what would be written and what stands in the way, and write nothing
  --confirm <slug>  delete what "delete" shows without it: every row and file of the company, for good, and the
                    accounts of people who belong to no other
  --keep <folder>   before that, export it there
  --with-open-items delete it although money or parcels are open
  --by <name>       who deletes it, for the record; otherwise the user of this computer
  --id <id>         instead of --slug, by the id: of a company that is gone, remove what came afterwards
  --help            this text

The project is that of DATABASE_URL (as postgres), SUPABASE_URL and SUPABASE_SECRET_KEY; without
DATABASE_URL it is the running local stack. docs/operations.md (Move a company, Delete a company) has the whole way.`;

/** Reads the command line; fails with one line on anything unknown. */
export function parseTenantOptions(
  args: string[],
): ExportOptions | ImportOptions | CompareOptions | DeleteOptions | { command: "help" } {
  const { values, positionals: [command, ...more] } = readCommandLine("npm run tenant", {
    args,
    allowPositionals: true,
    options: {
      slug: { type: "string" },
      id: { type: "string" },
      to: { type: "string" },
      from: { type: "string" },
      with: { type: "string" },
      confirm: { type: "string" },
      keep: { type: "string" },
      by: { type: "string" },
      "dry-run": { type: "boolean" },
      "while-active": { type: "boolean" },
      "with-open-items": { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help) return { command: "help" };
  if (more.length > 0 || !isCommand(command)) throw usage();
  const strange = Object.keys(values).find((name) => !takes[command].includes(name));
  if (strange) throw new UsageFailure(`${command} takes no --${strange}: ${seeHelp}`);
  const { slug, id, to, from, with: other, confirm, keep, by } = values;
  const dryRun = values["dry-run"] ?? false;
  switch (command) {
    case "export":
      if (!slug) throw new UsageFailure("Which company? --slug <slug>");
      if (!to && !dryRun) throw new UsageFailure("Where to? --to <folder>");
      return { command, slug, to, dryRun, whileActive: values["while-active"] ?? false };
    case "import":
      if (!from) throw new UsageFailure("From where? --from <folder>");
      return { command, from, dryRun };
    case "compare":
      if (!other) throw new UsageFailure("With which export? --with <folder>");
      return { command, with: other };
    case "delete":
      if (!slug === !id) throw new UsageFailure("Which company? --slug <slug>, or --id <id>");
      if (id && !isId(id)) throw new UsageFailure(`"${id}" is no id of a company.`);
      return {
        command,
        ...{ slug, id, confirm, keep, by },
        withOpenItems: values["with-open-items"] ?? false,
      };
  }
}

const takes = {
  export: ["slug", "to", "dry-run", "while-active"],
  import: ["from", "dry-run"],
  compare: ["with"],
  delete: ["slug", "id", "confirm", "keep", "by", "with-open-items"],
};

const seeHelp = "npm run tenant -- --help lists the options.";

function usage(): UsageFailure {
  return new UsageFailure(
    `Export with --slug and --to, import with --from, compare --with, or delete --slug: ${seeHelp}`,
  );
}

function isCommand(command: string | undefined): command is keyof typeof takes {
  return command !== undefined && command in takes;
}

function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
