/** Which language an answer is in, whichever part of it says something. */
import { expect, test } from "vitest";
import * as catalogues from "../../shared/i18n/catalogues.ts";
import type { Answer, Person } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { newTenant, saveSettings } from "../support/people.ts";

const points = "/delivery/transfer-processing-points";

test("messages follow the query, then Accept-Language by weight, then the tenant, then English", async () => {
  const tenant = await newTenant({ settings: { "general.language": { default: "ar" } } });
  const texts = (["en", "ar", "ku"] as const).map((language) => [
    catalogues[language].wallet_not_found,
    language,
  ]);
  const names = Object.fromEntries(texts);
  const spoken = async (person: Person, query?: string, accept?: string) => {
    const { body } = await person.get(`/delivery/wallets/${crypto.randomUUID()}/transactions`, {
      query: { language: query },
      headers: accept === undefined ? {} : { "accept-language": accept },
    });
    return names[body.message];
  };
  expect(await spoken(tenant.admin, "ku", "en")).toBe("ku");
  expect(await spoken(tenant.admin, "KU-IQ", "en")).toBe("ku");
  expect(await spoken(tenant.admin, "ckb", "en")).toBe("ku");
  expect(await spoken(tenant.admin, undefined, "ckb-IQ, en;q=0.5")).toBe("ku");
  expect(await spoken(tenant.admin, "xx", "en")).toBe("en");
  expect(await spoken(tenant.admin, undefined, "ku;q=0.2, en;q=0.9")).toBe("en");
  expect(await spoken(tenant.admin, undefined, "fr, de;q=0.9, ku-IQ;q=0.5, en;q=0.1")).toBe("ku");
  expect(await spoken(tenant.admin, undefined, "en;q=0")).toBe("ar");
  expect(await spoken(tenant.admin, undefined, "fr")).toBe("ar");
  expect(await spoken(tenant.admin)).toBe("ar");
  const silent = await newTenant();
  expect(await spoken(silent.admin)).toBe("en");
  expect(await spoken(silent.admin, "xx", "yy")).toBe("en");
});

test("the tenant's language is spoken in success and in every kind of refusal", async () => {
  const tenant = await newTenant();
  await saveSettings(tenant.id, "general.language", { default: "ar" });
  const arabic = /[\u0600-\u06ff]/;
  const wallet = crypto.randomUUID();
  await sql`insert into money.accounts (id, tenant_id, kind, owner_type, owner_user_id, currency, floor)
    values (${wallet}, ${tenant.id}, 'wallet', 'driver', ${tenant.driver.id}, 'IQD', 0)`;
  const adjust = (body: unknown) =>
    tenant.admin.post(`/delivery/wallets/${wallet}/adjust`, body, {
      headers: { "idempotency-key": crypto.randomUUID() },
    });
  const answers: [string, Answer][] = [
    ["success", await tenant.admin.get(points)],
    ["a rule of the database", await tenant.admin.get(`${points}/${crypto.randomUUID()}`)],
    ["a constraint", await adjust({ amount: 5, direction: "debit", reason: "x" })],
    ["wrong input", await adjust({ amount: 5 })],
    ["a missing permission", await tenant.driver.get("/delivery/wallets")],
  ];
  await sql`update tenancy.tenants set status = 'suspended' where id = ${tenant.id}`;
  answers.push(["an inactive tenant", await tenant.admin.get(points)]);
  for (const [what, { body }] of answers) expect(body.message, what).toMatch(arabic);
});

test("what is said of single rows is in the tenant's language as well", async () => {
  const tenant = await newTenant({ settings: { "general.language": { default: "ku" } } });
  const checked = await tenant.dispatcher.post("/delivery/transfer-manifest-items/bulk/validate", {
    identifiers: ["no barcode"],
  });
  expect(checked.body.data.results[0].error_message).toBe(catalogues.ku.invalid_barcode);
  const scanned = await tenant.warehouse.post("/warehousing/package-scan", {
    barcodes: ["NOBODY-KNOWS-IT"],
  });
  expect(scanned.body.results[0].message).toBe(catalogues.ku.delivery_not_found);
});
