import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { balanceReaders } from "../merchant-statements/access.ts";
import { balances, BalancesResponse } from "./schemas.ts";

/** Money that the office owes merchants, and where its cash is. */
export const merchantBalances: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/merchant-balances",
    summary: "List what is on the wallets of merchants, and where the cash of it is",
    access: balanceReaders,
    query: balances.query,
    response: BalancesResponse,
    run: ({ db, query }) => balances.answer(db, query),
  }),
];
