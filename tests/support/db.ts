/** The database as its owner sees it: for making what a test needs and looking at what it left. */
import postgres from "postgres";
import { afterAll, inject } from "vitest";

export const stack = inject("stack");
export const sql = postgres(stack.dbUrl, {
  max: 4,
  onnotice: () => {},
  types: {
    bigint: postgres.BigInt,
    numeric: { to: 1700, from: [1700], parse: Number, serialize: String },
  },
});

afterAll(() => sql.end());
