import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import { feature, points as path } from "../../support/network.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectPaged } from "../../support/promises.ts";

let other: Tenant;
let foreignPoint: string;

beforeAll(async () => {
  other = await newTenant();
  foreignPoint = await newProcessingPoint(other);
});

describe("the list of processing points", () => {
  let listed: Tenant;
  let points: string[];

  beforeAll(async () => {
    listed = await newTenant();
    const place = await newAddress(listed);
    points = [];
    for (const name of ["Alpha", "Beta", "Gamma 100%", "Delta_1", "Epsilon"]) {
      const answer = await listed.ops.post(path, {
        name,
        code: name.toUpperCase(),
        address_id: place,
      });
      points.push(answer.body.data.id);
    }
    await listed.ops.post(`${path}/${points[4]}/deactivate`);
  });

  const names = (answer: { body: { data: { name: string }[] } }) =>
    answer.body.data.map((row) => row.name);

  test("shows every field of a point and no is_default", async () => {
    const answer = await listed.staff.get(path, { query: { search: "alpha" } });
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      data: [{
        id: points[0],
        name: "Alpha",
        code: "ALPHA",
        address_id: expect.any(String),
        metadata: {},
        is_active: true,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      }],
      pagination: { page: 1, limit: 20, total: 1, total_pages: 1 },
    });
  });

  test("pages, sorts and counts", async () => {
    const plain = await newTenant();
    for (let i = 0; i < 5; i++) await newProcessingPoint(plain);
    await expectPaged(plain.ops, path, "code");
  });

  test("searches name and code, taking % and _ as characters", async () => {
    expect(names(await listed.ops.get(path, { query: { search: "0%" } }))).toEqual(["Gamma 100%"]);
    expect(names(await listed.ops.get(path, { query: { search: "a_1" } }))).toEqual(["Delta_1"]);
    expect(names(await listed.ops.get(path, { query: { search: "BETA" } }))).toEqual(["Beta"]);
    expect(names(await listed.ops.get(path, { query: { search: "\\" } }))).toEqual([]);
    expect(await listed.ops.get(path, { query: { search: "x".repeat(201) } })).toFailWith(
      400,
      "validation_failed",
    );
  });

  test("is_active narrows it both ways", async () => {
    const inactive = await listed.ops.get(path, { query: { is_active: false } });
    expect(names(inactive)).toEqual(["Epsilon"]);
    const active = await listed.ops.get(path, { query: { is_active: true } });
    expect(names(active)).not.toContain("Epsilon");
    expect(active.body.pagination.total).toBe(active.body.data.length);
    const wrong = await listed.ops.get(path, { query: { is_active: "maybe" } });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("is_active");
  });

  test("with branch_id the branch's default comes first on page 1 and alone carries is_default", async () => {
    const branch = await newBranch(listed, { point: points[0] });
    const oldest = await listed.ops.get(path, { query: { limit: 2 } });
    expect(oldest.body.data.map((row: { id: string }) => row.id)).not.toContain(points[0]);
    const answer = await listed.ops.get(path, { query: { branch_id: branch, limit: 2 } });
    expect(answer.body.data[0]).toMatchObject({ id: points[0], is_default: true });
    expect(answer.body.data[1]).not.toHaveProperty("is_default");
    expect(answer.body.pagination.total).toBe(oldest.body.pagination.total);
    const second = await listed.ops.get(path, { query: { branch_id: branch, limit: 2, page: 2 } });
    for (const row of second.body.data) {
      expect(row.id).not.toBe(points[0]);
      expect(row).not.toHaveProperty("is_default");
    }
    const sorted = await listed.ops.get(path, {
      query: { branch_id: branch, sort_by: "name", sort_order: "desc" },
    });
    expect(sorted.body.data[0].id).toBe(points[0]);
  });

  test("a branch of another tenant, or none, prefers nothing", async () => {
    const foreign = await newBranch(other, { point: foreignPoint });
    for (const branch_id of [foreign, randomUUID()]) {
      const answer = await listed.ops.get(path, { query: { branch_id } });
      expect(answer).toSucceed(200);
      for (const row of answer.body.data) expect(row).not.toHaveProperty("is_default");
    }
    expect(await listed.ops.get(path, { query: { branch_id: "x" } })).toFailWith(
      400,
      "invalid_uuid",
    );
  });

  test("shows nothing of another tenant, to whom it may concern only", async () => {
    const answer = await listed.driver.get(path, { query: { limit: 100 } });
    expect(answer).toSucceed(200);
    const ids = answer.body.data.map((row: { id: string }) => row.id);
    expect(ids).toEqual(expect.arrayContaining(points));
    expect(ids).not.toContain(foreignPoint);
    expect(await listed.institution.get(path)).toSucceed(200);
    const asked = await listed.ops.get(path, { query: { tenant_id: other.id } });
    expect(asked).toFailWith(403, "forbidden");
    await expectGuarded({ method: "GET", path }, { denied: [listed.customer], feature });
  });
});
