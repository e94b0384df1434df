/** Markets on their way to approval. */
import type { Person } from "./api.ts";
import { sql } from "./db.ts";

export const marketPath = "/storefront/market";
export const draft = { status: "draft", publish_status: "unpublished" };

export const marketRow = async (id: string) =>
  (await sql`select * from storefront.markets where id = ${id}`)[0];

/** A decision of the system's administrator. */
export const review = (system: Person, id: string, decision: string, more: object = {}) =>
  system.put(`${marketPath}/${id}/review`, { decision, ...more });
