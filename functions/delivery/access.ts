/** The access rules that several features of the delivery function share. */
import { anyOf, permission, role } from "../../shared/api/access.ts";

/** Staff who look, and the drivers and institutions whose manifests pass through. */
export const staffOrManifestPeople = anyOf(
  permission("view:tenant"),
  role("driver", "institution"),
);

/** Staff who look, and institutions, who find their own. */
export const staffOrInstitution = anyOf(permission("view:tenant"), role("institution"));

/** Those who scan at a processing point. */
export const canScan = permission("manage:operations:tenant", "manage:module:warehouse");

/** The driver who has a manifest, or operations on their behalf. */
export const officeOrDriver = anyOf(permission("manage:operations:tenant"), role("driver"));

/** Everybody who has deliveries: staff all of them, the others their own. */
export const staffOrDeliveryPeople = anyOf(
  permission("view:tenant"),
  role("driver", "institution", "customer"),
);

/** Those who order: operations for anybody, customers and institutions for themselves. */
export const canOrder = anyOf(
  permission("manage:operations:tenant"),
  role("institution", "customer"),
);
