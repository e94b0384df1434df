import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { normalizeDomain } from "../../../functions/storefront/custom-domain/domain-name.ts";
import { nobody } from "../../support/api.ts";
import {
  connect,
  customDomain as path,
  domainsOf,
  newClaimant,
  ownership,
  put,
  target,
  verify,
} from "../../support/custom-domain.ts";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import { eventsOf } from "../../support/storefront.ts";

describe("connecting", () => {
  test("answers the pending domain with the records its owner has to make", async () => {
    const { tenant, store, domain } = await newClaimant();
    const answer = await connect(tenant, `  HTTPS://${domain.toUpperCase()}/ `);
    expect(answer).toSucceed(201);
    expect(answer.body.message).toBe("market_custom_domain_connected_successfully");
    expect(answer.body.data.custom_domain).toMatchObject({
      market_id: store.id,
      tenant_id: tenant.id,
      custom_domain: domain,
      status: "pending_dns",
      dns_verified_at: null,
      disconnected_at: null,
      dns_records: [
        { type: "CNAME", name: "shop", name_full: domain, value: target, purpose: "routing" },
        {
          type: "TXT",
          name: "_market-verify.shop",
          name_full: `_market-verify.${domain}`,
          value: expect.stringMatching(/^market-verify=[0-9a-f]{32}$/),
          purpose: "ownership",
        },
      ],
    });
    const shown = await tenant.admin.in("ar").get(path);
    expect(shown.body.message).toBe("market_custom_domain_retrieved_successfully");
    expect(shown.body.data).toEqual(answer.body.data);
    expect(await eventsOf(tenant)).toEqual(["custom_domain.connected"]);
  });

  test("a zone's own name gets an A record", async () => {
    const zones = ["com", "com.iq", "me.uk"].map((ending) =>
      `d${randomUUID().slice(0, 8)}.${ending}`
    );
    for (const zone of zones) {
      const { tenant } = await newClaimant();
      const [routing, proof] = (await connect(tenant, zone)).body.data.custom_domain.dns_records;
      expect(routing).toEqual({
        type: "A",
        name: "@",
        name_full: zone,
        value: "192.0.2.1",
        purpose: "routing",
      });
      expect(proof).toMatchObject({ name: "_market-verify", name_full: `_market-verify.${zone}` });
    }
  });

  test.each([
    ["Shop.Example.COM", "shop.example.com"],
    ["http://shop.example.com", "shop.example.com"],
    ["shop.example.com.", "shop.example.com"],
    ["متجر.com", "xn--pgbep1f.com"],
    ["bücher.example.com", "xn--bcher-kva.example.com"],
  ])("%s is kept as %s", (text, domain) => {
    expect(normalizeDomain(text)).toBe(domain);
  });

  test("what is no public host of one's own is refused", async () => {
    const { tenant } = await newClaimant();
    const wrong = [
      "",
      "shop",
      "localhost",
      "a.localhost",
      "printer.local",
      "db.internal",
      "127.0.0.1",
      "0x7f.1",
      "[::1]",
      "2130706433",
      "shop.example.com/path",
      "shop.example.com:8080",
      "user@shop.example.com",
      "ftp://shop.example.com",
      "*.example.com",
      "-a.example.com",
      "a_b.example.com",
      "a..com",
      `${"a".repeat(64)}.com`,
      `${"a.".repeat(127)}com`,
      "shop.example.123",
      target,
      `www.${target}`,
      "barid.example",
      "a\u0000.com",
      // Below these names are sold.
      "com.iq",
      "me.uk",
    ];
    await expectRefused(tenant.admin, { method: "POST", path: `${path}/connect` }, [
      ...wrong.map((custom_domain) =>
        [{ custom_domain }, "custom_domain", "invalid_custom_domain"] as const
      ),
      [{}, "custom_domain"],
      [{ custom_domain: 7 }, "custom_domain"],
      [{ custom_domain: "x".repeat(1001) }, "custom_domain"],
    ]);
    expect(await domainsOf(tenant)).toEqual([]);
  });

  test("a market has one domain, also of many at once", async () => {
    const mine = await newClaimant();
    const mineToo = await Promise.all(
      Array.from({ length: 5 }, (_, i) => connect(mine.tenant, `s${i}.${mine.domain}`)),
    );
    expect(mineToo.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of mineToo.filter(({ status }) => status !== 201)) {
      expect(answer).toFailWith(409, "custom_domain_already_connected");
    }
  });

  test("needs a market and an administrator; a key makes a repeat harmless", async () => {
    const bare = await newTenant();
    expect(await connect(bare, "shop.example.com")).toFailWith(404, "market_not_found");
    expect(await bare.admin.get(path)).toFailWith(404, "market_not_found");
    const { tenant, domain } = await newClaimant();
    const denied = [tenant.ops, tenant.staff, tenant.driver, tenant.institution, tenant.customer];
    const body = { custom_domain: domain };
    await expectGuarded({ method: "POST", path: `${path}/connect`, body }, { denied });
    await expectGuarded({ method: "GET", path }, { denied });
    await expectGuarded({ method: "POST", path: `${path}/verify` }, { denied });
    await expectGuarded({ method: "DELETE", path }, { denied });
    expect((await tenant.admin.get(path)).body.data).toEqual({ custom_domain: null });
    await expectReplayed(tenant.admin, `${path}/connect`, body, { custom_domain: `b.${domain}` });
    const kurdish = await tenant.admin.in("ku").post(`${path}/connect`, body);
    expect(kurdish.body.message)
      .toBe("دۆمەینێک پێشتر بەستراوەتەوە؛ سەرەتا جیای بکەرەوە.");
  });
});

