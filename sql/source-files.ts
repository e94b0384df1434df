/** The files of `sql/`, which people read; deployed databases take `supabase/migrations`. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inOrder } from "./order.ts";

const here = dirname(fileURLToPath(import.meta.url));

/** The SQL files a database is made of, in apply order; demo data is seeded, not migrated. */
export function sourceFiles(): string[] {
  const files = readdirSync(here, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".sql") && !path.startsWith("demo/"));
  return inOrder(files, (path) => readFileSync(join(here, path), "utf8")).map((path) =>
    join(here, path)
  );
}
