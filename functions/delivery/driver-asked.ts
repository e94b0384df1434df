/** A driver's id in a filter: it counts from the office alone, and a driver's is disregarded whatever it is. */
import { z } from "zod";
import type { List, ListQuery } from "../../shared/api/list.ts";
import type { Database } from "../../shared/db/db.ts";
import { Id } from "../../shared/schemas/schemas.ts";

/** The database checks it, since it depends on the caller. */
export const DriverAsked = z.string().max(200).meta({ format: "uuid" });

/** The list, where `core` refuses a `driver_id` that is no id, unless the caller's counts for nothing. */
export function askedOfOffice(list: List, core: string): List {
  const narrowed = async (db: Database, query: ListQuery): Promise<ListQuery> => {
    const { driver_id, ...filters } = query.filters;
    if (driver_id === undefined || Id.safeParse(driver_id).success) return query;
    await db.call(core, { driver_id });
    return { ...query, filters };
  };
  return {
    query: list.query,
    run: async (db, query) => list.run(db, await narrowed(db, query)),
    answer: async (db, query) => list.answer(db, await narrowed(db, query)),
  };
}
