/** The access rules that several features of the delivery function share. */
import { anyOf, permission, role } from "../../shared/api/access.ts";

/** Staff who may view the tenant, and drivers and institutions for their own manifests. */
export const staffOrManifestPeople = anyOf(
  permission("view:tenant"),
  role("driver", "institution"),
);

/** Staff who may view the tenant, and institutions for their own rows. */
export const staffOrInstitution = anyOf(permission("view:tenant"), role("institution"));

/** Operations and warehouse staff, who scan at processing points. */
export const warehouseOrOperations = permission(
  "manage:operations:tenant",
  "manage:module:warehouse",
);

/** Operations, and drivers for their own manifests. */
export const operationsOrDriver = anyOf(permission("manage:operations:tenant"), role("driver"));

/** Staff who may view the tenant, and drivers, institutions and customers for their own deliveries. */
export const staffOrDeliveryPeople = anyOf(
  permission("view:tenant"),
  role("driver", "institution", "customer"),
);

/** Operations, who order for anybody, and institutions and customers, who order for themselves. */
export const operationsOrOrderer = anyOf(
  permission("manage:operations:tenant"),
  role("institution", "customer"),
);
