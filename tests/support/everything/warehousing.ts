/** A row in every table of warehouses. */
import type { Added, Adding } from "./rows.ts";

// deno-lint-ignore require-await
export async function addWarehousing(_adding: Adding): Added {
  return {};
}
