/** The arguments with which a section adds its rows. */
import type postgres from "postgres";
import type { Tenant } from "../people.ts";

export interface Adding {
  tenant: Tenant;
  /** Where it is added. Who asked for another connection might wait for ever: several add at a time. */
  tx: postgres.TransactionSql;
  /** Writes a row of the tenant and answers its id, or the column that is named. */
  one: (table: string, row: Record<string, unknown>, answer?: string) => Promise<string>;
  json: (value: unknown) => unknown;
  /** A number nothing else has. */
  next: () => number;
  /** Ids of what exists already. */
  made: Record<string, string>;
}

/** The ids of a section's rows that a request may name. */
export type Added = Promise<Record<string, string>>;
