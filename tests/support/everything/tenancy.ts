/** A row in every table of tenants themselves. */
import type { Added, Adding } from "./rows.ts";

// deno-lint-ignore require-await
export async function addTenancy(_adding: Adding): Added {
  return {};
}
