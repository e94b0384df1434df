/** The barcodes of a batch on paper: every one that is unused, in order, readable by a scanner. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { openPdf, scan } from "../../support/pdf.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";

const path = "/delivery/transfer-manifest-barcode-batches";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
});

async function newBatch(quantity: number, of = tenant) {
  const { id, batch_number } = (await of.ops.post(path, { quantity })).body.data;
  const { barcodes } = (await of.ops.get(`${path}/${id}`)).body.data;
  return { id, batch_number, barcodes: barcodes.map((row: { barcode: string }) => row.barcode) };
}
const print = async (id: string, query: Record<string, string> = {}, by = tenant.ops) => {
  const answer = await by.get(`${path}/${id}/labels`, { query });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/pdf");
  return await openPdf(answer.body);
};

test("a sheet has 24 labels, row by row; the next begins where it ends", async () => {
  const { id, batch_number, barcodes } = await newBatch(30);
  const pdf = await print(id);
  expect(pdf.pages).toBe(2);
  expect(await pdf.size(1)).toEqual({
    width: expect.closeTo(210, 1),
    height: expect.closeTo(297, 1),
  });
  expect((await scan(await pdf.raster(1))).sort()).toEqual(barcodes.slice(0, 24).sort());
  expect((await scan(await pdf.raster(2))).sort()).toEqual(barcodes.slice(24).sort());
  const text = await pdf.text(2);
  expect(text).toContain(batch_number);
  expect(text).toContain("30/30");
  expect(text.indexOf(barcodes[24])).toBeLessThan(text.indexOf(barcodes[29]));
});

test("a roll has a page for each, in order; its bars are read", async () => {
  const { id, barcodes } = await newBatch(3);
  const pdf = await print(id, { layout: "roll" }, tenant.staff);
  expect(pdf.pages).toBe(3);
  expect(await pdf.size(1)).toEqual({
    width: expect.closeTo(62, 1),
    height: expect.closeTo(29, 1),
  });
  for (const page of [1, 2, 3]) {
    expect(await scan(await pdf.raster(page))).toEqual([barcodes[page - 1]]);
  }
});

test("what is used is not printed again unless it is asked for", async () => {
  const { id, barcodes } = await newBatch(2);
  await sql`update delivery.transfer_barcodes set status = 'used' where barcode = ${barcodes[0]}`;
  const pdf = await print(id, { layout: "roll" });
  expect(pdf.pages).toBe(1);
  expect(await scan(await pdf.raster(1))).toEqual([barcodes[1]]);
  expect(await (await print(id, { layout: "roll", status: "used" })).text(1)).toContain(
    barcodes[0],
  );
  expect((await print(id, { layout: "roll", status: "all" })).pages).toBe(2);
  await sql`update delivery.transfer_barcodes set status = 'used' where barcode = ${barcodes[1]}`;
  expect(await tenant.ops.get(`${path}/${id}/labels`)).toFailWith(409, "barcode_batch_has_none");
});

test("the largest batch is printed whole", async () => {
  const { id, barcodes } = await newBatch(1_000);
  const pdf = await print(id);
  expect(pdf.pages).toBe(42);
  expect(await pdf.text(42)).toContain(barcodes[999]);
});

test("for the office and the institution it is for; others, and other companies, get none", async () => {
  const made = await tenant.ops.post(path, {
    quantity: 1,
    institution_user_id: tenant.institution.id,
  });
  const { id } = made.body.data;
  const call = { method: "GET" as const, path: `${path}/${id}/labels` };
  expect((await print(id, {}, tenant.institution)).pages).toBe(1);
  expect(await tenant.institution2.get(call.path)).toFailWith(404, "barcode_batch_not_found");
  await expectGuarded(call, {
    denied: [tenant.customer, tenant.driver],
    feature: "transfer_manifest",
  });
  const foreign = await newBatch(1, other);
  await expectNoSuch(
    tenant.ops,
    { ...call, path: `${path}/{id}/labels` },
    "batch_id",
    "barcode_batch_not_found",
    foreign.id,
  );
  for (const query of [{ layout: "a5" }, { status: "lost" }] as Record<string, string>[]) {
    const refused = await tenant.ops.get(call.path, { query });
    expect(refused).toFailWith(400, "validation_failed");
    expect(refused.body.field).toBe(Object.keys(query)[0]);
  }
});
