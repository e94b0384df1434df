import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { office, payReaders } from "./access.ts";
import {
  driverPay,
  DriverPayResponse,
  PayOut,
  PayoutResponse,
  payouts,
  PayoutsResponse,
  ReversePayout,
} from "./schemas.ts";

/** Pay that drivers earn with deliveries, and its payouts. */
export const driverPayEndpoints: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/driver-pay",
    summary: "List what drivers earned with deliveries; drivers find their own",
    access: payReaders,
    query: driverPay.query,
    response: DriverPayResponse,
    run: ({ db, query }) => driverPay.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/driver-pay/payouts",
    summary: "List payouts of drivers' pay; drivers find their own",
    access: payReaders,
    query: payouts.query,
    response: PayoutsResponse,
    run: ({ db, query }) => payouts.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/driver-pay/payouts",
    person: true,
    summary: "Pay a driver everything that accrued, into the wallet or in cash",
    access: office,
    body: PayOut,
    response: PayoutResponse,
    status: 201,
    errors: ["driver_not_found", "nothing_to_pay", "insufficient_desk_cash"],
    run: async ({ db, body }) => ({ data: await db.call("money.driver_payout", body) }),
  }),
  endpoint({
    method: "get",
    path: "/driver-pay/payouts/:id",
    summary: "Read a payout",
    access: payReaders,
    params: ids("id"),
    response: PayoutResponse,
    errors: ["driver_payout_not_found"],
    run: async ({ db, params }) => ({ data: await db.call("money.driver_payout_get", params) }),
  }),
  endpoint({
    method: "post",
    path: "/driver-pay/payouts/:id/reverse",
    person: true,
    summary: "Reverse a payout with a reversing entry; its pay is accrued again",
    access: office,
    params: ids("id"),
    body: ReversePayout,
    response: PayoutResponse,
    errors: [
      "driver_payout_not_found",
      "driver_payout_already_reversed",
      "insufficient_wallet_balance",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.driver_payout_reverse", { ...body, ...params }),
    }),
  }),
];
