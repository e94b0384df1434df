/** The descriptions of a wallet's movements, in the language of who reads them: in lists, statements and their files. */
import { parse } from "csv-parse/sync";
import { expect, test } from "vitest";
import { movementText } from "../../../functions/delivery/wallets/movement-text.ts";
import { filesIn, textOf } from "../../tools/checks/files.ts";
import { transfer } from "../../support/cash-desks.ts";
import { newMerchant, opened, pay, statementPath } from "../../support/merchant-statements.ts";
import { openPdf } from "../../support/pdf.ts";
import { adjust } from "../../support/wallets.ts";
import { sql } from "../../support/db.ts";

test.each([
  ["Delivery 1042", "الشحنة 1042", "گەیاندنی 1042"],
  ["Delivery 1042: not\nhere", "الشحنة 1042: not\nhere", "گەیاندنی 1042: not\nhere"],
  [
    "Statement MS-000001: Typed twice",
    "كشف التاجر MS-000001: Typed twice",
    "کەشفی بازرگان MS-000001: Typed twice",
  ],
  ["Cash paid in: Receipt 5", "إيداع نقدي: Receipt 5", "پارەی نەختی دانراو: Receipt 5"],
  ["Cash settled from the wallet", "نقد سُوّي من المحفظة", "پارەی نەختی لە جزدانەوە یەکلاکراوە"],
])("%j is said in each language, with the words of people as they are", (stored, ar, ku) => {
  expect(movementText("en", stored)).toBe(stored);
  expect(movementText("ar", stored)).toBe(ar);
  expect(movementText("ku", stored)).toBe(ku);
});

test.each([
  "Delivery of a sofa was late",
  "Cash desk",
  "Statements",
  "مكافأة",
  "12-000001",
  "",
  null,
])(
  "%j is what somebody wrote, and stays",
  (words) => {
    for (const language of ["en", "ar", "ku"] as const) {
      expect(movementText(language, words)).toBe(words);
    }
  },
);

test("every text that the books write of a wallet by themselves is known", () => {
  const sources = filesIn("sql").filter((file) => /^sql\/(?!demo).*\.sql$/.test(file)).map(textOf)
    .join("\n");
  const written = [
    ...sources.matchAll(/'description', '([A-Z][^']*)'/g),
    ...sources.matchAll(/post_journal\([^;]*?'([A-Z][a-z][^']*)'/g),
    ...sources.matchAll(
      /then '(Cash (?:paid|remitted|settled)[^']*)'|else '(Cash (?:paid|settled)[^']*)'/g,
    ),
  ].map((match) => (match[1] ?? match[2])!);
  // Of desks, carriers and the company itself, which are no wallets.
  const elsewhere =
    /^(Cash (handed|brought|fetched|written|remitted by|paid into a|paid out of a)|Charges kept by|Delivery fee paid|Driver pay in cash|Expense)/;
  const texts = [...new Set(written)].filter((text) => !elsewhere.test(text));
  expect(texts).toEqual(expect.arrayContaining(["Delivery ", "Driver pay", "Cash remitted"]));
  for (const text of texts) {
    const stored = text.endsWith(" ") ? `${text}7` : text;
    expect(movementText("ar", stored), text).not.toBe(stored);
  }
});

test("an owner reads it in their language, in the list of movements and on statements", async () => {
  const { tenant } = await newMerchant([7_000]);
  const { customer, dispatcher, admin } = tenant;
  const { wallet } = (await customer.get("/delivery/wallets/me")).body;
  expect(
    await transfer(dispatcher, {
      kind: "wallet_deposit",
      wallet_id: wallet.id,
      amount: 500,
      reference: "Receipt 5",
    }),
  ).toSucceed(201);
  expect(await adjust(admin, wallet.id, 900)).toSucceed(200);
  const path = `/delivery/wallets/${wallet.id}/transactions`;
  const [{ code }] = await sql`select delivery_code::int as code from delivery.deliveries
    where tenant_id = ${tenant.id} and customer_id = ${customer.id} and cod_amount = 7000`;
  const list = async (language: "en" | "ar") =>
    (await customer.in(language).get(path)).body.data.map(
      ({ description }: { description: string }) => description,
    );
  expect(await list("en")).toEqual(
    expect.arrayContaining(["Cash desk", "Cash paid in: Receipt 5", `Delivery ${code}`]),
  );
  const arabic = ["Cash desk", "إيداع نقدي: Receipt 5", `الشحنة ${code}`];
  expect(await list("ar")).toEqual(expect.arrayContaining(arabic));
  const csv = async (url: string) => {
    const { body } = await customer.in("ar").get(url, { query: { format: "csv" } });
    const text = new TextDecoder().decode(body as Uint8Array);
    const rows: { description: string }[] = parse(text, { columns: true, bom: true });
    return rows.map(({ description }) => description);
  };
  expect(await csv(path)).toEqual(expect.arrayContaining(arabic));

  const statement = await opened(tenant);
  const { body } = await customer.in("ar").get(`${statementPath}/${statement.id}`);
  const lines = body.data.statement.lines.map((line: { description: string }) => line.description);
  expect(lines).toEqual(expect.arrayContaining(arabic.slice(0, 2)));
  expect(await csv(`${statementPath}/${statement.id}`))
    .toEqual(expect.arrayContaining(arabic.slice(0, 2)));
  const document = await customer.in("ar").get(`${statementPath}/${statement.id}/document`);
  const text = await (await openPdf(document.body as Uint8Array)).text(1);
  expect(text).toContain("إيداع نقدي");
  expect(text).not.toContain("Cash paid in");
  expect(await pay(admin, statement.id)).toSucceed(200);
  expect((await list("ar"))[0]).toBe(`كشف التاجر ${statement.number}`);
});
