import type { ListPage } from "../../../shared/list.ts";

/** The pagination of order lists, in camelCase. */
export function pages({ page, limit, total }: ListPage) {
  return { page, limit, total, totalPages: Math.ceil(total / limit) };
}
