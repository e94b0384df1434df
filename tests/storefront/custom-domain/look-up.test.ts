/** The job that looks up the records of domains. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { type Answer, type Body, nobody } from "../../support/api.ts";
import { sql, stack } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { putRecords } from "../../support/resolver.ts";
import { newStore } from "../../support/storefront.ts";

const path = "/storefront/custom-domain";
const target = "stores.barid.example";

/** A tenant with a live store and a domain nobody else has. */
async function shop(more: Record<string, unknown> = {}) {
  const tenant = await newTenant();
  const store = await newStore(tenant, more);
  return { tenant, store, domain: `shop.d${randomUUID().slice(0, 8)}.com` };
}
const connect = (tenant: Tenant, custom_domain: unknown): Promise<Answer> =>
  tenant.admin.post(`${path}/connect`, { custom_domain });
const stored = async (tenant: Tenant) =>
  await sql`select * from storefront.custom_domains where tenant_id = ${tenant.id} order by created_at`;
const ownership = (answer: Answer): string =>
  answer.body.data.custom_domain.dns_records.find((one: Body) => one.type === "TXT").value;
const put = (records: Parameters<typeof putRecords>[1]) => putRecords(stack.resolverUrl, records);

describe("the look-up that nobody asks for", () => {
  let waiting: Awaited<ReturnType<typeof shop>>;
  let tired: Awaited<ReturnType<typeof shop>>;
  const runJobs = () =>
    nobody.post("/storefront/internal/jobs", {}, { headers: { apikey: stack.secretKey } });
  const jobsOf = async (tenant: Tenant) =>
    await sql`select status from app.jobs
      where tenant_id = ${tenant.id} and kind = 'storefront.verify_domain' order by id`;

  beforeAll(async () => {
    [waiting, tired] = await Promise.all([shop(), shop()]);
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
    expect((await stored(tenant))[0]).toMatchObject({ status: "pending_dns" });
    expect((await stored(tenant))[0].dns_checked_at).not.toBeNull();
    await put({
      [`CNAME ${domain}`]: [target],
      [`TXT _market-verify.${domain}`]: [`"${token}"`],
    });
    await sql`select storefront.domains_recheck()`;
    expect(await runJobs()).toSucceed(200);
    expect((await stored(tenant))[0]).toMatchObject({ status: "active" });
    expect((await jobsOf(tenant)).map(({ status }) => status)).toEqual(["done", "done"]);
    const [event] = await sql`select tenant_id from integration.system_events
      where event_type = 'custom_domain.verified' and tenant_id = ${tenant.id}`;
    expect(event.tenant_id).toBe(tenant.id);
    await sql`select storefront.domains_recheck()`;
    expect(await jobsOf(tenant)).toHaveLength(2);
  });

  test("archives domains that are unverified for a week", async () => {
    const { tenant, domain } = await shop();
    await connect(tenant, domain);
    await sql`update storefront.custom_domains set pending_since = now() - interval '8 days'
      where tenant_id = ${tenant.id}`;
    await sql`select storefront.domains_recheck()`;
    const [row] = await stored(tenant);
    expect(row).toMatchObject({ status: "archived" });
    expect(row.disconnected_at).not.toBeNull();
  });

  test("leaves a domain alone that was disconnected meanwhile", async () => {
    const { tenant, domain } = await shop();
    await connect(tenant, domain);
    await sql`select storefront.domains_recheck()`;
    await tenant.admin.delete(path);
    expect(await runJobs()).toSucceed(200);
    expect((await stored(tenant))[0]).toMatchObject({ status: "archived" });
    expect((await jobsOf(tenant)).map(({ status }) => status)).toEqual(["done"]);
  });
});
