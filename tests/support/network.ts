/** The branches and processing points of a tenant, beside those of another. */
import { sql } from "./db.ts";
import { newAddress, newBranch, newProcessingPoint } from "./make.ts";
import { newTenant } from "./people.ts";

/** The feature without which both are refused. */
export const feature = "transfer_manifest";
export const points = "/delivery/transfer-processing-points";
export const branchesOf = (institution: string, branch = "") =>
  `/delivery/institutions/${institution}/branches${branch && `/${branch}`}`;

export type Network = Awaited<ReturnType<typeof newNetwork>>;

/** An address with a processing point, the path to the institution's branches, and what only `other` may name. */
export async function newNetwork() {
  const [tenant, other] = [await newTenant(), await newTenant()];
  const address = await newAddress(tenant);
  const foreignAddress = await newAddress(other);
  return {
    tenant,
    other,
    address,
    point: await newProcessingPoint(tenant, address),
    mine: (branch = "") => branchesOf(tenant.institution.id, branch),
    foreignAddress,
    foreignPoint: await newProcessingPoint(other, foreignAddress),
    foreignBranch: await newBranch(other),
  };
}

export const pointRow = async (id: string) =>
  (await sql`select * from delivery.transfer_processing_points where id = ${id}`)[0];
export const branchRow = async (id: string) =>
  (await sql`select * from delivery.institution_branches where id = ${id}`)[0];
