/** The way from one catalogue to another, as pg-delta (Supabase's own) finds it. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure } from "../../../supabase/local/failure.ts";
import { runPackage } from "../checks/programs.ts";

/** An object of the catalogue; which fields it has depends on its kind. */
export interface CatalogueObject {
  kind: string;
  schema?: string;
  /** The table of a column, a constraint, a policy or a trigger. */
  table?: string;
  name?: string;
  /** The types of a function's arguments. */
  args?: string[];
  /** The object that a comment or a right belongs to. */
  target?: CatalogueObject;
}

/** One statement of the way, in the order in which they apply. */
export interface Action {
  sql: string;
  verb: "create" | "alter" | "drop";
  produces: CatalogueObject[];
  consumes: CatalogueObject[];
  destroys: CatalogueObject[];
  lockClass: "none" | "share" | "shareRowExclusive" | "shareUpdateExclusive" | "accessExclusive";
  dataLoss: string;
  rewriteRisk: boolean;
}

/**
 * The statements that make a database like the one at `from` into one like that at `to`. A renamed column is one that goes
 * and one that comes: whether its values are kept is for a person to say.
 */
export async function difference(from: string, to: string): Promise<Action[]> {
  const dir = mkdtempSync(join(tmpdir(), "barid-difference-"));
  const file = join(dir, "plan.json");
  try {
    const { code, lines } = await runPackage("@supabase/pg-delta/dist/cli/main.js", [
      ...["plan", "--source", from, "--desired", to, "--renames", "off", "--out", file],
    ]);
    if (code !== 0) {
      throw new Failure(
        ["pg-delta could not compare the databases:", ...lines.slice(-20)].join("\n"),
      );
    }
    const { actions } = JSON.parse(readFileSync(file, "utf8")) as { actions: Action[] };
    return actions.map((action) => ({ ...action, sql: action.sql.replace(/;?\s*$/, "") }))
      .filter(({ sql }) => !isDefault(sql));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Migrations run as postgres, who owns what they make and may do everything with it. */
function isDefault(sql: string): boolean {
  return /^alter [\s\S]* owner to "postgres"$/i.test(sql) ||
    /^(grant|revoke) [^;]* (to|from) "postgres"$/i.test(sql);
}

/** The table or view that a statement changes. */
export function relationOf({ produces, destroys, consumes, sql }: Action): string | undefined {
  const objects = [...produces, ...destroys, ...consumes];
  const inTable = objects.find(({ table }) => table !== undefined);
  if (inTable) return `${inTable.schema}.${inTable.table}`;
  const onTable = / ON (\w+\.\w+)/.exec(sql)?.[1];
  if (onTable && /^CREATE (UNIQUE )?INDEX/.test(sql)) return onTable;
  const relation = objects.find(isRelation);
  return relation && nameOf(relation);
}

export const isRelation = ({ kind }: CatalogueObject) => kind === "table" || kind === "view";
export const nameOf = ({ schema, name }: CatalogueObject) => `${schema}.${name}`;
