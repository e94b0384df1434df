/** A row in every table of cash and settlements. */
import type { Added, Adding } from "./rows.ts";

// deno-lint-ignore require-await
export async function addMoney(_adding: Adding): Added {
  return {};
}
