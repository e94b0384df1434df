/** The request that each operation of the model is. */
import type { Asked } from "../caller.ts";
import { asksOf, type Names, type Requests } from "./requests/ask.ts";
import { carrierRequests } from "./requests/carriers.ts";
import { cashRequests } from "./requests/cash.ts";
import { orderRequests } from "./requests/orders.ts";
import { parcelRequests } from "./requests/parcels.ts";
import { sendBackRequests } from "./requests/send-backs.ts";
import { statementRequests } from "./requests/statements.ts";
import { stockRequests } from "./requests/stock.ts";
import type { Op } from "./ops.ts";

const requests: Requests<Op["type"]> = {
  ...cashRequests,
  ...parcelRequests,
  ...statementRequests,
  ...stockRequests,
  ...orderRequests,
  ...sendBackRequests,
  ...carrierRequests,
};

export const requestOf = (op: Op, names: Names): Asked =>
  (requests[op.type] as (op: Op, asks: ReturnType<typeof asksOf>) => Asked)(op, asksOf(names));
