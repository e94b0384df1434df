import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import { branchesOf, feature } from "../../support/network.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectPaged } from "../../support/promises.ts";

const all = "/delivery/institution-branches";

let tenant: Tenant;
let other: Tenant;
let point: string;
let address: string;
let branches: Record<"north" | "south" | "closed" | "theirs", string>;
let foreign: string;

const mine = (branch = "") => branchesOf(tenant.institution.id, branch);

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  address = await newAddress(tenant);
  point = await newProcessingPoint(tenant, address);
  const make = (code: string, institution = tenant.institution.id) =>
    newBranch(tenant, { code, address, point, institution });
  branches = {
    north: await make("NORTH"),
    south: await make("SOUTH_100%"),
    closed: await make("CLOSED"),
    theirs: await make("EAST", tenant.institution2.id),
  };
  await sql`update delivery.institution_branches set is_active = false where id = ${branches.closed}`;
  foreign = await newBranch(other, { code: "FOREIGN" });
});

const ids = (answer: { body: { data: { id: string }[] } }) =>
  answer.body.data.map((row) => row.id).sort();
const sorted = (...list: string[]) => [...list].sort();

function row(id: string, code: string) {
  return {
    id,
    institution_user_id: tenant.institution.id,
    name: expect.any(String),
    code,
    address_id: address,
    default_processing_point_id: point,
    contact_info: { phone: "+9647711111111" },
    metadata: {},
    is_active: true,
    created_at: expect.any(String),
    updated_at: expect.any(String),
    address: expect.objectContaining({ id: address, city: "Baghdad", zone_id: null }),
    default_processing_point: { id: point, name: expect.any(String), code: expect.any(String) },
    institution_user: {
      id: tenant.institution.id,
      full_name: expect.any(String),
      phone: expect.any(String),
    },
  };
}

describe("the branches of an institution", () => {
  test("are listed with address, default point and institution, in use or not", async () => {
    const answer = await tenant.staff.get(mine(), { query: { search: "north" } });
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      data: [row(branches.north, "NORTH")],
      pagination: { page: 1, limit: 20, total: 1, total_pages: 1 },
    });
    expect(ids(await tenant.staff.get(mine()))).toEqual(
      sorted(branches.north, branches.south, branches.closed),
    );
    expect(ids(await tenant.staff.get(mine(), { query: { is_active: false } }))).toEqual([
      branches.closed,
    ]);
    expect(ids(await tenant.staff.get(mine(), { query: { search: "0%" } }))).toEqual([
      branches.south,
    ]);
    // The path names the institution; a query cannot name another.
    const query = { institution_user_id: tenant.institution2.id };
    expect(ids(await tenant.staff.get(mine(), { query }))).toHaveLength(3);
  });

  test("are paged and sorted", async () => {
    const listed = await newTenant();
    for (let i = 0; i < 5; i++) await newBranch(listed);
    await expectPaged(listed.ops, branchesOf(listed.institution.id), "code");
    await expectPaged(listed.ops, all, "name");
  });

  test("are 404 for an unknown institution; one without branches has an empty list", async () => {
    await expectNoSuch(
      tenant.ops,
      { method: "GET", path: branchesOf("{id}") },
      "institution_user_id",
      "institution_not_found",
      other.institution.id,
    );
    const empty = await newTenant();
    const answer = await empty.ops.get(branchesOf(empty.institution.id));
    expect(answer.body.data).toEqual([]);
    expect(answer.body.pagination).toEqual({ page: 1, limit: 20, total: 0, total_pages: 0 });
  });

  test("are seen by the institution itself and not by another", async () => {
    expect(ids(await tenant.institution.get(mine()))).toHaveLength(3);
    expect(await tenant.institution2.get(mine())).toFailWith(404, "institution_not_found");
    await expectGuarded({ method: "GET", path: mine() }, {
      denied: [tenant.driver, tenant.customer],
      feature,
    });
  });
});

describe("the tenant-wide list", () => {
  test("has the branches in use, and others when asked", async () => {
    const answer = await tenant.staff.get(all);
    expect(ids(answer)).toEqual(sorted(branches.north, branches.south, branches.theirs));
    expect(answer.body.pagination.total).toBe(3);
    expect(answer.body.data.find((each: { id: string }) => each.id === branches.north)).toEqual(
      row(branches.north, "NORTH"),
    );
    expect(ids(await tenant.staff.get(all, { query: { is_active: false } }))).toEqual([
      branches.closed,
    ]);
    const query = { institution_user_id: tenant.institution2.id };
    expect(ids(await tenant.staff.get(all, { query }))).toEqual([branches.theirs]);
    const foreigner = { institution_user_id: other.institution.id };
    expect(ids(await tenant.staff.get(all, { query: foreigner }))).toEqual([]);
    const wrong = await tenant.staff.get(all, { query: { institution_user_id: "x" } });
    expect(wrong).toFailWith(400, "invalid_uuid");
    expect(wrong.body.field).toBe("institution_user_id");
  });

  test("shows drivers every branch and institutions their own", async () => {
    expect(ids(await tenant.driver.get(all))).toHaveLength(3);
    expect(ids(await tenant.institution2.get(all))).toEqual([branches.theirs]);
    await expectGuarded({ method: "GET", path: all }, { denied: [tenant.customer], feature });
  });
});

