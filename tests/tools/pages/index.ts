/** The pages of docs/, and the API document's part of them, that are read from the database. */
import type postgres from "postgres";
import { eventTypes } from "./event-types.ts";
import { schemaPages } from "./schema.ts";
import { statesPage } from "./states.ts";
import { triggersPage } from "./triggers.ts";

/** Their texts by path, from a database with the migrations. */
export async function pagesOf(sql: postgres.Sql): Promise<Record<string, string>> {
  return {
    "docs/triggers.md": await triggersPage(sql),
    "docs/states.md": await statesPage(sql),
    ...await schemaPages(sql),
    "shared/http/event-types.json": await eventTypes(sql),
  };
}
