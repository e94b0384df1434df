import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { buildBarcode, parseBarcode } from "../../../shared/schemas/barcode.ts";
import { sql } from "../../support/db.ts";
import { newBranch } from "../../support/make.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectPaged,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";

const path = "/delivery/transfer-manifest-barcode-batches";
const feature = "transfer_manifest";

let tenant: Tenant;
let other: Tenant;
let branch: string;
let foreignBranch: string;
let foreignBatch: string;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  branch = await newBranch(tenant);
  foreignBranch = await newBranch(other);
  foreignBatch = (await other.ops.post(path, { quantity: 1 })).body.data.id;
});

async function serialsOf(tenantId: string): Promise<number[]> {
  const rows =
    await sql`select barcode from delivery.transfer_barcodes where tenant_id = ${tenantId}`;
  return rows.map((row) => parseBarcode(row.barcode)!.serial).sort((a, b) => a - b);
}

async function batchCount(): Promise<number> {
  const [row] =
    await sql`select count(*)::int as n from delivery.transfer_barcode_batches where tenant_id = ${tenant.id}`;
  return row.n;
}

describe("making barcodes", () => {
  test("answers number, quantity, first and last barcode; serials continue where they ended", async () => {
    const own = await newTenant();
    const first = await own.ops.post(path, { quantity: 3 });
    expect(first).toSucceed(201);
    expect(first.body.data).toEqual({
      id: expect.any(String),
      batch_number: "BB-000001",
      quantity: 3,
      first_barcode: "DM0000000014IQ",
      last_barcode: "DM0000000031IQ",
    });
    const second = await own.dispatcher.post(path, { quantity: 1, service_indicator: "ZB" });
    expect(second.body.data).toMatchObject({
      batch_number: "BB-000002",
      quantity: 1,
      first_barcode: buildBarcode("ZB", 4, "IQ"),
      last_barcode: buildBarcode("ZB", 4, "IQ"),
    });
    expect(await serialsOf(own.id)).toEqual([1, 2, 3, 4]);
  });

  test("the issuer is the tenant's country, IQ where that says nothing", async () => {
    const own = await newTenant({ settings: { "general.domestic_country": { code: "jo" } } });
    const answer = await own.ops.post(path, { quantity: 1 });
    expect(answer.body.data.first_barcode).toBe(buildBarcode("DM", 1, "JO"));
    await saveSettings(own.id, "general.domestic_country", { code: "Iraq" });
    const fallback = await own.ops.post(path, { quantity: 1 });
    expect(fallback.body.data.first_barcode).toBe(buildBarcode("DM", 2, "IQ"));
  });

  test("a thousand come in order, all valid, all unused", async () => {
    const own = await newTenant();
    const { data } = (await own.ops.post(path, { quantity: 1000 })).body;
    const read = await own.staff.get(`${path}/${data.id}`);
    expect(read).toSucceed(200);
    const expected = Array.from({ length: 1000 }, (_, i) => buildBarcode("DM", i + 1, "IQ"));
    expect(read.body.data.barcodes).toEqual(
      expected.map((barcode) => ({ barcode, status: "unused" })),
    );
    expect(data).toMatchObject({ first_barcode: expected[0], last_barcode: expected[999] });
  });

  test("twenty batches at once never share a serial or a number", async () => {
    const own = await newTenant();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => own.ops.post(path, { quantity: 50 })),
    );
    for (const answer of answers) expect(answer).toSucceed(201);
    const numbers = answers.map((answer) => answer.body.data.batch_number);
    expect(new Set(numbers).size).toBe(20);
    expect(await serialsOf(own.id)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1));
    for (const answer of answers) {
      const [first, last] = [answer.body.data.first_barcode, answer.body.data.last_barcode]
        .map((barcode: string) => parseBarcode(barcode)!.serial);
      expect(last - first).toBe(49);
    }
  });

  test("when serials run out the batch is refused whole, and a smaller one still fits", async () => {
    const own = await newTenant();
    await sql`insert into app.counters (tenant_id, counter, value) values (${own.id}, 'transfer_barcodes', 999999997)`;
    expect(await own.ops.post(path, { quantity: 3 })).toFailWith(409, "barcode_serials_exhausted");
    expect(await serialsOf(own.id)).toEqual([]);
    const fits = await own.ops.post(path, { quantity: 2 });
    expect(fits.body.data.last_barcode).toBe("DM9999999999IQ");
    const arabic = await own.ops.in("ar").post(path, { quantity: 1 });
    expect(arabic).toFailWith(409, "barcode_serials_exhausted");
    expect(arabic.body.message).toBe("لم تتبقَّ أرقام تسلسلية كافية للباركود لهذه الدفعة.");
    const kurdish = await own.ops.in("ku").post(path, { quantity: 1 });
    expect(kurdish.body.message).toBe("ژمارەی زنجیرەیی بارکۆدی پێویست بۆ ئەم کۆمەڵەیە نەماوە.");
  });

  test("a branch brings its institution along; both must be the tenant's and fit", async () => {
    const made = await tenant.ops.post(path, { quantity: 1, branch_id: branch });
    const [row] =
      await sql`select * from delivery.transfer_barcode_batches where id = ${made.body.data.id}`;
    expect(row).toMatchObject({
      branch_id: branch,
      institution_user_id: tenant.institution.id,
      created_by: tenant.ops.id,
    });
    const before = await batchCount();
    for (const institution_user_id of [randomUUID(), other.institution.id, tenant.customer.id]) {
      expect(await tenant.ops.post(path, { quantity: 1, institution_user_id })).toFailWith(
        404,
        "institution_not_found",
      );
    }
    for (
      const where of [
        { branch_id: randomUUID() },
        { branch_id: foreignBranch },
        { branch_id: branch, institution_user_id: tenant.institution2.id },
      ]
    ) {
      const answer = await tenant.ops.post(path, { quantity: 1, ...where });
      expect(answer).toFailWith(404, "branch_not_found");
      expect(answer.body.field).toBe("branch_id");
    }
    expect(await batchCount()).toBe(before);
  });

  test("wrong input is refused with the field's name", async () => {
    const before = await batchCount();
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "quantity"],
      [{ quantity: 0 }, "quantity"],
      [{ quantity: 1001 }, "quantity"],
      [{ quantity: 1.5 }, "quantity"],
      [{ quantity: "5" }, "quantity"],
      [{ quantity: 1, institution_user_id: "x" }, "institution_user_id", "invalid_uuid"],
      [{ quantity: 1, branch_id: 7 }, "branch_id", "invalid_uuid"],
      [{ quantity: 1, service_indicator: "dm" }, "service_indicator"],
      [{ quantity: 1, service_indicator: "DMX" }, "service_indicator"],
      [{ quantity: 1, service_indicator: "D1" }, "service_indicator"],
      [{ quantity: 1, service_indicator: "D\u0000" }, "service_indicator"],
    ]);
    expect(await batchCount()).toBe(before);
  });

  test("is for operations staff where the switch is on, and repeats by key are harmless", async () => {
    const { warehouse, staff, driver, institution, customer } = tenant;
    await expectGuarded({ method: "POST", path, body: { quantity: 1 } }, {
      denied: [warehouse, staff, driver, institution, customer],
      feature,
    });
    const before = await batchCount();
    await expectReplayed(tenant.ops, path, { quantity: 2 }, { quantity: 3 });
    expect(await batchCount()).toBe(before + 1);
  });
});

