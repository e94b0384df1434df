/** The lists of orders: the administrators' with its filters and figures, and a customer's own. */
import { atLeast, atMost } from "../../../shared/api/filters.ts";
import {
  contains,
  defineList,
  type Filter,
  flag,
  foundBy,
  id,
  number,
  oneOf,
  period,
  since,
  someWords,
  until,
} from "../../../shared/api/list.ts";
import { methods } from "./schemas.ts";

/** The admin filter's words, each with what it means; `delivered` is asked for as well. */
const words = ["pending", "confirmed", "shipped", "completed", "cancelled", "delivered"] as const;
const hasStatus = (word: string) =>
  `r.status_group = case ${word} when 'delivered' then 'completed' else ${word} end
    and (${word} <> 'delivered' or r.status = 'delivered')`;
const status: Filter = {
  schema: someWords(words),
  condition: (value) => hasStatus(`(${value} #>> '{}')`),
  several: (value) => anyWord(value, hasStatus),
  kept: (value) => {
    const word = `(${value} #>> '{}')`;
    return `jsonb_build_object(case ${word} when 'delivered' then 'status' else 'status_group' end, ${word})`;
  },
};

/** The condition that one of the words that were sent holds. */
function anyWord(value: string, holds: (word: string) => string): string {
  return `exists (select from jsonb_array_elements_text(${value}) w (word) where ${
    holds("w.word")
  })`;
}

const sortColumns = {
  createdAt: "created_at",
  finalAmount: "total_price",
  deliveryFee: "shipping_cost",
  discountAmount: "discount_amount",
  totalItems: "total_items",
};

/** A part of an order's number or id. */
const search = foundBy("storefront.orders_matching");

export const adminOrders = defineList({
  view: "storefront.orders_list",
  made: "all",
  changes: "storefront.storefront_orders",
  sort: ["createdAt", "finalAmount", "deliveryFee", "discountAmount", "totalItems", "status"],
  sortColumns,
  params: {
    status,
    search,
    date_from: since("created_at"),
    date_to: until("created_at"),
    min_amount: atLeast("total_price"),
    max_amount: atMost("total_price"),
    refund_due: flag("refund_due"),
    customer_id: id("user_id"),
  },
  columns: {
    status,
    paymentMethod: oneOf("payment_method", methods),
    city: contains("city"),
    finalAmount: number("total_price"),
    deliveryFee: number("shipping_cost"),
    discountAmount: number("discount_amount"),
    totalItems: number("total_items"),
    createdAt: period("created_at"),
  },
  tally: { name: "storefront_orders", filters: ["status"] },
  summary: { sql: () => "storefront.order_stats()", ignores: [] },
  limit: { default: 10, max: 100 },
});

/** The words that customers read, each as it is answered, and those of the shop for groups of them. */
const isRead = (word: string) =>
  `case ${word}
    when 'pending' then r.status_group = 'pending' and r.payment_status <> 'paid'
    when 'approved' then r.status_group = 'confirmed' or r.status_group = 'pending' and r.payment_status = 'paid'
    when 'delivered' then r.status_group = 'completed'
    else r.status_group = ${word} end`;
const readByCustomers: Filter = {
  schema: someWords([...words, "approved"]),
  condition: (value) => isRead(`(${value} #>> '{}')`),
  several: (value) => anyWord(value, isRead),
};

export const myOrders = defineList({
  view: "storefront.my_orders_list",
  made: "all",
  search: ["order_number"],
  sort: ["createdAt", "totalPrice"],
  sortColumns: { createdAt: "created_at", totalPrice: "total_price" },
  params: { status: readByCustomers },
  limit: { default: 10, max: 100 },
});
