import type { Database } from "../../../shared/db/db.ts";
import type { List, ListQuery } from "../../../shared/api/list.ts";

type Row = Record<string, unknown>;

/** A page of orders, each as `orderOf` shows it, with the pagination of order lists in camelCase. */
export async function ordersPage(
  list: List,
  db: Database,
  query: ListQuery,
  orderOf: (row: Row) => Row,
) {
  const { rows, page, limit, total, ...rest } = await list.run(db, query);
  const pagination = { page, limit, total, totalPages: Math.ceil(total / limit) };
  return { orders: rows.map(orderOf), pagination, ...rest };
}

/** The columns of an order in every list. */
export const inEveryList = (row: Row) => ({
  id: row.id,
  order_number: row.order_number,
  status: row.status,
  paymentMethod: row.payment_method,
  paymentStatus: row.payment_status,
  totalItems: row.total_items,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
