import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { csvTable } from "../../../shared/api/csv/export.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { type Revenue, RevenueQuery, RevenueResponse } from "./schemas.ts";

const sums = [
  "currency",
  "delivery_fees",
  "refunds",
  "driver_pay",
  "carrier_charges",
  "write_offs",
  "shortages",
  "net",
] as const;

/** Fees earned and direct costs, by the ledger. */
export const revenue: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/revenue",
    summary:
      "Delivery fees earned, less refunds, driver pay, carriers' charges, write-offs and shortages",
    access: anyOf(role("tenant_admin", "operations_manager"), permission("manage:tenant")),
    query: RevenueQuery,
    response: RevenueResponse,
    async run({ db, query: { format, times: _, ...query } }) {
      const found = await db.call<Revenue>("money.revenue", query);
      if (format !== "csv") return found;
      if (!query.group_by) return csvTable("revenue.csv", sums, found.totals);
      const rows = found.rows.map(({ merchant, ...row }) => ({
        ...row,
        merchant_id: merchant?.id,
        merchant_name: merchant?.full_name,
      }));
      const by = query.group_by === "merchant"
        ? ["merchant_id", "merchant_name"] as const
        : ["period"] as const;
      return csvTable("revenue.csv", [...by, ...sums], rows);
    },
  }),
];
