/** The access rules that the features of the storefront share. */
import { type Access, permission } from "../../shared/api/access.ts";

/** Who runs a tenant's store. */
export const tenantAdmin = permission("manage:tenant");

/** Who lets stores open. */
export const canReviewMarkets = permission("manage:system");

/** Who shops: customers alone, since a cart or an order of staff would be nobody's. */
export const isCustomer: Access = { any: ["role:customer"], description: "role customer" };
