/** The descriptions of a wallet's movements, in the language of who reads them: in lists, statements and their files. */
import { parse } from "csv-parse/sync";
import { expect, test } from "vitest";
import { movementText } from "../../../functions/delivery/wallets/movement-text.ts";
import { filesIn, textOf } from "../../tools/checks/files.ts";
import { key, transfer } from "../../support/cash-desks.ts";
import { newMerchant, opened, pay, statementPath } from "../../support/merchant-statements.ts";
import { openPdf } from "../../support/pdf.ts";
import { adjust } from "../../support/wallets.ts";
import { sql } from "../../support/db.ts";

test.each([
  ["cod_credit", "Delivery 1042", "الشحنة 1042", "گەیاندنی 1042"],
  [
    "cod_credit_REVERSAL",
    "Delivery 1042: not\nhere",
    "الشحنة 1042: not\nhere",
    "گەیاندنی 1042: not\nhere",
  ],
  [
    "merchant_payout_REVERSAL",
    "Statement MS-000001: Typed twice",
    "كشف التاجر MS-000001: Typed twice",
    "کەشفی بازرگان MS-000001: Typed twice",
  ],
  [
    "WALLET_ADJUSTMENT",
    "Cash paid in: Receipt 5",
    "إيداع نقدي: Receipt 5",
    "پارەی نەختی دانراو: Receipt 5",
  ],
  [
    "cod_settlement",
    "Cash settled from the wallet",
    "نقد سُوّي من المحفظة",
    "پارەی نەختی لە جزدانەوە یەکلاکراوە",
  ],
])(
  "of %s, %j is said in each language, with the words of people as they are",
  (kind, stored, ar, ku) => {
    expect(movementText("en", kind, stored)).toBe(stored);
    expect(movementText("ar", kind, stored)).toBe(ar);
    expect(movementText("ku", kind, stored)).toBe(ku);
  },
);

test.each([
  ["cod_credit", "Delivery of a sofa was late"],
  ["WALLET_ADJUSTMENT", "Cash desk"],
  ["WALLET_ADJUSTMENT", "Driver pay: bonus"],
  ["WALLET_ADJUSTMENT", "Delivery 1042"],
  ["WALLET_ADJUSTMENT_REVERSAL", "Statement MS-000001: Typed twice"],
  ["adjustment", "Shortage of a cash handover"],
  ["driver_payout_REVERSAL", "Driver pay"],
  ["cod_settlement_REVERSAL", "Cash remitted"],
  ["delivery_fee_refund_REVERSAL", "Delivery 1042"],
  ["merchant_payout", "Statements"],
  ["WALLET_ADJUSTMENT", "مكافأة"],
  ["merchant_payout", "12-000001"],
  ["WALLET_ADJUSTMENT", ""],
  ["order_refund", null],
])(
  "of %s, %j is what somebody wrote, and stays",
  (kind, words) => {
    for (const language of ["en", "ar", "ku"] as const) {
      expect(movementText(language, kind, words)).toBe(words);
    }
  },
);

/** The kind of movement of which the books write a text. */
const kindOf = (text: string) =>
  ({
    Delivery: "delivery_fee",
    "Driver pay": "driver_payout",
    "Cash paid": "WALLET_ADJUSTMENT",
    Cash: "cod_settlement",
    Shortage: "cash_shortage",
    Statement: "merchant_payout",
  })[/^(Driver pay|Cash paid|\w+)/.exec(text)![0]] ?? "of no wallet";

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
    expect(movementText("ar", kindOf(text), stored), text).not.toBe(stored);
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
  const bonus = { amount: 100, direction: "credit", reason: "Driver pay: bonus" };
  expect(await admin.post(`/delivery/wallets/${wallet.id}/adjust`, bonus, key())).toSucceed(200);
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
  const arabic = [
    "Cash desk",
    "Driver pay: bonus",
    "إيداع نقدي: Receipt 5",
    `الشحنة ${code}`,
  ];
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
  expect(lines).toEqual(expect.arrayContaining(arabic.slice(0, 3)));
  expect(await csv(`${statementPath}/${statement.id}`))
    .toEqual(expect.arrayContaining(arabic.slice(0, 3)));
  const document = await customer.in("ar").get(`${statementPath}/${statement.id}/document`);
  const text = await (await openPdf(document.body as Uint8Array)).text(1);
  expect(text).toContain("إيداع نقدي");
  expect(text).not.toContain("Cash paid in");
  expect(await pay(admin, statement.id)).toSucceed(200);
  expect((await list("ar"))[0]).toBe(`كشف التاجر ${statement.number}`);
});
