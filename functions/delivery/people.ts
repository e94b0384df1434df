/** The access rules that several features of the delivery function share. */
import { can, either, role } from "../../shared/access.ts";

/** Staff who look, and the drivers and institutions whose manifests pass through. */
export const staffOrManifestPeople = either(can("view:tenant"), role("driver", "institution"));

/** Staff who look, and institutions, who find their own. */
export const staffOrInstitution = either(can("view:tenant"), role("institution"));

/** Those who scan at a processing point. */
export const scanners = can("manage:operations:tenant", "manage:module:warehouse");

/** The driver who has a manifest, or operations on his behalf. */
export const itsDriver = either(can("manage:operations:tenant"), role("driver"));

/** Everybody who has deliveries: staff all of them, the others their own. */
export const staffOrDeliveryPeople = either(
  can("view:tenant"),
  role("driver", "institution", "customer"),
);

/** Those who order: operations for anybody, customers and institutions for themselves. */
export const orderers = either(can("manage:operations:tenant"), role("institution", "customer"));
