import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress, newProcessingPoint } from "../../support/make.ts";
import {
  feature,
  type Network,
  newNetwork,
  pointRow,
  points as path,
} from "../../support/network.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";

let { tenant, other, address, foreignAddress, foreignPoint } = {} as Network;
beforeAll(async () => {
  ({ tenant, other, address, foreignAddress, foreignPoint } = await newNetwork());
});

let serial = 0;
const wanted = (more: Record<string, unknown> = {}) => ({
  name: "Karrada hub",
  code: `KRD-${++serial}`,
  address_id: address,
  metadata: { source: "web" },
  ...more,
});

async function countOf(tenantId: string): Promise<number> {
  const [row] = await sql`select count(*)::int as n from delivery.transfer_processing_points
    where tenant_id = ${tenantId}`;
  return row.n;
}

describe("adding a point", () => {
  test("answers id, name, code and is_active, with the documented message", async () => {
    const body = wanted({ name: "  Hub of Karrada  " });
    const answer = await tenant.ops.post(path, body);
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: "created_successfully",
      data: {
        id: expect.any(String),
        name: "Hub of Karrada",
        code: body.code,
        is_active: true,
      },
    });
    expect(await pointRow(answer.body.data.id)).toMatchObject({
      tenant_id: tenant.id,
      address_id: address,
      metadata: { source: "web" },
      is_active: true,
    });
    const arabic = await tenant.ops.in("ar").post(path, wanted());
    expect(arabic.body.message).toBe("created_successfully");
  });

  test("a code is taken once per tenant, also by a point out of use", async () => {
    const body = wanted();
    const first = await tenant.ops.post(path, body);
    await tenant.ops.post(`${path}/${first.body.data.id}/deactivate`);
    expect(await tenant.ops.post(path, body)).toFailWith(409, "processing_point_code_exists");
    expect(await other.ops.post(path, { ...body, address_id: foreignAddress })).toSucceed(201);
  });

  test("of many at once with one code exactly one is added", async () => {
    const body = wanted();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => tenant.ops.post(path, body)),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    for (const answer of answers.filter((each) => each.status !== 201)) {
      expect(answer).toFailWith(409, "processing_point_code_exists");
    }
    const [row] = await sql`select count(*)::int as n from delivery.transfer_processing_points
      where tenant_id = ${tenant.id} and code = ${body.code}`;
    expect(row.n).toBe(1);
  });

  test("the address must be the tenant's own", async () => {
    const before = await countOf(tenant.id);
    const [own] = await sql`insert into delivery.addresses (tenant_id, full_address, owner_user_id)
      values (${tenant.id}, 'Home', ${tenant.customer.id}) returning id`;
    for (const address_id of [foreignAddress, randomUUID(), own.id]) {
      expect(await tenant.ops.post(path, wanted({ address_id }))).toFailWith(
        404,
        "address_not_found",
      );
    }
    expect(await countOf(tenant.id)).toBe(before);
  });

  test("wrong input is refused with the field's name", async () => {
    const before = await countOf(tenant.id);
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "name"],
      [[], "body"],
      [wanted({ name: "" }), "name"],
      [wanted({ name: "   " }), "name"],
      [wanted({ name: 7 }), "name"],
      [wanted({ name: null }), "name"],
      [wanted({ name: "x".repeat(501) }), "name"],
      [wanted({ code: "" }), "code"],
      [wanted({ code: "x".repeat(65) }), "code"],
      [wanted({ code: {} }), "code"],
      [wanted({ address_id: undefined }), "address_id", "validation_failed"],
      [wanted({ address_id: "Baghdad" }), "address_id", "invalid_uuid"],
      [wanted({ metadata: "web" }), "metadata"],
      [wanted({ metadata: ["web"] }), "metadata"],
    ]);
    const answer = await tenant.ops.post(path, '{"name":');
    expect(answer).toFailWith(400, "invalid_json");
    for (const body of [wanted({ name: "a\u0000b" }), wanted({ metadata: { a: "\u0000" } })]) {
      expect((await tenant.ops.post(path, body)).status).toBe(400);
    }
    expect(await countOf(tenant.id)).toBe(before);
  });

  test("only operations staff add points, and only where transfer manifests are on", async () => {
    const { warehouse, staff, driver, institution, customer } = tenant;
    await expectGuarded({ method: "POST", path, body: wanted() }, {
      denied: [warehouse, staff, driver, institution, customer],
      feature,
    });
    for (const person of [tenant.admin, tenant.ops, tenant.dispatcher]) {
      expect(await person.post(path, wanted())).toSucceed(201);
    }
  });

  test("an Idempotency-Key makes a repeat harmless", async () => {
    const body = wanted();
    await expectReplayed(tenant.ops, path, body, wanted());
    const [row] = await sql`select count(*)::int as n from delivery.transfer_processing_points
      where tenant_id = ${tenant.id} and code = ${body.code}`;
    expect(row.n).toBe(1);
  });

  test("refusals speak the reader's language", async () => {
    const body = wanted();
    await tenant.ops.post(path, body);
    const arabic = await tenant.ops.in("ar").post(path, body);
    expect(arabic.body.message).toBe("يوجد رمز مطابق لنقطة معالجة أخرى.");
    const kurdish = await tenant.ops.in("ku").post(path, body);
    expect(kurdish.body.message).toBe("خاڵێکی پرۆسێسکردنی تر هەمان کۆدی هەیە.");
  });
});

