/** Ownership of a domain: pending claims block nobody, verification decides, and it is checked again. */
import { describe, expect, test } from "vitest";
import {
  claim,
  customDomain as path,
  newDomain,
  put,
  verify,
  zone,
} from "../../support/custom-domain.ts";
import { sql } from "../../support/db.ts";
import type { Tenant } from "../../support/people.ts";
import { eventsOf } from "../../support/storefront.ts";

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
