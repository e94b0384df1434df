import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { inWords } from "../wallets/movement-text.ts";
import { printStatement, statementFile } from "./documents.ts";
import { office, owners, stateMakers, statementReaders } from "./access.ts";
import {
  OpenStatement,
  PayStatement,
  ReverseStatement,
  StatementDetailResponse,
  StatementForm,
  StatementResponse,
  statements,
  StatementsResponse,
  VerifiedStatement,
  VerifyStatement,
  VoidStatement,
} from "./schemas.ts";

type WithLines = { lines: { kind: string; description: string | null }[] };

/** Statements of what merchants are due, and their payouts. */
export const merchantStatements: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/merchant-statements",
    summary: "List statements of merchants; owners find their own",
    access: statementReaders,
    query: statements.query,
    response: StatementsResponse,
    run: ({ db, query }) => statements.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/merchant-statements",
    person: true,
    summary: "Make a statement of all that is released to an owner and on no statement yet",
    access: stateMakers,
    body: OpenStatement,
    response: StatementResponse,
    status: 201,
    errors: ["merchant_not_found", "statement_below_minimum"],
    run: async ({ db, body }) => ({ data: await db.call("money.statement_open", body) }),
  }),
  endpoint({
    method: "get",
    path: "/merchant-statements/:id",
    summary: "Read a statement with its lines; with `format=csv` its deliveries as a file",
    access: statementReaders,
    params: ids("id"),
    query: StatementForm,
    response: StatementDetailResponse,
    errors: ["statement_not_found"],
    async run({ db, params, query, language }) {
      if (query.format === "csv") {
        return await statementFile(db, params, query.times, language);
      }
      const { statement } = await db.call<{ statement: WithLines }>("money.statement_read", params);
      return {
        data: { statement: { ...statement, lines: inWords(language(), statement.lines) } },
      };
    },
  }),
  endpoint({
    method: "get",
    path: "/merchant-statements/:id/document",
    summary: "Print a statement, in the language of the request",
    access: statementReaders,
    params: ids("id"),
    response: "pdf",
    errors: ["statement_not_found"],
    run: ({ db, params, language }) => printStatement(db, params, language),
  }),
  endpoint({
    method: "get",
    path: "/merchant-statements/verify",
    summary: "Whether a printed statement says the truth: its QR code names this address",
    access: statementReaders,
    query: VerifyStatement,
    response: VerifiedStatement,
    run: ({ db, query }) => db.call("money.statement_verify", query),
  }),
  endpoint({
    method: "post",
    path: "/merchant-statements/:id/pay",
    person: true,
    summary: "Pay a statement: its net leaves the wallet, in cash also the caller's desk",
    access: office,
    params: ids("id"),
    body: PayStatement,
    response: StatementResponse,
    errors: [
      "statement_not_found",
      "statement_already_paid",
      "statement_not_open",
      "statement_not_covered",
      "wallet_refund_open",
      "insufficient_desk_cash",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.statement_pay", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/merchant-statements/:id/confirm",
    person: true,
    summary: "Mark the payout of my statement as received",
    access: owners,
    params: ids("id"),
    response: StatementResponse,
    errors: ["statement_not_found", "statement_not_paid"],
    run: async ({ db, params }) => ({ data: await db.call("money.statement_confirm", params) }),
  }),
  endpoint({
    method: "post",
    path: "/merchant-statements/:id/reverse",
    person: true,
    summary: "Reverse the payout of a statement with a reversing entry; it is open again",
    access: office,
    params: ids("id"),
    body: ReverseStatement,
    response: StatementResponse,
    errors: ["statement_not_found", "statement_not_paid"],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.statement_reverse", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/merchant-statements/:id/void",
    person: true,
    summary: "Void an open statement; its lines are free for the next one",
    access: stateMakers,
    params: ids("id"),
    body: VoidStatement,
    response: StatementResponse,
    errors: ["statement_not_found", "statement_not_open"],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.statement_void", { ...body, ...params }),
    }),
  }),
];
