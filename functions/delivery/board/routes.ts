import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { BoardQuery, BoardResponse } from "./schemas.ts";

/** The dispatcher's view of everything that is under way. */
export const board: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/board",
    summary:
      "Drivers with their place, load and next stop; what is unassigned, searched for and late",
    access: permission("manage:operations:tenant"),
    query: BoardQuery,
    response: BoardResponse,
    errors: ["zone_not_found"],
    run: async ({ db, query }) => ({ data: await db.callText("delivery.board", query) }),
  }),
];
