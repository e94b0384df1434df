/** Which list a query string belongs to. By itself, because a process that starts loads no schemas. */
import type { z } from "zod";
import type { ListDeclaration } from "./list.ts";

const declarations = new WeakMap<z.ZodType, ListDeclaration>();

/** From now on this schema is known as the query string of this list. */
export function declareList(query: z.ZodType, list: ListDeclaration): void {
  declarations.set(query, list);
}

/** The list whose query string this schema is. */
export function listOf(query: z.ZodType | undefined): ListDeclaration | undefined {
  if (!query) return undefined;
  // A list may read its query string further: z.pipe keeps what it began with as `in`.
  const { in: first } = query.def as { in?: z.ZodType };
  return declarations.get(query) ?? listOf(first);
}
