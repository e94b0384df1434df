/** Requests of owners' statements. */
import type { Requests } from "./ask.ts";

export const statementRequests: Requests<
  "openStatement" | "payStatement" | "reverseStatement" | "voidStatement"
> = {
  openStatement(op, { place, by }) {
    return by(place.ops.token, "/delivery/merchant-statements", {
      owner_user_id: place.customers[op.customer].id,
    });
  },
  payStatement(op, { ids, admin, desk }) {
    return (op.cash ? desk : admin)(`/delivery/merchant-statements/${ids[op.name]}/pay`, {
      method: op.cash ? "cash" : "bank",
    });
  },
  reverseStatement(op, { ids, admin }) {
    return admin(`/delivery/merchant-statements/${ids[op.name]}/reverse`, { reason: "model" });
  },
  voidStatement(op, { ids, admin }) {
    return admin(`/delivery/merchant-statements/${ids[op.name]}/void`, {});
  },
};
