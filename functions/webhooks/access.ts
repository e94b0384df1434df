/** The two who keep subscriptions: a company, and each of its merchants for what is their own. */
import { type Access, permission, role } from "../../shared/api/access.ts";

/** A keeper of subscriptions: where its endpoints begin, and who may call them. */
export interface Keeper {
  at: "" | "/own";
  reads: Access;
  writes: Access;
}

export const company: Keeper = {
  at: "",
  reads: permission("view:tenant", "manage:tenant"),
  writes: permission("manage:tenant"),
};
export const merchant: Keeper = {
  at: "/own",
  reads: role("institution"),
  writes: role("institution"),
};
