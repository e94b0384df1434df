/** The schemas this backend owns, and how a test names the objects in them. */
import { sql } from "../support/db.ts";

export const schemas = [
  "app",
  "private",
  "tenancy",
  "money",
  "delivery",
  "warehousing",
  "storefront",
  "integration",
];

/** Our schemas and public, in which platform and extensions may keep things as well. */
export const schemasAndPublic = [...schemas, "public"];

/** The `name` column of a query on the catalogue, sorted. Nothing found means that the rule holds. */
export async function names(query: ReturnType<typeof sql>): Promise<string[]> {
  return (await query as unknown as { name: string }[]).map(({ name }) => name).sort();
}
