/** The job that looks up the records of domains. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import {
  connect,
  customDomain as path,
  domainsOf,
  newClaimant,
  ownership,
  put,
  target,
} from "../../support/custom-domain.ts";
import { sql, stack } from "../../support/db.ts";
import type { Tenant } from "../../support/people.ts";

describe("the look-up that nobody asks for", () => {
  let waiting: Awaited<ReturnType<typeof newClaimant>>;
  let tired: Awaited<ReturnType<typeof newClaimant>>;
  const runJobs = () =>
    nobody.post("/storefront/internal/jobs", {}, { headers: { apikey: stack.secretKey } });
  const jobsOf = async (tenant: Tenant) =>
    await sql`select status from app.jobs
      where tenant_id = ${tenant.id} and kind = 'storefront.verify_domain' order by id`;

  beforeAll(async () => {
    [waiting, tired] = await Promise.all([newClaimant(), newClaimant()]);
    await connect(tired.tenant, tired.domain);
    await sql`update storefront.custom_domains set pending_since = now() - interval '8 days'
      where tenant_id = ${tired.tenant.id}`;
  });

  test("makes a domain active whose records came, and gives up after a week", async () => {
    const { tenant, domain } = waiting;
    const token = ownership(await connect(tenant, domain));
    await sql`select storefront.domains_recheck()`;
    await sql`select storefront.domains_recheck()`;
    expect(await jobsOf(tenant)).toHaveLength(1);
    expect(await jobsOf(tired.tenant)).toEqual([]);
    expect(await runJobs()).toSucceed(200);
    expect((await domainsOf(tenant))[0]).toMatchObject({ status: "pending_dns" });
    expect((await domainsOf(tenant))[0].dns_checked_at).not.toBeNull();
    await put({
      [`CNAME ${domain}`]: [target],
      [`TXT _market-verify.${domain}`]: [`"${token}"`],
    });
    await sql`select storefront.domains_recheck()`;
    expect(await runJobs()).toSucceed(200);
    expect((await domainsOf(tenant))[0]).toMatchObject({ status: "active" });
    expect((await jobsOf(tenant)).map(({ status }) => status)).toEqual(["done", "done"]);
    const [event] = await sql`select tenant_id from integration.system_events
      where event_type = 'custom_domain.verified' and tenant_id = ${tenant.id}`;
    expect(event.tenant_id).toBe(tenant.id);
    await sql`select storefront.domains_recheck()`;
    expect(await jobsOf(tenant)).toHaveLength(2);
  });

  test("archives domains that are unverified for a week", async () => {
    const { tenant, domain } = await newClaimant();
    await connect(tenant, domain);
    await sql`update storefront.custom_domains set pending_since = now() - interval '8 days'
      where tenant_id = ${tenant.id}`;
    await sql`select storefront.domains_recheck()`;
    const [row] = await domainsOf(tenant);
    expect(row).toMatchObject({ status: "archived" });
    expect(row.disconnected_at).not.toBeNull();
  });

  test("leaves a domain alone that was disconnected meanwhile", async () => {
    const { tenant, domain } = await newClaimant();
    await connect(tenant, domain);
    await sql`select storefront.domains_recheck()`;
    await tenant.admin.delete(path);
    expect(await runJobs()).toSucceed(200);
    expect((await domainsOf(tenant))[0]).toMatchObject({ status: "archived" });
    expect((await jobsOf(tenant)).map(({ status }) => status)).toEqual(["done"]);
  });
});
