/** Domains of stores: claims, what DNS says of them, and what is kept. */
import { randomUUID } from "node:crypto";
import type { Answer, Body } from "./api.ts";
import { sql, stack } from "./db.ts";
import type { Tenant } from "./people.ts";
import { putRecords } from "./resolver.ts";
import { newStoreOwner } from "./storefront.ts";

export const customDomain = "/storefront/custom-domain";
export const target = "stores.barid.example";

export const newDomain = () => `shop.d${randomUUID().slice(0, 8)}.com`;

/** A tenant with a live store, and a domain that nobody else has. */
export const newClaimant = async (more: Record<string, unknown> = {}) => ({
  ...await newStoreOwner(more),
  domain: newDomain(),
});

export const connect = (tenant: Tenant, custom_domain: unknown): Promise<Answer> =>
  tenant.admin.post(`${customDomain}/connect`, { custom_domain });
export const verify = (tenant: Tenant) => tenant.admin.post(`${customDomain}/verify`);

/** The value that proves, in a TXT record, whose the domain of a connection is. */
export const ownership = (answer: Answer): string =>
  answer.body.data.custom_domain.dns_records.find((one: Body) => one.type === "TXT").value;

/** The tenant's domains, oldest first. */
export const domainsOf = async (tenant: Tenant) =>
  await sql`select * from storefront.custom_domains where tenant_id = ${tenant.id} order by created_at`;

/** Makes the resolver answer so. */
export const put = (records: Parameters<typeof putRecords>[1]) =>
  putRecords(stack.resolverUrl, records);

/** A store with a claim to the domain, and the value that proves it. */
export async function claim(
  domain: string,
): Promise<{ tenant: Tenant; proof: string; answer: Answer }> {
  const { tenant } = await newStoreOwner();
  const answer = await connect(tenant, domain);
  return { tenant, proof: answer.body.success ? ownership(answer) : "", answer };
}
/** The zone sends visitors to us and holds these proofs. */
export const zone = (domain: string, ...proofs: string[]) =>
  put({
    [`CNAME ${domain}`]: [target],
    [`TXT _market-verify.${domain}`]: proofs.map((proof) => `"${proof}"`),
  });
