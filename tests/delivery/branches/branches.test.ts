import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import {
  branchesOf,
  branchRow,
  feature,
  type Network,
  newNetwork,
  points,
} from "../../support/network.ts";
import { newPerson } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";

let { tenant, other, address, point, mine, foreignBranch } = {} as Network;
beforeAll(async () => {
  ({ tenant, other, address, point, mine, foreignBranch } = await newNetwork());
});

let serial = 0;
const wanted = (more: Record<string, unknown> = {}) => ({
  name: "Mansour branch",
  code: `MNS-${++serial}`,
  address_id: address,
  default_processing_point_id: point,
  contact_info: { phone: "+9647701112233" },
  metadata: { source: "web" },
  ...more,
});

async function count(): Promise<number> {
  const [row] = await sql`select count(*)::int as n from delivery.institution_branches
    where tenant_id = ${tenant.id}`;
  return row.n;
}

async function inactivePoint(): Promise<string> {
  const id = await newProcessingPoint(tenant, address);
  expect(await tenant.ops.post(`${points}/${id}/deactivate`))
    .toSucceed();
  return id;
}

async function shutOut(): Promise<string> {
  const { id } = await newPerson(tenant.id, "institution", "institution");
  expect(await tenant.admin.put(`/tenants/${tenant.id}/users/${id}`, { is_active: false }))
    .toSucceed(200);
  return id;
}

describe("adding a branch", () => {
  test("answers id, institution_user_id, name and code", async () => {
    const body = wanted();
    const answer = await tenant.ops.post(mine(), body);
    expect(answer).toSucceed(201);
    expect(answer.body.data).toEqual({
      id: expect.any(String),
      institution_user_id: tenant.institution.id,
      name: body.name,
      code: body.code,
    });
    expect(await branchRow(answer.body.data.id)).toMatchObject({
      tenant_id: tenant.id,
      institution_user_id: tenant.institution.id,
      address_id: address,
      default_processing_point_id: point,
      contact_info: { phone: "+9647701112233" },
      metadata: { source: "web" },
      is_active: true,
    });
    const bare = await tenant.ops.post(mine(), { name: "B", code: "BARE", address_id: address });
    expect((await branchRow(bare.body.data.id)).default_processing_point_id).toBeNull();
  });

  test("a code is taken once per institution, not per tenant", async () => {
    const body = wanted();
    expect(await tenant.ops.post(mine(), body)).toSucceed(201);
    expect(await tenant.ops.post(mine(), body)).toFailWith(409, "branch_code_exists");
    expect(await tenant.ops.post(branchesOf(tenant.institution2.id), body)).toSucceed(201);
  });

  test("of many at once with one code exactly one is added", async () => {
    const body = wanted();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => tenant.ops.post(mine(), body)),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(11).fill(409)]);
    const [row] = await sql`select count(*)::int as n from delivery.institution_branches
      where tenant_id = ${tenant.id} and code = ${body.code}`;
    expect(row.n).toBe(1);
  });

  test("institution, address and point must be the tenant's and fit", async () => {
    const before = await count();
    for (const id of [randomUUID(), other.institution.id, tenant.customer.id, tenant.ops.id]) {
      const answer = await tenant.ops.post(branchesOf(id), wanted());
      expect(answer).toFailWith(404, "institution_not_found");
    }
    expect(await tenant.ops.post(branchesOf(await shutOut()), wanted()))
      .toFailWith(409, "institution_inactive");
    const [customers] =
      await sql`insert into delivery.addresses (tenant_id, full_address, owner_user_id)
      values (${tenant.id}, 'Home', ${tenant.customer.id}) returning id`;
    for (const address_id of [randomUUID(), await newAddress(other), customers.id]) {
      const answer = await tenant.ops.post(mine(), wanted({ address_id }));
      expect(answer).toFailWith(404, "address_not_found");
    }
    for (const default_processing_point_id of [randomUUID(), await newProcessingPoint(other)]) {
      const answer = await tenant.ops.post(mine(), wanted({ default_processing_point_id }));
      expect(answer).toFailWith(404, "processing_point_not_found");
    }
    const closed = wanted({ default_processing_point_id: await inactivePoint() });
    expect(await tenant.ops.post(mine(), closed)).toFailWith(409, "processing_point_inactive");
    expect(await count()).toBe(before);
  });

  test("may stand at an address of its institution, which drivers then see", async () => {
    const own = await tenant.institution.post("/delivery/addresses", { full_address: "Gate 3" });
    const answer = await tenant.ops.post(mine(), wanted({ address_id: own.body.data.id }));
    expect(answer).toSucceed(201);
    const seen = await tenant.driver.get(mine(answer.body.data.id));
    expect(seen.body.data.address.full_address).toBe("Gate 3");
  });

  test("wrong input is refused with the field's name", async () => {
    const before = await count();
    await expectRefused(tenant.ops, { method: "POST", path: mine() }, [
      [{}, "name"],
      [wanted({ name: "" }), "name"],
      [wanted({ name: "x".repeat(501) }), "name"],
      [wanted({ code: " " }), "code"],
      [wanted({ code: "x".repeat(65) }), "code"],
      [wanted({ address_id: 5 }), "address_id", "invalid_uuid"],
      [wanted({ default_processing_point_id: "x" }), "default_processing_point_id", "invalid_uuid"],
      [wanted({ contact_info: "phone" }), "contact_info"],
      [wanted({ contact_info: { phone: 7 } }), "contact_info.phone"],
      [wanted({ metadata: [] }), "metadata"],
    ]);
    expect((await tenant.ops.post(mine(), wanted({ name: "\u0000" }))).status).toBe(400);
    expect(await tenant.ops.post(branchesOf("x"), wanted())).toFailWith(400, "invalid_uuid");
    expect(await count()).toBe(before);
  });

  test("is for operations staff where the switch is on, and repeats by key are harmless", async () => {
    const { warehouse, staff, driver, institution, customer } = tenant;
    await expectGuarded({ method: "POST", path: mine(), body: wanted() }, {
      denied: [warehouse, staff, driver, institution, customer],
      feature,
    });
    await expectReplayed(tenant.ops, mine(), wanted(), wanted());
  });

  test("refusals speak the reader's language", async () => {
    const body = wanted();
    await tenant.ops.post(mine(), body);
    const arabic = await tenant.ops.in("ar").post(mine(), body);
    expect(arabic.body.message).toBe("يوجد فرع آخر لهذه المؤسسة بالرمز نفسه.");
    const kurdish = await tenant.ops.in("ku").post(mine(), body);
    expect(kurdish.body.message).toBe("لقێکی تری ئەم دامەزراوەیە هەمان کۆدی هەیە.");
  });
});

