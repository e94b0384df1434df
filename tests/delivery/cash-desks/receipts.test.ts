/** The receipt of a cash transfer: two copies to sign on one sheet, in three languages. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { desks, reverse, transfer, withCash } from "../../support/cash-desks.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { openPdf } from "../../support/pdf.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";
import { adjust, newWallet } from "../../support/wallets.ts";

const receipt = (id: string) => `${desks}/transfers/${id}/receipt`;

let tenant: Tenant;
let customer: Person;
let wallet: string;
beforeAll(async () => {
  tenant = await withCash(50_000);
  await saveSettings(tenant.id, "general.timezone", { name: "Asia/Baghdad" });
  customer = await newPerson(tenant.id, "customer", "customer");
  await sql`update tenancy.profiles set full_name = 'زهراء Zahra' where id = ${customer.id}`;
  wallet = await newWallet(tenant, customer, "customer");
  expect(await adjust(tenant.admin, wallet, 20_000)).toSucceed(200);
});

async function printed(by: Person, id: string) {
  const answer = await by.get(receipt(id));
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/pdf");
  expect(answer.headers.get("content-disposition")).toBe(`inline; filename="cash-${id}.pdf"`);
  const pdf = await openPdf(answer.body as Uint8Array);
  expect(pdf.pages).toBe(1);
  return await pdf.text(1);
}

const times = (text: string, part: string) => text.split(part).length - 1;

test("has each copy name the amount, both sides, the number and when", async () => {
  const made = await transfer(tenant.dispatcher, {
    kind: "wallet_payout",
    wallet_id: wallet,
    amount: 12_500,
    reference: "R-77",
    notes: "Came with her brother",
  });
  expect(made).toSucceed(201);
  const { id, created_at, from_user } = made.body.data;
  const text = await printed(tenant.dispatcher.in("en"), id);
  const local = new Date(Date.parse(created_at) + 3 * 3_600_000).toISOString();
  for (
    const said of [
      "Cash paid out of a wallet",
      "12,500 IQD",
      "Zahra",
      "R-77",
      "Came with her brother",
      id,
      local.slice(0, 16).replace("T", " "),
      "Signature: received",
    ]
  ) expect(times(text, said), said).toBe(2);
  // The one who paid entered it as well.
  expect(times(text, from_user.full_name)).toBe(4);
  expect(text).not.toContain("REVERSED");
  expect(await reverse(tenant.dispatcher, id)).toSucceed(200);
  expect(times(await printed(tenant.admin.in("en"), id), "REVERSED on")).toBe(2);
});

test.each(
  [
    ["ar", "إيداع نقدي في محفظة"],
    ["ku", "خستنە ناو جزدان بە کاش"],
  ] as const,
)("is written in %s, with numbers that read the same", async (language, title) => {
  const made = await transfer(tenant.dispatcher, {
    kind: "wallet_deposit",
    wallet_id: wallet,
    amount: 3_250,
  });
  const text = await printed(tenant.dispatcher.in(language), made.body.data.id);
  expect(times(text, "3,250 IQD")).toBe(2);
  const letters = (of: string) => [...of.replace(/\s/g, "")].sort().join("");
  const found = text.split("\n").some((line) => letters(line).includes(letters(title)));
  expect(found || text.includes(title), text).toBe(true);
});

test.each([
  ["bank_deposit", {}, ["Cash brought to the bank", "Bank"]],
  ["bank_withdrawal", {}, ["Cash fetched from the bank", "Bank"]],
  ["expense", { notes: "Fuel" }, ["Expense paid in cash", "Fuel"]],
])("of a %s names its other side", async (kind, more, said) => {
  const made = await transfer(tenant.dispatcher, { kind, amount: 100, ...more });
  expect(made).toSucceed(201);
  const text = await printed(tenant.dispatcher.in("en"), made.body.data.id);
  for (const part of said) expect(text).toContain(part);
});

test("is for those who see the transfer", async () => {
  const made = await transfer(tenant.dispatcher, { amount: 10 });
  const other = await withCash(100, await newTenant());
  const theirs = (await transfer(other.dispatcher, { amount: 10 })).body.data.id;
  const call = { method: "GET", path: receipt(made.body.data.id) } as const;
  await expectGuarded(call, { denied: [tenant.driver, customer] });
  // An operations manager sees the transfers of their own desk.
  expect(await tenant.ops.get(call.path)).toFailWith(404, "cash_transfer_not_found");
  expect(await tenant.admin.get(receipt(randomUUID()))).toFailWith(404, "cash_transfer_not_found");
  await expectNoSuch(
    tenant.dispatcher,
    { method: "GET", path: `${desks}/transfers/{id}/receipt` },
    "id",
    "cash_transfer_not_found",
    theirs,
  );
});
