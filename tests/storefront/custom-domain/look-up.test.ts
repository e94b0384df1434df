/** The job that looks up the records of domains. One file has all of it, since the schedule queues looks at everybody's. */
import { beforeAll, describe, expect, test } from "vitest";
import {
  claim,
  connect,
  customDomain as path,
  domainsOf,
  newClaimant,
  newDomain,
  ownership,
  put,
  target,
  verify,
  zone,
} from "../../support/custom-domain.ts";
import { sql } from "../../support/db.ts";
import { runJobs } from "../../support/jobs.ts";
import type { Tenant } from "../../support/people.ts";
import { eventsOf } from "../../support/storefront.ts";

describe("the look-up that nobody asks for", () => {
  let waiting: Awaited<ReturnType<typeof newClaimant>>;
  let tired: Awaited<ReturnType<typeof newClaimant>>;
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
    await runJobs("storefront", tenant.id);
    expect((await domainsOf(tenant))[0]).toMatchObject({ status: "pending_dns" });
    expect((await domainsOf(tenant))[0].dns_checked_at).not.toBeNull();
    await put({
      [`CNAME ${domain}`]: [target],
      [`TXT _market-verify.${domain}`]: [`"${token}"`],
    });
    await sql`select storefront.domains_recheck()`;
    await runJobs("storefront", tenant.id);
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
    await runJobs("storefront", tenant.id);
    expect((await domainsOf(tenant))[0]).toMatchObject({ status: "archived" });
    expect((await jobsOf(tenant)).map(({ status }) => status)).toEqual(["done"]);
  });
});

describe("a proven domain is looked at again", () => {
  /** A day later: the clock looks. */
  async function nextDay({ id }: Tenant, days = 1): Promise<void> {
    await sql`update storefront.custom_domains set dns_checked_at = dns_checked_at - ${days} * interval '1 day',
      dns_missing_since = dns_missing_since - ${days} * interval '1 day' where tenant_id = ${id}`;
    await sql`select storefront.domains_recheck()`;
    await runJobs("storefront", id);
  }
  const row = async ({ id }: Tenant) =>
    (await sql`select * from storefront.custom_domains where tenant_id = ${id}`)[0];

  test("daily; after three days without its records it is pending again, with an event", async () => {
    const domain = newDomain();
    const { tenant, proof } = await claim(domain);
    await zone(domain, proof);
    await verify(tenant);
    const jobs = () =>
      sql`select from app.jobs where tenant_id = ${tenant.id} and kind = 'storefront.verify_domain'`;
    await sql`select storefront.domains_recheck()`;
    expect(await jobs()).toHaveLength(0);
    await nextDay(tenant);
    expect(await jobs()).toHaveLength(1);
    expect(await row(tenant)).toMatchObject({ status: "active", dns_missing_since: null });
    await zone(domain);
    await nextDay(tenant);
    expect(await row(tenant)).toMatchObject({ status: "active" });
    expect((await row(tenant)).dns_missing_since).not.toBeNull();
    // A resolver that is away neither counts nor clears.
    await put({ [`TXT _market-verify.${domain}`]: "broken" });
    await nextDay(tenant, 4);
    expect(await row(tenant)).toMatchObject({ status: "active" });
    await zone(domain);
    await nextDay(tenant);
    expect(await row(tenant)).toMatchObject({
      status: "pending_dns",
      dns_verified_at: null,
      dns_missing_since: null,
    });
    expect(await eventsOf(tenant)).toEqual([
      "custom_domain.connected",
      "custom_domain.verified",
      "custom_domain.unverified",
    ]);
    // It waits a week from now on, and is active as soon as the records are back.
    await sql`select storefront.domains_recheck()`;
    expect(await row(tenant)).toMatchObject({ status: "pending_dns" });
    await zone(domain, proof);
    expect((await verify(tenant)).body.data.verified).toBe(true);
  });

  test("of a company that moved, its DNS may lead to the old project until it is changed", async () => {
    const domain = newDomain();
    const { tenant, proof } = await claim(domain);
    const old = "stores.old.example";
    await sql`update storefront.custom_domains set dns_records =
      jsonb_set(dns_records, '{0,value}', ${sql.json(old)}) where tenant_id = ${tenant.id}`;
    const { body } = await tenant.admin.get(path);
    const routing = { type: "CNAME", name_full: domain, value: target, purpose: "routing" };
    expect(body.data.custom_domain.dns_records[0]).toMatchObject(routing);
    const proven = { [`TXT _market-verify.${domain}`]: [`"${proof}"`] };
    await put({ ...proven, [`CNAME ${domain}`]: ["elsewhere.example"] });
    expect((await verify(tenant)).body.data.checks[0]).toMatchObject({
      expected: target,
      ok: false,
    });
    await put({ ...proven, [`CNAME ${domain}`]: [old] });
    expect((await verify(tenant)).body.data.verified).toBe(true);
    await nextDay(tenant);
    await zone(domain, proof);
    await nextDay(tenant, 4);
    expect(await row(tenant)).toMatchObject({ status: "active", dns_missing_since: null });
  });

  test("asking for a verification does not put the daily look-up off", async () => {
    const domain = newDomain();
    const { tenant, proof } = await claim(domain);
    await zone(domain, proof);
    await verify(tenant);
    await sql`update storefront.custom_domains set dns_checked_at = now() - interval '25 hours'
      where tenant_id = ${tenant.id}`;
    expect((await verify(tenant)).body.data).toMatchObject({
      verified: true,
      custom_domain: { status: "active", dns_verified_at: expect.any(String) },
      checks: [],
    });
    await sql`select storefront.domains_recheck()`;
    // Tried as often as other jobs are: a short trouble of the database ends no look.
    const [job] = await sql`select kind, attempts_max from app.jobs where tenant_id = ${tenant.id}`;
    expect(job).toEqual({ kind: "storefront.verify_domain", attempts_max: 8 });
  });

  test("records that come back in time end the count", async () => {
    const domain = newDomain();
    const { tenant, proof } = await claim(domain);
    await zone(domain, proof);
    await verify(tenant);
    await zone(domain);
    await nextDay(tenant);
    await zone(domain, proof);
    await nextDay(tenant);
    expect(await row(tenant)).toMatchObject({ status: "active", dns_missing_since: null });
    await zone(domain);
    await nextDay(tenant);
    await nextDay(tenant, 2);
    expect(await row(tenant)).toMatchObject({ status: "active" });
    await nextDay(tenant);
    expect(await row(tenant)).toMatchObject({ status: "pending_dns" });
  });
});
