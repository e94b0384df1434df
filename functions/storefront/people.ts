/** The access rules that the features of the storefront share. */
import { type Access, can } from "../../shared/access.ts";

/** Who runs a tenant's store. */
export const tenantAdmin = can("manage:tenant");

/** Who lets stores open. */
export const reviewers = can("manage:system");

/** Who shops: customers alone, since a cart or an order of staff would be nobody's. */
export const customers: Access = { any: ["role:customer"], says: "role customer" };
