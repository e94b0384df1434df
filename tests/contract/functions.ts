/** All functions with their endpoints, as they are deployed: whatever exists is what the contract is about. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { everyOperation } from "../../supabase/local/endpoints.ts";
import { root } from "../../supabase/local/paths.ts";

export type { Operation } from "../../supabase/local/endpoints.ts";

/** The folders below functions/. */
export const folders = readdirSync(join(root, "functions"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();

/** Every endpoint of every function, in the order of their declaration. */
export const operations = await everyOperation();
