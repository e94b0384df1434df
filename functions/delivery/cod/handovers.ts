import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { defineList, id, since, someOf, until, words } from "../../../shared/api/list.ts";
import { ids, Pagination } from "../../../shared/schemas/schemas.ts";
import { z } from "zod";
import { cashPeople, cashReaders, office } from "./access.ts";
import {
  CancelHandover,
  CountHandover,
  DeclareHandover,
  Handover,
  HandoverResponse,
  ResolveHandover,
} from "./schemas.ts";

const handovers = defineList({
  view: "money.cash_handovers_list",
  sort: ["created_at", "declared_amount", "counted_at"],
  params: {
    status: someOf("status", words(Handover.shape.status)),
    driver_id: id("driver_id"),
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  limit: { default: 20, max: 100 },
});

/** Cash on the desk: declared by the driver, counted by the office, before it is remitted. */
export const cashHandovers: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/cod-collections/handovers",
    summary: "List cash handovers",
    access: cashReaders,
    query: handovers.query,
    response: z.object({ data: z.array(Handover), pagination: Pagination }),
    async run({ db, query }) {
      const { data, ...page } = await handovers.answer(db, query);
      return { data: data.map(({ driver_id: _filteredBy, ...handover }) => handover), ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/cod-collections/handover",
    person: true,
    summary: "Declare cash put on the desk; the office may count it at once",
    access: cashPeople,
    body: DeclareHandover,
    response: HandoverResponse,
    status: 201,
    errors: [
      "driver_not_found",
      "driver_id_required",
      "too_many_decimals",
      "handover_already_declared",
      "handover_not_found",
      "handover_not_declared",
      "own_cash",
    ],
    run: async ({ db, body }) => ({ data: await db.call("money.handover_declare", body) }),
  }),
  endpoint({
    method: "post",
    path: "/cod-collections/handovers/:id/count",
    person: true,
    summary: "Count declared cash; a difference becomes a discrepancy and moves no balance",
    access: office,
    params: ids("id"),
    body: CountHandover,
    response: HandoverResponse,
    errors: ["handover_not_found", "handover_not_declared", "own_cash", "too_many_decimals"],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.handover_count", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/cod-collections/handovers/:id/resolve",
    person: true,
    summary: "End a discrepancy",
    access: office,
    params: ids("id"),
    body: ResolveHandover,
    response: HandoverResponse,
    errors: [
      "handover_not_found",
      "handover_not_in_discrepancy",
      "own_cash",
      "invalid_resolution",
      "insufficient_wallet_balance",
      "settlement_amount_mismatch",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.handover_resolve", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/cod-collections/handovers/:id/cancel",
    person: true,
    summary: "Cancel a handover that was declared or counted wrongly, before it is remitted",
    access: cashPeople,
    params: ids("id"),
    body: CancelHandover,
    response: HandoverResponse,
    errors: ["handover_not_found", "handover_not_cancellable"],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.handover_cancel", { ...body, ...params }),
    }),
  }),
];
