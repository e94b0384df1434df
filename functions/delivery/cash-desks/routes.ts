import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { deskPeople, deskReaders } from "../cod/access.ts";
import { printReceipt } from "./receipts.ts";
import {
  desks,
  DesksResponse,
  ReverseTransfer,
  Transfer,
  TransferResponse,
  transfers,
  TransfersResponse,
} from "./schemas.ts";

/** Cash that drivers handed in: who of the office has it, and how it goes to the bank or to another. */
export const cashDesks: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/cash-desks",
    summary: "List who of the office holds how much cash; operations managers find their own desk",
    access: deskReaders,
    query: desks.query,
    response: DesksResponse,
    run: ({ db, query }) => desks.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/cash-desks/transfers",
    summary:
      "List the cash that left or reached the desks; operations managers find that of their own",
    access: deskReaders,
    query: transfers.query,
    response: TransfersResponse,
    run: ({ db, query }) => transfers.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/cash-desks/transfers",
    person: true,
    summary: "Enter cash that leaves a desk or comes to it: bank, colleagues, wallets, expenses",
    access: deskPeople,
    idempotency: "required",
    body: Transfer,
    response: TransferResponse,
    status: 201,
    errors: [
      "idempotency_key_required",
      "receiver_required",
      "invalid_receiver",
      "cash_desk_not_found",
      "wallet_not_found",
      "too_many_decimals",
      "insufficient_desk_cash",
      "insufficient_wallet_balance",
    ],
    run: async ({ db, body }) => ({ data: await db.call("money.cash_transfer", body) }),
  }),
  endpoint({
    method: "get",
    path: "/cash-desks/transfers/:id/receipt",
    summary:
      "Print a cash transfer as a receipt to sign, twice on a sheet, in the language of the request",
    access: deskReaders,
    params: ids("id"),
    response: "pdf",
    errors: ["cash_transfer_not_found"],
    run: ({ db, params, language }) => printReceipt(db, params, language),
  }),
  endpoint({
    method: "post",
    path: "/cash-desks/transfers/:id/reverse",
    person: true,
    summary: "Reverse a cash transfer with a reversing entry",
    access: deskPeople,
    idempotency: "required",
    params: ids("id"),
    body: ReverseTransfer,
    response: TransferResponse,
    errors: [
      "idempotency_key_required",
      "cash_transfer_not_found",
      "cash_transfer_already_reversed",
      "insufficient_desk_cash",
      "insufficient_wallet_balance",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.cash_transfer_reverse", { ...body, ...params }),
    }),
  }),
];
