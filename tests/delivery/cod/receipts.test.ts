/** Receipts: printed behind the scenes, failed and printed again, first prints, verified. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { newCash } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { openPdf, scan } from "../../support/pdf.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

async function settled(language: "en" | "ar" | "ku" = "en", count = 2): Promise<string> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await newCash(a, { customerName: "سارة Naz 24" })).id);
  const answer = await a.dispatcher.in(language).post("/delivery/cod-collections/remit", {
    scope: "selected",
    cod_collection_ids: ids,
  });
  expect(answer).toSucceed(200);
  return answer.body.data.settlement_payment_id;
}

const receiptPath = (payment: string) => `/delivery/cod-settlements/${payment}/receipt`;

async function printed(payment: string) {
  for (let i = 0; i < 400; i++) {
    const answer = await a.dispatcher.get(receiptPath(payment));
    if (answer.status !== 202) return answer;
    expect(answer.body).toMatchObject({ success: true, settlement_payment_id: payment });
    expect(["pending", "in_process"]).toContain(answer.body.receipt_status);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the receipt was never printed");
}

test("a receipt is printed after the settlement, and opened by a link that is new each time", async () => {
  const payment = await settled();
  const answer = await printed(payment);
  expect(answer).toSucceed(200);
  expect(answer.body).toEqual({
    success: true,
    message: expect.any(String),
    settlement_payment_id: payment,
    receipt_status: "success",
    url: expect.stringContaining("token="),
    expires_at: expect.any(String),
  });
  const file = new Uint8Array(await (await fetch(answer.body.url)).arrayBuffer());
  const pdf = await openPdf(file);
  const [code] = await scan(await pdf.raster(1));
  const verify = new URL(code);
  expect(verify.pathname).toBe(`/functions/v1/delivery/cod-settlements/${payment}/verify`);
  const checked = await a.driver.get(`/delivery/cod-settlements/${payment}/verify`, {
    query: { hash: verify.searchParams.get("hash")! },
  });
  expect(checked.body).toMatchObject({
    valid: true,
    printed: true,
    unchanged: true,
    settlement: { total: 2500, collections: 2 },
  });
  // A signature says when it was made, to the second.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect((await printed(payment)).body.url).not.toBe(answer.body.url);
  const again = await a.dispatcher.post(receiptPath(payment));
  expect(again).toSucceed(200);
  expect(again.body.receipt_status).toBe("success");
});

test("many settlements at once get a receipt each", async () => {
  const cash = await Promise.all(Array.from({ length: 16 }, () => newCash(a)));
  const answers = await Promise.all(
    cash.map(({ id }) =>
      a.dispatcher.post("/delivery/cod-collections/remit", {
        scope: "selected",
        cod_collection_ids: [id],
      })
    ),
  );
  const payments = answers.map((answer) => answer.body.data.settlement_payment_id);
  expect(new Set(payments).size).toBe(16);
  for (const payment of payments) expect(await printed(payment)).toSucceed(200);
  const jobs = await sql`select status, attempts from app.jobs
    where kind = 'delivery.settlement_receipt' and payload ->> 'settlement_payment_id' = any (${payments})`;
  expect(jobs).toEqual(payments.map(() => ({ status: "done", attempts: 1 })));
});

test("verifying finds a forged receipt and a row that was changed afterwards", async () => {
  const payment = await settled();
  const [{ hash }] =
    await sql`select hash from money.settlement_receipts where payment_id = ${payment}`;
  const verify = (value: string) =>
    a.admin.get(`/delivery/cod-settlements/${payment}/verify`, { query: { hash: value } });
  expect((await verify(hash)).body.valid).toBe(true);
  expect((await verify("0".repeat(32))).body).toMatchObject({
    valid: false,
    printed: false,
    unchanged: true,
  });
  await sql.begin(async (tx) => {
    await tx`alter table money.cod_settlement_items disable trigger append_only`;
    await tx`update money.cod_settlement_items set cod_amount = cod_amount - 1, amount = amount - 1 where payment_id = ${payment} and position = 1`;
    await tx`alter table money.cod_settlement_items enable trigger append_only`;
  });
  expect((await verify(hash)).body).toMatchObject({
    valid: false,
    printed: true,
    unchanged: false,
  });
  expect(await verify("short")).toFailWith(400, "validation_failed");
});

test("a failed print is reported, and printed again only by its own call", async () => {
  const payment = await settled();
  expect((await printed(payment)).status).toBe(200);
  await sql`update money.settlement_receipts set status = 'failure', storage_path = null where payment_id = ${payment}`;
  const failed = await a.dispatcher.get(receiptPath(payment));
  expect(failed).toFailWith(409, "settlement_receipt_failed");
  expect(failed.body.receipt_status).toBe("failure");
  const [one, two] = await Promise.all([
    a.dispatcher.post(receiptPath(payment)),
    a.driver.post(receiptPath(payment)),
  ]);
  expect([one.status, two.status]).toEqual([202, 202]);
  expect(await printed(payment)).toSucceed(200);
  const [{ jobs }] =
    await sql`select count(*)::int as jobs from app.jobs where kind = 'delivery.settlement_receipt'
    and payload ->> 'settlement_payment_id' = ${payment}`;
  expect(jobs).toBe(2);
});

test("a receipt is printed anew in another language, and what was printed first stays valid", async () => {
  const payment = await settled("en");
  expect(await printed(payment)).toSucceed(200);
  const receipt = async () =>
    (await sql`select * from money.settlement_receipts where payment_id = ${payment}`)[0];
  const first = await receipt();
  expect((await a.dispatcher.post(receiptPath(payment), { language: "en" })).status).toBe(200);
  expect((await receipt()).edition).toBe(1);
  // Two who ask for the same language at once get one edition.
  const asked = await Promise.all([
    a.dispatcher.post(receiptPath(payment), { language: "ar" }),
    a.driver.post(receiptPath(payment), { language: "ar" }),
  ]);
  for (const answer of asked) expect([200, 202]).toContain(answer.status);
  const answer = await printed(payment);
  expect(answer).toSucceed(200);
  const second = await receipt();
  expect(second).toMatchObject({ language: "ar", edition: 2, hash: first.hash });
  expect(second.storage_path).not.toBe(first.storage_path);
  const text = async (url: string) =>
    await (await openPdf(new Uint8Array(await (await fetch(url)).arrayBuffer()))).text(1);
  expect(await text(answer.body.url)).not.toContain("Cash settlement receipt");
  const checked = await a.admin.get(`/delivery/cod-settlements/${payment}/verify`, {
    query: { hash: first.hash },
  });
  expect(checked.body).toMatchObject({ valid: true, printed: true, unchanged: true });
  for (const body of [{ language: "ar" }, { language: null }, undefined]) {
    expect((await a.dispatcher.send("POST", receiptPath(payment), body)).status).toBe(200);
  }
  const refused = await a.dispatcher.post(receiptPath(payment), { language: "fr" });
  expect(refused).toFailWith(400, "validation_failed");
  expect(refused.body.field).toBe("language");
  expect(await nobody.post(receiptPath(payment), { language: "ku" }))
    .toFailWith(401, "unauthorized");
  expect(await b.admin.post(receiptPath(payment), { language: "ku" }))
    .toFailWith(404, "settlement_not_found");
  expect((await receipt()).edition).toBe(2);
});

test("a receipt counts an order whose cash was taken at both of its ends once", async () => {
  const { id, delivery } = await newCash(a, { cod: 1000, fee: 0 });
  const beside = await newCash(a, { cod: 0, fee: 250 });
  await sql`update money.cod_collections set delivery_id = ${delivery} where id = ${beside.id}`;
  const answer = await a.dispatcher.in("en").post("/delivery/cod-collections/remit", {
    scope: "selected",
    cod_collection_ids: [id, beside.id],
    notes: "Counted twice with the night shift. ".repeat(12),
  });
  expect(answer).toSucceed(200);
  expect(answer.body.data.remitted_count).toBe(2);
  const file = await printed(answer.body.data.settlement_payment_id);
  const pdf = await openPdf(new Uint8Array(await (await fetch(file.body.url)).arrayBuffer()));
  const text = await pdf.text(1);
  expect(text).toContain("Orders: 1");
  expect(text.split("Counted twice").length - 1).toBe(12);
});

test("a receipt whose printer died for good counts as failed", async () => {
  const payment = await settled();
  expect((await printed(payment)).status).toBe(200);
  await sql`alter table money.settlement_receipts disable trigger touch`;
  await sql`update money.settlement_receipts set status = 'in_process', storage_path = null, updated_at = now() - interval '11 minutes'
    where payment_id = ${payment}`;
  await sql`alter table money.settlement_receipts enable trigger touch`;
  expect(Number((await sql`select money.receipts_sweep() as swept`)[0].swept)).toBeGreaterThan(0);
  expect(await a.dispatcher.get(receiptPath(payment))).toFailWith(409, "settlement_receipt_failed");
});

describe("a row settled before settlements were kept", () => {
  async function historical(): Promise<string> {
    const { id } = await newCash(a, { cod: 500, fee: 50 });
    await sql`update money.cod_collections set status = 'remitted', remitted_at = '2025-05-05T10:00:00Z' where id = ${id}`;
    return id;
  }

  test("gets its own settlement at the first print, however many callers print, and no money moves", async () => {
    const [id, other] = [await historical(), await historical()];
    const [{ before }] =
      await sql`select count(*)::int as before from money.ledger_entries where tenant_id = ${a.id}`;
    const clicks = await Promise.all(
      Array.from({ length: 8 }, () => a.dispatcher.post(`/delivery/cod-collections/${id}/receipt`)),
    );
    for (const click of clicks) expect([200, 202]).toContain(click.status);
    expect(new Set(clicks.map(({ body }) => body.settlement_payment_id)).size).toBe(1);
    const payment = clicks[0].body.settlement_payment_id;
    expect(await printed(payment)).toSucceed(200);
    const [settlement] =
      await sql`select * from money.cod_settlements where payment_id = ${payment}`;
    expect(settlement).toMatchObject({ historical: true, collections: 1, total: 550 });
    expect(settlement.settled_at.toISOString()).toBe("2025-05-05T10:00:00.000Z");
    expect(
      (await sql`select settlement_payment_id from money.cod_collections where id = ${other}`)[0]
        .settlement_payment_id,
    ).toBeNull();
    const [{ after }] =
      await sql`select count(*)::int as after from money.ledger_entries where tenant_id = ${a.id}`;
    expect(after).toBe(before);
  });

  test("has no receipt while it is not settled", async () => {
    const { id } = await newCash(a);
    expect(await a.dispatcher.post(`/delivery/cod-collections/${id}/receipt`)).toFailWith(
      400,
      "cod_collection_not_settled",
    );
  });
});

test("others' receipts do not exist", async () => {
  const payment = await settled();
  const [{ id }] =
    await sql`select id from money.cod_collections where settlement_payment_id = ${payment} limit 1`;
  for (const person of [b.admin, b.driver, a.driver2]) {
    expect(await person.get(receiptPath(payment))).toFailWith(404, "settlement_not_found");
    expect(await person.post(receiptPath(payment))).toFailWith(404, "settlement_not_found");
    expect(await person.post(`/delivery/cod-collections/${id}/receipt`)).toFailWith(
      404,
      "cod_collection_not_found",
    );
    expect(
      await person.get(`/delivery/cod-settlements/${payment}/verify`, {
        query: { hash: "0".repeat(32) },
      }),
    )
      .toFailWith(404, "settlement_not_found");
  }
  expect(await a.ops.get(receiptPath(payment))).toFailWith(403, "forbidden");
  expect(await nobody.get(receiptPath(payment))).toFailWith(401, "unauthorized");
});
