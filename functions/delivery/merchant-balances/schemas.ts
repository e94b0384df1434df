/** Money on the wallets of merchants, and where the cash of it is. */
import { z } from "zod";
import { defineList, equal, id } from "../../../shared/api/list.ts";
import { Currency, Id, Pagination, Person, Timestamp } from "../../../shared/schemas/schemas.ts";

const sums = {
  balance: z.number().describe("What is on the wallet"),
  held: z.number().describe("COD of it whose cash is not in"),
  waiting: z.number().describe(
    "COD of it whose cash is in, and whose day has not come (hold_days)",
  ),
  available: z.number().describe("balance - held - waiting - stated"),
  stated: z.number().describe("The net of open statements, which waits to be paid out"),
  in_hand_of_drivers: z.number().describe("Of what is held: drivers have its cash"),
  with_carriers: z.number().describe("Of what is held: carriers have its cash"),
  at_desks: z.number().describe("Of what is held: it was handed in and is not out of the desks"),
};

export const BalancesResponse = z.object({
  data: z.array(
    z.strictObject({
      id: Id.describe("The wallet"),
      owner: Person,
      currency: z.string(),
      ...sums,
      oldest_unpaid_at: Timestamp.nullable().describe(
        "When the oldest money came that is not paid out: stated, not stated yet, or held",
      ),
    }).meta({ id: "MerchantBalance" }),
  ),
  pagination: Pagination,
  summary: z.array(
    z.strictObject({ currency: z.string(), wallets: z.int().describe("How many"), ...sums }),
  ).describe(
    "Over the same filters, by currency",
  ),
});

const summed = Object.keys(sums).map((name) => `'${name}', coalesce(sum(r.${name}), 0)`).join(", ");

export const balances = defineList({
  view: "money.merchant_balances_list",
  search: ["owner_name"],
  sort: ["owner_name", "balance", "held", "available", "stated"],
  order: { by: "owner_name", direction: "asc" },
  params: {
    owner_user_id: id("owner_user_id"),
    currency: { ...equal("currency"), schema: Currency },
  },
  hidden: ["owner_user_id", "owner_name", "created_at"],
  limit: { default: 20, max: 100 },
  summary: {
    sql: (rows) =>
      `(select coalesce(jsonb_agg(s.row order by s.currency), '[]') from (
        select r.currency, jsonb_build_object('currency', r.currency, 'wallets', count(*), ${summed}) as row
        from ${rows} group by r.currency) s)`,
  },
});