describe("reading batches", () => {
  test("the list shows each with how many barcodes are used", async () => {
    const own = await newTenant();
    const place = await newBranch(own);
    for (const body of [{ quantity: 2, branch_id: place }, { quantity: 3 }, { quantity: 4 }]) {
      await own.ops.post(path, body);
    }
    await sql`update delivery.transfer_barcodes set status = 'used' where tenant_id = ${own.id} and barcode = 'DM0000000014IQ'`;
    const answer = await own.staff.get(path, { query: { branch_id: place } });
    expect(answer.body.data).toEqual([{
      id: expect.any(String),
      batch_number: "BB-000001",
      quantity: 2,
      service_indicator: "DM",
      issuer: "IQ",
      institution_user_id: own.institution.id,
      branch_id: place,
      first_barcode: "DM0000000014IQ",
      last_barcode: buildBarcode("DM", 2, "IQ"),
      used_count: 1,
      created_at: expect.any(String),
    }]);
    expect(answer.body.pagination).toEqual({ page: 1, limit: 20, total: 1, total_pages: 1 });
    const detail = await own.staff.get(`${path}/${answer.body.data[0].id}`);
    expect(detail.body.data).toEqual({
      ...answer.body.data[0],
      barcodes: [
        { barcode: "DM0000000014IQ", status: "used" },
        { barcode: buildBarcode("DM", 2, "IQ"), status: "unused" },
      ],
    });
    const found = await own.staff.get(path, { query: { search: "bb-000003" } });
    expect(found.body.data.map((row: { quantity: number }) => row.quantity)).toEqual([4]);
    await expectPaged(own.staff, path, "quantity");
    const wrong = await own.staff.get(path, { query: { branch_id: "x" } });
    expect(wrong).toFailWith(400, "invalid_uuid");
  });

  test("institutions see the batches made for them", async () => {
    const own = await newTenant();
    const post = (institution_user_id?: string) =>
      own.ops.post(path, { quantity: 1, institution_user_id });
    const theirs = (await post(own.institution.id)).body.data.id;
    const foreign = [(await post(own.institution2.id)).body.data.id, (await post()).body.data.id];
    const list = await own.institution.get(path);
    expect(list.body.data.map((row: { id: string }) => row.id)).toEqual([theirs]);
    expect(await own.institution.get(`${path}/${theirs}`)).toSucceed(200);
    for (const id of foreign) {
      expect(await own.institution.get(`${path}/${id}`)).toFailWith(404, "barcode_batch_not_found");
    }
  });

  test("nobody else does", async () => {
    const made = await tenant.ops.post(path, { quantity: 1 });
    for (const at of [path, `${path}/${made.body.data.id}`]) {
      await expectGuarded({ method: "GET", path: at }, {
        denied: [tenant.driver, tenant.customer],
        feature,
      });
    }
    await expectNoSuch(
      tenant.ops,
      { method: "GET", path: `${path}/{id}` },
      "batch_id",
      "barcode_batch_not_found",
      foreignBatch,
    );
  });
});