describe("changing a branch", () => {
  test("takes name, default point, contact, metadata and whether it is in use, and nothing else", async () => {
    const id = await newBranch(tenant, { address, point });
    const before = await branchRow(id);
    const next = await newProcessingPoint(tenant, address);
    const answer = await tenant.ops.patch(mine(id), {
      name: "New",
      default_processing_point_id: next,
      contact_info: { phone: "٠٧٧٠١٢٣٤٥٦٧" },
      metadata: { a: 1 },
      code: "OTHER",
      institution_user_id: tenant.institution2.id,
    });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      id,
      name: "New",
      code: before.code,
      is_active: true,
      institution_user_id: tenant.institution.id,
      contact_info: { phone: "07701234567" },
      metadata: { a: 1 },
      default_processing_point: { id: next },
      address: { id: address },
    });
    const cleared = await tenant.ops.patch(mine(id), { default_processing_point_id: null });
    expect(cleared.body.data.default_processing_point).toBeNull();
    expect(cleared.body.data).toMatchObject({
      name: "New",
      contact_info: { phone: "07701234567" },
      metadata: { a: 1 },
    });
    const silent = await tenant.ops.patch(mine(id), { contact_info: { phone: "" } });
    expect(silent.body.data.contact_info).toEqual({});
    expect(await tenant.ops.patch(mine(id), {})).toSucceed(200);
  });

  test("is refused for wrong input, wrong people and other tenants' ids, and leaves it alone", async () => {
    const id = await newBranch(tenant, { address, point });
    const before = await branchRow(id);
    const call = { method: "PATCH", path: mine(id), body: { name: "X" } } as const;
    await expectRefused(tenant.ops, call, [
      [{ name: "" }, "name"],
      [{ name: null }, "name"],
      [{ default_processing_point_id: "x" }, "default_processing_point_id", "invalid_uuid"],
      [{ contact_info: null }, "contact_info"],
      [{ contact_info: { phone: 7 } }, "contact_info.phone"],
      [{ metadata: "x" }, "metadata"],
    ]);
    for (
      const [point, status, code] of [
        [randomUUID(), 404, "processing_point_not_found"],
        [await newProcessingPoint(other), 404, "processing_point_not_found"],
        [await inactivePoint(), 409, "processing_point_inactive"],
      ] as const
    ) {
      const body = { name: "X", default_processing_point_id: point };
      expect(await tenant.ops.patch(mine(id), body)).toFailWith(status, code);
    }
    const { warehouse, driver, institution, customer } = tenant;
    await expectGuarded(call, { denied: [warehouse, driver, institution, customer], feature });
    await expectNoSuch(
      tenant.ops,
      { ...call, path: mine("{id}") },
      "branch_id",
      "branch_not_found",
      foreignBranch,
    );
    const strange = await tenant.ops.patch(branchesOf(tenant.institution2.id, id), { name: "X" });
    expect(strange).toFailWith(404, "branch_not_found");
    const foreign = await other.ops.patch(branchesOf(tenant.institution.id, id), { name: "X" });
    expect(foreign).toFailWith(404, "branch_not_found");
    expect(await branchRow(id)).toEqual(before);
  });
});
