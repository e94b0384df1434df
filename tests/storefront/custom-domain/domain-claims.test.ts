/** Ownership of a domain: pending claims block nobody, verification decides, and it is checked again. */
import { describe, expect, test } from "vitest";
import { type Answer, nobody } from "../../support/api.ts";
import {
  connect,
  customDomain as path,
  newDomain,
  ownership,
  put,
  target,
  verify,
} from "../../support/custom-domain.ts";
import { sql, stack } from "../../support/db.ts";
import type { Tenant } from "../../support/people.ts";
import { eventsOf, newStoreOwner } from "../../support/storefront.ts";

/** A store with a claim to the domain, and the value that proves it. */
async function claim(domain: string): Promise<{ tenant: Tenant; proof: string; answer: Answer }> {
  const { tenant } = await newStoreOwner();
  const answer = await connect(tenant, domain);
  return { tenant, proof: answer.body.success ? ownership(answer) : "", answer };
}
/** The zone sends visitors to us and holds these proofs. */
const zone = (domain: string, ...proofs: string[]) =>
  put({
    [`CNAME ${domain}`]: [target],
    [`TXT _market-verify.${domain}`]: proofs.map((proof) => `"${proof}"`),
  });
const statusOf = async (tenant: Tenant) =>
  (await sql`select status from storefront.custom_domains
    where tenant_id = ${tenant.id} order by created_at desc limit 1`)[0].status;

test("pending claims block nobody, each with its own value; a verification ends the others", async () => {
  const domain = newDomain();
  const rivals = await Promise.all(Array.from({ length: 3 }, () => claim(domain)));
  for (const { answer } of rivals) expect(answer).toSucceed(201);
  expect(new Set(rivals.map(({ proof }) => proof)).size).toBe(3);
  const [owner, ...others] = rivals;
  await zone(domain, owner.proof);
  for (const { tenant } of others) expect((await verify(tenant)).body.data.verified).toBe(false);
  expect((await verify(owner.tenant)).body.data.verified).toBe(true);
  for (const { tenant } of others) {
    expect(await statusOf(tenant)).toBe("archived");
    expect(await eventsOf(tenant)).toEqual(["custom_domain.connected", "custom_domain.lost"]);
    expect((await tenant.admin.get(path)).body.data.custom_domain).toBeNull();
    expect(await verify(tenant)).toFailWith(404, "custom_domain_not_found");
  }
});

describe("a domain that another has proven", () => {
  test("is refused while the proof is there, and passes once it is gone, with an event to both", async () => {
    const domain = newDomain();
    const holder = await claim(domain);
    await zone(domain, holder.proof);
    await verify(holder.tenant);
    const next = await claim(domain);
    expect(next.answer).toFailWith(409, "custom_domain_taken");
    expect(next.answer.body.field).toBe("custom_domain");
    // A resolver that does not answer proves nothing against the holder.
    await put({ [`TXT _market-verify.${domain}`]: "broken" });
    expect((await claim(domain)).answer).toFailWith(409, "custom_domain_taken");
    await zone(domain, "something-else");
    const later = await claim(domain);
    expect(later.answer).toSucceed(201);
    expect(await statusOf(holder.tenant)).toBe("active");
    // The holder's proof is back beside the new one: it stays the holder's.
    await zone(domain, holder.proof, later.proof);
    const refused = await verify(later.tenant);
    expect(refused).toFailWith(409, "custom_domain_taken");
    expect(await statusOf(later.tenant)).toBe("pending_dns");
    await zone(domain, later.proof);
    expect((await verify(later.tenant)).body.data.verified).toBe(true);
    expect(await statusOf(holder.tenant)).toBe("archived");
    expect(await eventsOf(holder.tenant)).toEqual([
      "custom_domain.connected",
      "custom_domain.verified",
      "custom_domain.lost",
    ]);
    expect(await eventsOf(later.tenant)).toEqual([
      "custom_domain.connected",
      "custom_domain.verified",
    ]);
    const [{ actor }] = await sql`select event_data ->> 'actor_id' as actor
      from integration.system_events
      where tenant_id = ${holder.tenant.id} and event_type = 'custom_domain.lost'`;
    expect(actor).toBeNull();
  });

  test("of many who prove it at once one has it", async () => {
    const domain = newDomain();
    const rivals = await Promise.all(Array.from({ length: 4 }, () => claim(domain)));
    await zone(domain, ...rivals.map(({ proof }) => proof));
    const answers = await Promise.all(rivals.map(({ tenant }) => verify(tenant)));
    expect(answers.filter(({ status, body }) => status === 200 && body.data.verified))
      .toHaveLength(1);
    for (const { status } of answers) expect([200, 404, 409]).toContain(status);
    const statuses = await Promise.all(rivals.map(({ tenant }) => statusOf(tenant)));
    expect(statuses.sort()).toEqual(["active", "archived", "archived", "archived"]);
  });
});

describe("a proven domain is looked at again", () => {
  const runJobs = () =>
    nobody.post("/storefront/internal/jobs", {}, { headers: { apikey: stack.secretKey } });
  /** A day later: the clock looks. */
  async function nextDay({ id }: Tenant, days = 1): Promise<void> {
    await sql`update storefront.custom_domains set dns_checked_at = dns_checked_at - ${days} * interval '1 day',
      dns_missing_since = dns_missing_since - ${days} * interval '1 day' where tenant_id = ${id}`;
    await sql`select storefront.domains_recheck()`;
    expect(await runJobs()).toSucceed(200);
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
