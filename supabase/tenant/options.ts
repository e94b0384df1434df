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

/** One person as a company knows them: an account, or somebody by their contact. */
interface OnePerson {
  slug: string;
  person?: string;
  phone?: string;
  email?: string;
}

/** Without `confirm` nothing is erased. */
export interface EraseOptions extends OnePerson {
  command: "erase";
  /** The first of what the person is known by. */
  confirm?: string;
  /** A day until which the tables of money keep the name. */
  keepBooksUntil?: string;
  by?: string;
}

export interface PersonOptions extends OnePerson {
  command: "person";
  /** A new file. */
  export: string;
}

export type TenantOptions =
  | ExportOptions
  | ImportOptions
  | CompareOptions
  | DeleteOptions
  | EraseOptions
  | PersonOptions;

export const tenantHelp = `npm run tenant -- export --slug <slug> --to <folder> [options]
npm run tenant -- import --from <folder> [options]
npm run tenant -- compare --with <folder>
npm run tenant -- delete --slug <slug> [options]
npm run tenant -- erase --slug <slug> --person <id or e-mail> [options]
npm run tenant -- erase --slug <slug> --phone <number> --email <address> [options]
npm run tenant -- person --slug <slug> --phone <number> --export <file>

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
  --person <who>    a member of the company, by id or e-mail
  --phone <number>  somebody without an account, by telephone, e-mail or both
  --email <address>
                    with "erase", --confirm repeats the first of these: what it shows without is erased for good
  --keep-books-until <date>
                    the tables of money keep the name until that day, because a law asks for it
  --export <file>   where "person" writes all that is kept of one person: a new file
  --help            this text

The project is that of DATABASE_URL (as postgres), SUPABASE_URL and SUPABASE_SECRET_KEY; without
DATABASE_URL it is the running local stack. docs/operations.md (Move a company, Delete a company, Erase a person) has the whole way.`;

/** Reads the command line; fails with one line on anything unknown. */
export function parseTenantOptions(
  args: string[],
): TenantOptions | { command: "help" } {
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
      person: { type: "string" },
      phone: { type: "string" },
      email: { type: "string" },
      export: { type: "string" },
      "keep-books-until": { type: "string" },
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
    case "erase":
      return {
        command,
        ...onePerson(values),
        ...{ confirm, by, keepBooksUntil: dayOf(values["keep-books-until"]) },
      };
    case "person":
      if (!values.export) throw new UsageFailure("Where to? --export <file>");
      return { command, ...onePerson(values), export: values.export };
  }
}

function onePerson(
  { slug, person, phone, email }: { [key in keyof OnePerson]?: string },
): OnePerson {
  if (!slug) throw new UsageFailure("Which company? --slug <slug>");
  if (!person === !(phone || email)) {
    throw new UsageFailure(
      "Who? --person <id or e-mail>, or --phone <number> and --email <address>",
    );
  }
  return { slug, person, phone, email };
}

function dayOf(text: string | undefined): string | undefined {
  if (text === undefined || /^\d{4}-\d\d-\d\d$/.test(text) && !isNaN(Date.parse(text))) return text;
  throw new UsageFailure(`"${text}" is no day: --keep-books-until 2036-12-31`);
}

const takes = {
  export: ["slug", "to", "dry-run", "while-active"],
  import: ["from", "dry-run"],
  compare: ["with"],
  delete: ["slug", "id", "confirm", "keep", "by", "with-open-items"],
  erase: ["slug", "person", "phone", "email", "confirm", "keep-books-until", "by"],
  person: ["slug", "person", "phone", "email", "export"],
};

const seeHelp = "npm run tenant -- --help lists the options.";

function usage(): UsageFailure {
  return new UsageFailure(
    `Export with --slug and --to, import with --from, compare --with, delete --slug, erase or person with --slug: ${seeHelp}`,
  );
}

function isCommand(command: string | undefined): command is keyof typeof takes {
  return command !== undefined && command in takes;
}

function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
