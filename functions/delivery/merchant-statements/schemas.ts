/** Statements of what merchants are due, and their payouts. */
import { z } from "zod";
import {
  defineList,
  equal,
  fileParameters,
  id,
  sinceDay,
  someOf,
  untilDay,
  words,
} from "../../../shared/api/list.ts";
import {
  Currency,
  DayOrInstant,
  Id,
  Pagination,
  Person,
  Text,
  Timestamp,
  WebUrl,
  withoutEmpty,
} from "../../../shared/schemas/schemas.ts";

const Status = z.enum(["open", "paid", "void"]);
const Method = z.enum(["cash", "bank", "gateway_transfer"]);
const Kind = z.enum(["cod", "delivery_fee", "refund", "adjustment"]);

export const OpenStatement = z.strictObject({
  owner_user_id: Id,
  currency: Currency.nullish().describe("The tenant's unless said"),
  date_to: DayOrInstant.nullish().describe(
    "Of movements until then: a day (to its end, in the tenant's time zone) or an instant; all unless said",
  ),
}).transform(withoutEmpty).meta({ id: "OpenMerchantStatement" });

export const PayStatement = z.strictObject({
  method: Method.describe(
    "`cash` leaves the caller's desk; `bank` and `gateway_transfer` are not for dispatchers",
  ),
  reference: Text.nullish(),
  proof: WebUrl.nullish().describe("Address of a picture or document that shows the payout"),
}).transform(withoutEmpty).meta({ id: "PayMerchantStatement" });

export const ReverseStatement = z.strictObject({ reason: Text }).meta({
  id: "ReverseMerchantPayout",
});

export const VoidStatement = z.object({ reason: Text.nullish() }).transform(withoutEmpty).meta({
  id: "VoidMerchantStatement",
});

const payout = {
  id: Id,
  method: Method,
  amount: z.number(),
  reference: z.string().nullable(),
  proof: z.string().nullable(),
  paid_at: Timestamp,
  paid_by: Person,
};

const Statement = z.strictObject({
  id: Id,
  number: z.string().describe("`MS-000001`, without a gap in a company; void ones keep theirs"),
  owner: Person,
  currency: z.string(),
  opened_at: Timestamp,
  period: z.strictObject({
    from: Timestamp.describe("The end of the statement before, or when the wallet began"),
    to: Timestamp.describe("Movements before it are stated"),
  }),
  gross_cod: z.number().describe("The lines of kind `cod`"),
  fees: z.number().describe("What deliveries cost: the lines of fees are negative, this is not"),
  refunds: z.number().describe("The lines of kind `refund`"),
  adjustments: z.number().describe(
    "Top-ups, adjustments by hand, what is kept in the wallet, and second lines of a movement",
  ),
  net: z.number().describe("gross_cod - fees + refunds + adjustments: the sum of the lines"),
  count: z.int().describe("How many lines it has"),
  status: Status,
  payout_id: Id.nullable(),
  confirmed_at: Timestamp.nullable().describe("When the owner said that the payout arrived"),
  voided_at: Timestamp.nullable(),
  void_reason: z.string().nullable(),
  payout: z.strictObject(payout).nullable().describe(
    "The payout that paid it and was not reversed",
  ),
}).meta({ id: "MerchantStatement" });

/** As lists and its own page show it. */
const StatementWithPayouts = Statement.extend({
  payouts: z.array(z.strictObject({
    ...payout,
    reversed_at: Timestamp.nullable().describe("Null unless it was reversed"),
    reversed_by: Person.nullable(),
    reversal_reason: z.string().nullable(),
  })).describe("All its payouts, the newest first, reversed ones too"),
}).meta({ id: "MerchantStatementWithPayouts" });

export const Line = z.strictObject({
  delivery: z.strictObject({
    id: Id,
    delivery_code: z.int(),
    external_reference_id: z.string().nullable(),
  }).nullable(),
  kind: Kind,
  description: z.string().nullable().describe(
    "Of a line without a delivery, what the movement of the wallet says: why it was adjusted, or which order it was",
  ),
  amount: z.number().describe("Signed: what is due is positive"),
  collected_at: Timestamp.describe("When the money moved: of COD when it was collected"),
  released_at: Timestamp.describe("Since when it could be stated"),
}).meta({ id: "MerchantStatementLine" });

/** The form of a detail: as JSON, or its rows as a file. */
export const StatementForm = z.object(
  fileParameters(
    "`csv`: one row a delivery, and one for each line without a delivery, as a file",
  ),
);

export const VerifyStatement = z.object({
  hash: z.string().regex(/^[0-9a-fA-F]{32}$/).meta({
    description: "The hash that the QR code of the document names",
  }),
});

export const VerifiedStatement = z.object({
  valid: z.boolean().describe("Printed, unchanged, and not void"),
  printed: z.boolean().describe("The hash is that of a statement that the caller sees"),
  unchanged: z.boolean().describe("The lines still give the hash that was printed"),
  statement: Statement.nullable(),
});

export const StatementResponse = z.object({ data: z.object({ statement: Statement }) });
export const StatementDetailResponse = z.object({
  data: z.object({ statement: StatementWithPayouts.extend({ lines: z.array(Line) }) }),
});
export const StatementsResponse = z.object({
  data: z.array(StatementWithPayouts),
  pagination: Pagination,
});

export const statements = defineList({
  view: "money.statements_with_payouts",
  search: ["owner_name", "number", "payout_references"],
  sort: ["opened_at", "net", "paid_at"],
  params: {
    owner_user_id: id("owner_user_id"),
    status: someOf("status", words(Status)),
    currency: { ...equal("currency"), schema: Currency },
    date_from: sinceDay("opened_at"),
    date_to: untilDay("opened_at"),
    paid_from: sinceDay("paid_at"),
    paid_to: untilDay("paid_at"),
    method: someOf("method", words(Method)),
  },
  hidden: ["owner_user_id", "owner_name", "sequence", "paid_at", "method", "payout_references"],
  readBy: "opened_at",
  limit: { default: 20, max: 100 },
});
