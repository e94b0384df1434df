/**
 * With whose rights functions run, by who calls them: read from the catalogue, the bodies, and the code that calls functions by
 * name. A name counts wherever it stands, in a string too, since statements are put together and names handed on
 * (`app.import_lines`, `private.call`).
 */
import { filesIn, textOf } from "../tools/checks/files.ts";
import { sql } from "../support/db.ts";
import { schemasAndPublic } from "./catalogue.ts";

interface Routine {
  name: string;
  isDefiner: boolean;
  /** The body, and the defaults of the arguments. */
  text: string;
  /** A trigger, policy, view, check, default or index names it: it runs with the rights of those that read or write there. */
  isUsed: boolean;
}

/**
 * The functions that at least one way reaches with less than the owner's rights. Definers end a way: what they call runs as the
 * owner, as does what nobody but the clock calls.
 */
export async function reachedByOthers(): Promise<Set<string>> {
  const routines = new Map((await routinesOf()).map((routine) => [routine.name, routine]));
  const reached = new Set<string>();
  const reach = (name: string) => {
    if (reached.has(name)) return;
    reached.add(name);
    const { isDefiner, text } = routines.get(name)!;
    if (!isDefiner) namedIn(text, routines).forEach(reach);
  };
  for (const { name, isUsed } of routines.values()) if (isUsed) reach(name);
  for (const file of codeFiles()) namedIn(textOf(file), routines).forEach(reach);
  return reached;
}

async function routinesOf(): Promise<Routine[]> {
  const found = await sql<Routine[]>`
    select p.pronamespace::regnamespace || '.' || p.proname as name, p.prosecdef as "isDefiner",
      concat_ws(' ', p.prosrc, pg_get_function_arguments(p.oid)) as text,
      exists (select from pg_depend d where d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid
        and d.classid <> 'pg_proc'::regclass) as "isUsed"
    from pg_proc p
    where p.pronamespace::regnamespace::text = any (${schemasAndPublic})
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`;
  return found.map((routine) => ({ ...routine, text: withoutComments(routine.text) }));
}

/** The code that is deployed calls functions by name, and rows of tables that come with the schema may hold names. */
function codeFiles(): string[] {
  const code = ["functions", "shared", "supabase/local", "supabase/deploy", "supabase/tenant"];
  return [
    ...code.flatMap(filesIn).filter((file) => /\.m?[jt]s$/.test(file)),
    ...filesIn("sql").filter((file) => file.endsWith("/data.sql")),
  ];
}

function namedIn(text: string, routines: Map<string, Routine>): string[] {
  return (text.match(/\b[a-z]+\.[a-z_0-9]+\b/g) ?? []).filter((name) => routines.has(name));
}

/** Strings stay, also those with two hyphens. */
const withoutComments = (text: string) =>
  text.replace(/('(?:[^']|'')*')|--[^\n]*|\/\*[\s\S]*?\*\//g, "$1");