describe("one branch", () => {
  test("is shown in full to staff, drivers and its institution", async () => {
    for (const person of [tenant.staff, tenant.driver, tenant.institution]) {
      const answer = await person.get(mine(branches.north));
      expect(answer).toSucceed(200);
      expect(answer.body.data).toEqual(row(branches.north, "NORTH"));
    }
    expect(await tenant.institution2.get(mine(branches.north))).toFailWith(
      404,
      "branch_not_found",
    );
  });

  test("is found under its own institution only", async () => {
    await expectNoSuch(
      tenant.ops,
      { method: "GET", path: mine("{id}") },
      "branch_id",
      "branch_not_found",
      foreign,
    );
    for (const institution of [tenant.institution2.id, other.institution.id, randomUUID()]) {
      const answer = await tenant.ops.get(branchesOf(institution, branches.north));
      expect(answer).toFailWith(404, "branch_not_found");
    }
    await expectGuarded({ method: "GET", path: mine(branches.north) }, {
      denied: [tenant.customer],
      feature,
    });
  });
});

describe("looking a branch up by its code", () => {
  const byCode = (code: string) => `${all}/by-code/${encodeURIComponent(code)}`;

  test("finds exactly that code, as a driver's scan needs it", async () => {
    for (const person of [tenant.driver, tenant.ops, tenant.institution]) {
      const answer = await person.get(byCode("NORTH"));
      expect(answer).toSucceed(200);
      expect(answer.body.data).toEqual(row(branches.north, "NORTH"));
    }
    expect((await tenant.driver.get(byCode("SOUTH_100%"))).body.data.id).toBe(branches.south);
    for (const code of ["north", "NORT", "NORTH%", "SOUTH", "FOREIGN", "by-code"]) {
      expect(await tenant.driver.get(byCode(code))).toFailWith(404, "branch_not_found");
    }
  });

  test("finds codes with slashes and Arabic letters", async () => {
    for (const code of ["فرع ١/٢", "A/B?c#d"]) {
      const id = await newBranch(tenant, { code });
      expect((await tenant.driver.get(byCode(code))).body.data.id).toBe(id);
    }
  });

  test("leaves out branches out of use unless include_inactive is asked", async () => {
    expect(await tenant.driver.get(byCode("CLOSED"))).toFailWith(404, "branch_not_found");
    const query = { include_inactive: true };
    const answer = await tenant.driver.get(byCode("CLOSED"), { query });
    expect(answer.body.data).toMatchObject({ id: branches.closed, is_active: false });
    const without = await tenant.driver.get(byCode("CLOSED"), {
      query: { include_inactive: false },
    });
    expect(without).toFailWith(404, "branch_not_found");
    const wrong = await tenant.driver.get(byCode("CLOSED"), { query: { include_inactive: "yes" } });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("include_inactive");
  });

  test("a code of several institutions is ambiguous, with a summary of each", async () => {
    const first = await newBranch(tenant, { code: "TWICE" });
    const second = await newBranch(tenant, {
      code: "TWICE",
      institution: tenant.institution2.id,
    });
    const answer = await tenant.driver.get(byCode("TWICE"));
    expect(answer).toFailWith(409, "branch_code_ambiguous");
    const summaries = answer.body.branches as { id: string }[];
    expect(summaries.map((each) => each.id).sort()).toEqual(sorted(first, second));
    expect(summaries.find((each) => each.id === first)).toEqual({
      id: first,
      name: expect.any(String),
      code: "TWICE",
      is_active: true,
      institution_user_id: tenant.institution.id,
      institution_user: {
        id: tenant.institution.id,
        full_name: expect.any(String),
        phone: expect.any(String),
      },
    });
    // An institution has only its own branch of that code, so nothing is ambiguous for it.
    expect((await tenant.institution.get(byCode("TWICE"))).body.data.id).toBe(first);
    const arabic = await tenant.driver.in("ar").get(byCode("TWICE"));
    expect(arabic.body.message).toBe("لدى عدة مؤسسات فرع بهذا الرمز. اختر واحدًا منها.");
    await sql`update delivery.institution_branches set is_active = false where id = ${second}`;
    expect((await tenant.driver.get(byCode("TWICE"))).body.data.id).toBe(first);
    const query = { include_inactive: true };
    expect(await tenant.driver.get(byCode("TWICE"), { query })).toFailWith(
      409,
      "branch_code_ambiguous",
    );
  });

  test("is guarded, and refuses codes that cannot be", async () => {
    await expectGuarded({ method: "GET", path: byCode("NORTH") }, {
      denied: [tenant.customer],
      feature,
    });
    for (const code of ["x".repeat(65), " ", "\u0000"]) {
      const answer = await tenant.driver.get(byCode(code));
      expect(answer.status).toBe(400);
      expect(answer.body.success).toBe(false);
    }
  });
});