describe("verifying", () => {
  test("says of each missing record why it is not good yet", async () => {
    const { tenant, domain } = await newClaimant();
    await connect(tenant, domain);
    const nothing = await verify(tenant);
    expect(nothing).toSucceed(200);
    expect(nothing.body.message).toBe("market_custom_domain_verified_successfully");
    expect(nothing.body.data).toMatchObject({
      verified: false,
      custom_domain: { custom_domain: domain, status: "pending_dns", dns_verified_at: null },
      checks: [
        { type: "CNAME", name: domain, expected: target, found: [], ok: false },
        { type: "TXT", name: `_market-verify.${domain}`, found: [], ok: false },
      ],
    });
    expect(nothing.body.data.checks[0].reason).toBe(`The CNAME record ${domain} was not found.`);
    await put({
      [`CNAME ${domain}`]: ["elsewhere.test."],
      [`TXT _market-verify.${domain}`]: "broken",
    });
    const { checks } = (await tenant.admin.in("ar").post(`${path}/verify`)).body.data;
    expect(checks[0]).toMatchObject({ found: ["elsewhere.test"], ok: false });
    expect(checks[0].reason).toContain("قيمة أخرى");
    expect(checks[1].reason).toContain("تعذر البحث");
    expect((await domainsOf(tenant))[0]).toMatchObject({ status: "pending_dns" });
  });

  test("with both records in place the domain is active, and stays so", async () => {
    const { tenant, store, domain } = await newClaimant();
    const token = ownership(await connect(tenant, domain));
    const routing = { [`CNAME ${domain}`]: [`${target.toUpperCase()}.`] };
    await put(routing);
    expect((await verify(tenant)).body.data.verified).toBe(false);
    // Long texts come in pieces, beside texts of others.
    const pieces = `"${token.slice(0, 20)}" "${token.slice(20)}"`;
    await put({ [`TXT _market-verify.${domain}`]: ['"v=spf1 -all"', pieces] });
    const answers = await Promise.all(Array.from({ length: 4 }, () => verify(tenant)));
    for (const answer of answers) {
      expect(answer.body.data).toMatchObject({
        verified: true,
        custom_domain: { status: "active", dns_verified_at: expect.any(String) },
      });
    }
    expect(await eventsOf(tenant)).toEqual(["custom_domain.connected", "custom_domain.verified"]);
    await put({ [`CNAME ${domain}`]: [], [`TXT _market-verify.${domain}`]: [] });
    expect((await verify(tenant)).body.data).toMatchObject({ verified: true, checks: [] });
    const found = await nobody.get("/storefront/public/markets", { query: { domain } });
    expect(found.body.market.id).toBe(store.id);
    const { body } = await tenant.admin.get("/storefront/market");
    expect(body.data.readiness.domain_connected).toBe(true);
  });

  test("a token that only begins like ours proves nothing", async () => {
    const { tenant, domain } = await newClaimant();
    const token = ownership(await connect(tenant, domain));
    await put({
      [`CNAME ${domain}`]: [target],
      [`TXT _market-verify.${domain}`]: [`"${token}0"`, `"${token.toUpperCase()}"`],
    });
    expect((await verify(tenant)).body.data.verified).toBe(false);
  });

  test("without a domain there is nothing to verify or disconnect", async () => {
    const { tenant } = await newClaimant();
    expect(await verify(tenant)).toFailWith(404, "custom_domain_not_found");
    expect(await tenant.admin.delete(path)).toFailWith(404, "custom_domain_not_found");
    expect(await verify(await newTenant())).toFailWith(404, "market_not_found");
  });
});

describe("disconnecting", () => {
  test("archives the domain, which another market may connect then", async () => {
    const { tenant, domain } = await newClaimant();
    const { id } = (await connect(tenant, domain)).body.data.custom_domain;
    const answer = await tenant.admin.delete(path);
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({
      success: true,
      message: "market_custom_domain_disconnected_successfully",
      data: {
        custom_domain: {
          id,
          custom_domain: domain,
          status: "archived",
          disconnected_at: expect.any(String),
        },
      },
    });
    expect((await tenant.admin.get(path)).body.data).toEqual({ custom_domain: null });
    expect(await connect((await newClaimant()).tenant, domain)).toSucceed(201);
    const back =
      sql`update storefront.custom_domains set status = 'active', disconnected_at = null where id = ${id}`;
    await expect(back).rejects.toThrow("invalid_status_transition");
  });

  test("of many at once one does it", async () => {
    const { tenant, domain } = await newClaimant();
    await connect(tenant, domain);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => tenant.admin.delete(path)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(5);
  });
});
