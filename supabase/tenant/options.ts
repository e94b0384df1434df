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

export const tenantHelp = `npm run tenant -- export --slug <slug> --to <folder> [options]
npm run tenant -- import --from <folder> [options]
npm run tenant -- compare --with <folder>

  --slug <slug>     the company, by the name in its addresses
  --to <folder>     where its rows and files are written: a new or an empty folder
  --from <folder>   what an export wrote
  --with <folder>   the same, where it came from: whether anything was written to the company since then
  --while-active    export a company that is not suspended; what it writes meanwhile stays behind
  --dry-run         show what would be written and what stands in the way, and write nothing
  --help            this text

The project is that of DATABASE_URL (as postgres), SUPABASE_URL and SUPABASE_SECRET_KEY; without
DATABASE_URL it is the running local stack. docs/operations.md (Move a company) has the whole way.`;

/** Reads the command line; fails with one line on anything unknown. */
export function parseTenantOptions(
  args: string[],
): ExportOptions | ImportOptions | CompareOptions | { command: "help" } {
  const { values, positionals: [command, ...more] } = readCommandLine("npm run tenant", {
    args,
    allowPositionals: true,
    options: {
      slug: { type: "string" },
      to: { type: "string" },
      from: { type: "string" },
      with: { type: "string" },
      "dry-run": { type: "boolean", default: false },
      "while-active": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { slug, to, from, with: other, "dry-run": dryRun, "while-active": whileActive } = values;
  if (values.help) return { command: "help" };
  if (
    command === "compare" && more.length === 0 && !slug && !to && !from && !dryRun && !whileActive
  ) {
    if (!other) throw new UsageFailure("With which export? --with <folder>");
    return { command, with: other };
  }
  if (command === "export" && more.length === 0 && !from && !other) {
    if (!slug) throw new UsageFailure("Which company? --slug <slug>");
    if (!to && !dryRun) throw new UsageFailure("Where to? --to <folder>");
    return { command, slug, to, dryRun, whileActive };
  }
  if (command === "import" && more.length === 0 && !slug && !to && !other && !whileActive) {
    if (!from) throw new UsageFailure("From where? --from <folder>");
    return { command, from, dryRun };
  }
  throw new UsageFailure(
    "Export with --slug and --to, import with --from, or compare --with: npm run tenant -- --help lists the options.",
  );
}
