/** The access rules that the features of the storefront share. */
import { type Access, permission } from "../../shared/api/access.ts";

/** Those who run a tenant's store. */
export const tenantAdmin = permission("manage:tenant");

/** Those who approve stores. */
export const canReviewMarkets = permission("manage:system");

/** Shoppers are customers alone, since a cart or an order of staff would be nobody's. */
export const isCustomer: Access = { any: ["role:customer"], description: "role customer" };
