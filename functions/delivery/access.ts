/** The access rules that several features of the delivery function share: they let callers in; which rows are theirs is decided in the database. */
import { anyOf, permission, role } from "../../shared/api/access.ts";

/** Staff who may view the tenant, drivers and institutions. */
export const staffOrManifestPeople = anyOf(
  permission("view:tenant"),
  role("driver", "institution"),
);

/** Staff who may view the tenant, and institutions. */
export const staffOrInstitution = anyOf(permission("view:tenant"), role("institution"));

/** Operations and warehouse staff. */
export const warehouseOrOperations = permission(
  "manage:operations:tenant",
  "manage:module:warehouse",
);

/** Operations and drivers. */
export const operationsOrDriver = anyOf(permission("manage:operations:tenant"), role("driver"));

/** Staff who may view the tenant, drivers, institutions and customers. */
export const staffOrDeliveryPeople = anyOf(
  permission("view:tenant"),
  role("driver", "institution", "customer"),
);

/** Operations, who order for anybody, and institutions and customers, who order for themselves. */
export const operationsOrOrderer = anyOf(
  permission("manage:operations:tenant"),
  role("institution", "customer"),
);
