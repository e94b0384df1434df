/** Delivery fees that are due back in cash: to payers without a wallet, paid at a desk against a receipt. */
import { z } from "zod";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import {
  defineList,
  equal,
  id,
  number,
  sinceDay,
  someOf,
  untilDay,
  words,
} from "../../../shared/api/list.ts";
import {
  Currency,
  Id,
  ids,
  LongText,
  Pagination,
  Text,
  Timestamp,
  withoutEmpty,
} from "../../../shared/schemas/schemas.ts";
import { office, officeReaders } from "../cod/access.ts";
import { TransferResponse } from "./schemas.ts";

const Status = z.enum(["open", "paid"]);

const CashRefund = z.strictObject({
  id: Id,
  delivery_id: Id,
  delivery_code: z.number(),
  amount: z.number(),
  currency: z.string(),
  status: Status,
  payer: z.object({ name: z.string().nullable(), phone: z.string().nullable() }),
  created_at: Timestamp,
  cash_transfer_id: Id.nullable().describe("Null while it is open, like what follows"),
  reference: z.string().nullable().describe("The number of the receipt"),
  paid_at: Timestamp.nullable(),
}).meta({ id: "CashRefund" });

const refunds = defineList({
  view: "money.cash_refunds_list",
  sort: ["created_at", "amount", "paid_at"],
  params: {
    status: someOf("status", words(Status)),
    delivery_id: id("delivery_id"),
    currency: { ...equal("currency"), schema: Currency },
    date_from: sinceDay("created_at"),
    date_to: untilDay("created_at"),
  },
  columns: { amount: number("amount"), currency: equal("currency") },
  limit: { default: 20, max: 100 },
});

/** The receipt that the payer signs is named; whose desk pays is the caller's unless an administrator names another's. */
const PayRefund = z.strictObject({
  reference: Text,
  from_user_id: Id.nullish(),
  notes: LongText.nullish(),
}).transform(withoutEmpty).meta({ id: "PayCashRefund" });

export const cashRefunds: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/cash-desks/refunds",
    summary: "List delivery fees that are due back in cash, or were paid back",
    access: officeReaders,
    query: refunds.query,
    response: z.object({ data: z.array(CashRefund), pagination: Pagination }),
    run: ({ db, query }) => refunds.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/cash-desks/refunds/:refund_id/pay",
    person: true,
    summary: "Pay a delivery fee back in cash from a desk, against a receipt",
    access: office,
    idempotency: "required",
    params: ids("refund_id"),
    body: PayRefund,
    response: TransferResponse,
    status: 201,
    errors: [
      "idempotency_key_required",
      "cash_refund_not_found",
      "cash_refund_already_paid",
      "cash_desk_not_found",
      "insufficient_desk_cash",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.cash_transfer", { kind: "refund", ...body, ...params }),
    }),
  }),
];
