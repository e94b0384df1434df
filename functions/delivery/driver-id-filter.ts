/**
 * The `driver_id` query filter. Staff may filter by any driver; a driver always sees only their own rows, so the
 * value is ignored.
 */
import { z } from "zod";
import type { Filter, List, ListQuery } from "../../shared/api/list.ts";
import type { Database } from "../../shared/db/db.ts";
import { Id } from "../../shared/schemas/schemas.ts";

/** Any string: SQL validates the id, because only staff get invalid_uuid. */
export const DriverIdFilter = z.string().max(200).meta({ format: "uuid" });

/** The filter by a row's driver; `filter` is the SQL function that says whose rows the caller gets for what was asked. */
export const driverFilter = (filter: string): Filter => ({
  schema: DriverIdFilter,
  condition: (value) => `r.driver_id = (select ${filter}(${value} #>> '{}'))`,
});

/**
 * A list with the `driver_id` filter. `check` is the SQL function that throws invalid_uuid for staff; the list's own
 * SQL does not run this check when it matches no rows. For a driver a malformed id is dropped from the query.
 */
export function withDriverIdFilter(list: List, check: string): List {
  const checked = async (db: Database, query: ListQuery): Promise<ListQuery> => {
    const { driver_id, ...filters } = query.filters;
    if (driver_id === undefined || Id.safeParse(driver_id).success) return query;
    await db.call(check, { driver_id });
    return { ...query, filters };
  };
  return {
    query: list.query,
    run: async (db, query) => list.run(db, await checked(db, query)),
    answer: async (db, query) => list.answer(db, await checked(db, query)),
  };
}
