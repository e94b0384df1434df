/** The two who keep subscriptions: a company, and each of its merchants for what is their own. */
import { type Access, permission, role } from "../../shared/api/access.ts";
import type { ErrorCode } from "../../shared/errors/errors.ts";

/** A keeper of subscriptions: where its endpoints begin, who may call them, and what they refuse that the others' do not. */
export interface Keeper {
  is: "company" | "merchant";
  at: "" | "/own";
  reads: Access;
  writes: Access;
  /** The refusal to use a subscription that the company has stopped; a company's own nobody else stops. */
  stopped: readonly ErrorCode[];
}

export const company: Keeper = {
  is: "company",
  at: "",
  reads: permission("view:tenant", "manage:tenant"),
  writes: permission("manage:tenant"),
  stopped: [],
};
export const merchant: Keeper = {
  is: "merchant",
  at: "/own",
  reads: role("institution"),
  writes: role("institution"),
  stopped: ["webhook_subscription_stopped"],
};