describe("one point", () => {
  test("is shown with its address", async () => {
    const id = await newProcessingPoint(tenant, address);
    const answer = await tenant.driver.get(`${path}/${id}`);
    expect(answer).toSucceed(200);
    expect(answer.body.data).toEqual({
      id,
      name: expect.any(String),
      code: expect.any(String),
      address_id: address,
      metadata: {},
      is_active: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      address: {
        id: address,
        title: { en: "Place" },
        full_address: expect.any(String),
        city: "Baghdad",
        country: "IQ",
        latitude: 33.31,
        longitude: 44.36,
        contact_info: { phone: "+9647700000000" },
        zone_id: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    });
    await expectNoSuch(
      tenant.ops,
      { method: "GET", path: `${path}/{id}` },
      "processing_point_id",
      "processing_point_not_found",
      foreignPoint,
    );
    await expectGuarded({ method: "GET", path: `${path}/${id}` }, {
      denied: [tenant.customer],
      feature,
    });
  });

  test("changes in what is sent and nothing else", async () => {
    const id = await newProcessingPoint(tenant, address);
    const before = await pointRow(id);
    const elsewhere = await newAddress(tenant, { city: "Erbil" });
    const renamed = await tenant.ops.patch(`${path}/${id}`, { name: "New name" });
    expect(renamed).toSucceed(200);
    expect(renamed.body.data).toMatchObject({ name: "New name", code: before.code });
    const moved = await tenant.ops.patch(`${path}/${id}`, {
      address_id: elsewhere,
      metadata: { floor: 2 },
      code: "MOVED",
    });
    expect(moved.body.data).toMatchObject({
      name: "New name",
      code: "MOVED",
      address_id: elsewhere,
      metadata: { floor: 2 },
      address: { city: "Erbil" },
      is_active: true,
    });
    expect(await tenant.ops.patch(`${path}/${id}`, {})).toSucceed(200);
    await tenant.ops.patch(`${path}/${id}`, { deactivated_at: "2020-01-01", tenant_id: other.id });
    expect(await pointRow(id)).toMatchObject({ deactivated_at: null, tenant_id: tenant.id });
  });

  test("keeps its code its own when that changes", async () => {
    const id = await newProcessingPoint(tenant, address);
    const neighbour = await pointRow(await newProcessingPoint(tenant, address));
    const mine = await pointRow(id);
    const clash = await tenant.ops.patch(`${path}/${id}`, { code: neighbour.code });
    expect(clash).toFailWith(409, "processing_point_code_exists");
    expect(await tenant.ops.patch(`${path}/${id}`, { code: mine.code })).toSucceed(200);
    expect((await pointRow(id)).code).toBe(mine.code);
  });

  test("is not changed by wrong input, wrong people or another tenant", async () => {
    const id = await newProcessingPoint(tenant, address);
    const before = await pointRow(id);
    const call = { method: "PATCH", path: `${path}/${id}`, body: { name: "X" } } as const;
    await expectRefused(tenant.ops, call, [
      [{ name: "" }, "name"],
      [{ name: null }, "name"],
      [{ code: "" }, "code"],
      [{ code: 5 }, "code"],
      [{ address_id: "x" }, "address_id", "invalid_uuid"],
      [{ metadata: [] }, "metadata"],
    ]);
    const lost = await tenant.ops.patch(call.path, { name: "Y", address_id: foreignAddress });
    expect(lost).toFailWith(404, "address_not_found");
    const { warehouse, driver, institution, customer } = tenant;
    await expectGuarded(call, { denied: [warehouse, driver, institution, customer], feature });
    expect(await other.ops.patch(call.path, { name: "Z" })).toFailWith(
      404,
      "processing_point_not_found",
    );
    expect(await pointRow(id)).toEqual(before);
    await expectNoSuch(
      tenant.ops,
      { ...call, path: `${path}/{id}` },
      "processing_point_id",
      "processing_point_not_found",
      foreignPoint,
    );
  });
});
