/** A statement as people take it away: the PDF with its mark, and the file for the accountant. */
import { parse } from "csv-parse/sync";
import { beforeAll, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { setPayouts } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { newDelivery } from "../../support/deliveries.ts";
import {
  broughtIn,
  cancel,
  confirm,
  newMerchant,
  opened,
  pay,
  reverse,
  statementPath,
} from "../../support/merchant-statements.ts";
import { newPerson, saveSettings, type Tenant } from "../../support/people.ts";
import { openPdf, scan } from "../../support/pdf.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";
import { adjust } from "../../support/wallets.ts";

const verifyPath = `${statementPath}/verify`;

let other: Tenant;
let others: Body;
beforeAll(async () => {
  other = (await newMerchant()).tenant;
  others = await opened(other);
});

/** The document as a reader of PDF sees it. */
async function printed(by: Person, id: string) {
  const answer = await by.get(`${statementPath}/${id}/document`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/pdf");
  const pdf = await openPdf(answer.body as Uint8Array);
  const [code] = await scan(await pdf.raster(1));
  return { pdf, code: new URL(code), text: await pdf.text(1), headers: answer.headers };
}

const verify = (by: Person, hash: string) => by.get(verifyPath, { query: { hash } });

test("names what is due, and its QR code an address that says whether that is true", async () => {
  const { tenant } = await newMerchant([7_000, 3_000]);
  await saveSettings(tenant.id, "general.timezone", { name: "Asia/Baghdad" });
  const statement = await opened(tenant);
  const { pdf, code, text, headers } = await printed(tenant.customer.in("en"), statement.id);
  expect(headers.get("content-disposition"))
    .toBe('inline; filename="merchant-statement-MS-000001.pdf"');
  expect(pdf.pages).toBe(1);
  for (const said of ["MS-000001", "10,000", "7,000", "Not paid out yet", "Rows: 2"]) {
    expect(text).toContain(said);
  }
  const at = new Date(Date.parse(statement.opened_at) + 3 * 3_600_000).toISOString();
  expect(text).toContain(at.slice(0, 16).replace("T", " "));
  expect(code.pathname).toBe("/functions/v1/delivery/merchant-statements/verify");
  const hash = code.searchParams.get("hash")!;
  const { success: _, message: _said, ...answer } = (await verify(tenant.customer, hash)).body;
  expect(answer).toEqual({ valid: true, printed: true, unchanged: true, statement });
  expect((await verify(tenant.dispatcher, hash.toUpperCase())).body.valid).toBe(true);
});

test("says that it was paid, when and how, and that the owner has it", async () => {
  const { tenant } = await newMerchant();
  const { id } = await opened(tenant);
  const before = await printed(tenant.ops.in("en"), id);
  expect(await pay(tenant.ops, id, { reference: "Transfer 2291" })).toSucceed(200);
  const paid = await printed(tenant.ops.in("en"), id);
  expect(paid.text).toMatch(/Paid out on \d{4}-\d\d-\d\d \d\d:\d\d/);
  expect(paid.text).toContain("Transfer 2291");
  expect(paid.text).toContain("Bank");
  expect(paid.text).not.toContain("Received by the merchant");
  expect(await confirm(tenant.customer, id)).toSucceed(200);
  expect((await printed(tenant.ops.in("en"), id)).text).toContain("Received by the merchant");
  expect((await printed(tenant.ops.in("ar"), id)).text).not.toContain("Paid out");
  // The paper of before names the same money.
  expect(paid.code.href).toBe(before.code.href);
  const hash = before.code.searchParams.get("hash")!;
  expect((await verify(tenant.ops, hash)).body).toMatchObject({
    valid: true,
    statement: { status: "paid", payout: { reference: "Transfer 2291" } },
  });
  expect(await reverse(tenant.admin, id)).toSucceed(200);
  expect((await printed(tenant.ops.in("en"), id)).text).toContain("Not paid out yet");
});

test("of a void one says so, and is not valid any more", async () => {
  const { tenant } = await newMerchant();
  const { id } = await opened(tenant);
  const hash = (await printed(tenant.ops, id)).code.searchParams.get("hash")!;
  expect(await cancel(tenant.ops, id, { reason: "Made too early" })).toSucceed(200);
  const { text } = await printed(tenant.ops.in("en"), id);
  expect(text).toMatch(/VOID since \d{4}-\d\d-\d\d \d\d:\d\d/);
  expect(text).toContain("Made too early");
  expect((await verify(tenant.ops, hash)).body).toMatchObject({
    valid: false,
    printed: true,
    unchanged: true,
    statement: { status: "void" },
  });
  // The next one names the same movements, and is another paper.
  const next = await opened(tenant);
  expect((await printed(tenant.ops, next.id)).code.searchParams.get("hash")).not.toBe(hash);
});

test("verifying finds a forged document, and one whose lines were changed afterwards", async () => {
  const { tenant } = await newMerchant([7_000, 3_000]);
  const { id } = await opened(tenant);
  const hash = (await printed(tenant.ops, id)).code.searchParams.get("hash")!;
  const unknown = { valid: false, printed: false, unchanged: false, statement: null };
  expect((await verify(tenant.ops, "0".repeat(32))).body).toMatchObject(unknown);
  const stranger = await newPerson(tenant.id, "customer", "customer");
  for (const person of [stranger, other.admin]) {
    expect((await verify(person, hash)).body).toMatchObject(unknown);
  }
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update money.merchant_statement_lines set amount = amount + case position when 1 then 1 else -1 end
      where statement_id = ${id}`;
  });
  expect((await verify(tenant.ops, hash)).body)
    .toMatchObject({ valid: false, printed: true, unchanged: false });
  for (const wrong of ["short", `${hash}0`, "g".repeat(32)]) {
    const refused = await verify(tenant.ops, wrong);
    expect(refused).toFailWith(400, "validation_failed");
    expect(refused.body.field).toBe("hash");
  }
  const missing = await tenant.ops.get(verifyPath);
  expect(missing).toFailWith(400, "validation_failed");
  expect(missing.body.field).toBe("hash");
});

test("as a file has one row a delivery, and the sums of the statement", async () => {
  const { ground, tenant } = await newMerchant([7_000, 3_000], { keep: 400 });
  const { wallet } = (await tenant.customer.get("/delivery/wallets/me")).body;
  expect(await adjust(tenant.admin, wallet.id, 900)).toSucceed(200);
  // COD and the fee of one delivery, and a reference that a spreadsheet would run.
  const [both] = await broughtIn(ground, [5_000], {
    payer_type: "sender",
    payment_method: "wallet",
    external_reference_id: '=HYPERLINK("http://x.test";"Order")',
  });
  await newDelivery(ground, { payer_type: "sender", payment_method: "wallet" });
  const statement = await opened(tenant);
  const file = await tenant.customer.get(`${statementPath}/${statement.id}`, {
    query: { format: "csv" },
  });
  expect(file.status).toBe(200);
  expect(file.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(file.headers.get("content-disposition"))
    .toBe('attachment; filename="merchant-statement-MS-000001.csv"');
  const text = new TextDecoder().decode(file.body as Uint8Array);
  const rows: Record<string, string>[] = parse(text, { columns: true, bom: true });
  expect(Object.keys(rows[0])).toEqual([
    "kind",
    "delivery_code",
    "external_reference_id",
    "collected_at",
    "released_at",
    "cod",
    "delivery_fee",
    "refund",
    "adjustment",
    "net",
    "description",
  ]);
  expect(
    rows.map((row) =>
      [row.kind, row.cod, row.delivery_fee, row.refund, row.adjustment, row.net].join(" ")
    ),
  ).toEqual([
    "delivery 7000 0 0 0 7000",
    "delivery 3000 0 0 0 3000",
    "adjustment 0 0 0 900 900",
    "delivery 5000 2000 0 0 3000",
    "delivery 0 2000 0 0 -2000",
    "kept 0 0 0 -400 -400",
  ]);
  // Why the office adjusted, as the owner reads it of the wallet's movements.
  expect(rows.map(({ description }) => description)).toEqual(["", "", "Cash desk", "", "", ""]);
  // When it was collected, and not when its fee was charged, days before.
  const [{ collected_at }] =
    await sql`select collected_at from money.cod_collections where id = ${both!}`;
  const row = rows.find(({ cod, delivery_fee }) => cod === "5000" && delivery_fee === "2000")!;
  expect(Date.parse(row.collected_at!)).toBe(collected_at.getTime());
  await saveSettings(tenant.id, "general.timezone", { name: "Asia/Baghdad" });
  const local = await tenant.customer.get(`${statementPath}/${statement.id}`, {
    query: { format: "csv", times: "local" },
  });
  const inBaghdad = (time: string) =>
    new Date(Date.parse(time) + 3 * 3_600_000).toISOString().slice(0, 19).replace("T", " ");
  expect(parse(new TextDecoder().decode(local.body as Uint8Array), { columns: true, bom: true }))
    .toEqual(rows.map((row) => ({
      ...row,
      collected_at: inBaghdad(row.collected_at!),
      released_at: inBaghdad(row.released_at!),
    })));
  const sum = (column: string) => rows.reduce((total, row) => total + Number(row[column]), 0);
  expect({
    gross_cod: sum("cod"),
    fees: sum("delivery_fee"),
    refunds: sum("refund"),
    adjustments: sum("adjustment"),
    net: sum("net"),
  }).toEqual({
    gross_cod: statement.gross_cod,
    fees: statement.fees,
    refunds: statement.refunds,
    adjustments: statement.adjustments,
    net: statement.net,
  });
  expect(rows[3].external_reference_id).toBe(`'=HYPERLINK("http://x.test";"Order")`);
  expect(rows.map(({ delivery_code }) => delivery_code === "")).toEqual(
    [false, false, true, false, false, true],
  );
  const json = await tenant.customer.get(`${statementPath}/${statement.id}`, {
    query: { format: "json" },
  });
  expect(json.body.data.statement.lines).toHaveLength(statement.count);
  expect(
    json.body.data.statement.lines.filter((line: { description: unknown }) => line.description),
  ).toMatchObject([{ kind: "adjustment", amount: 900, description: "Cash desk" }]);
  await setPayouts(tenant, { keep: 0 });
  const next = await opened(tenant);
  const kept = await tenant.ops.get(`${statementPath}/${next.id}`, { query: { format: "csv" } });
  expect(new TextDecoder().decode(kept.body as Uint8Array)).toContain("kept_before,");
});

test("for the office and for the owner, of this company, in a form that there is", async () => {
  const { tenant } = await newMerchant();
  const { id } = await opened(tenant);
  const stranger = await newPerson(tenant.id, "customer", "customer");
  const call = (path: string) => ({ method: "GET", path }) as const;
  const document = (of: string) => call(`${statementPath}/${of}/document`);
  const file = (of: string) => call(`${statementPath}/${of}?format=csv`);
  await expectGuarded(document(id), { denied: [] });
  await expectGuarded(file(id), { denied: [] });
  await expectGuarded(call(`${verifyPath}?hash=${"0".repeat(32)}`), { denied: [] });
  for (const at of [document, file]) {
    await expectNoSuch(tenant.ops, at("{id}"), "id", "statement_not_found", others.id);
    for (const person of [stranger, tenant.driver, tenant.warehouse]) {
      expect(await person.get(at(id).path)).toFailWith(404, "statement_not_found");
    }
  }
  const refused = await tenant.ops.get(`${statementPath}/${id}?format=xml`);
  expect(refused).toFailWith(400, "validation_failed");
  expect(refused.body.field).toBe("format");
});
