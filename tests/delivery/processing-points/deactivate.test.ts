/** Processing points that are taken out of use. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newProcessingPoint } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import {
  feature,
  type Network,
  newNetwork,
  pointRow,
  points as path,
} from "../../support/network.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";

let { tenant, address, foreignPoint } = {} as Network;
beforeAll(async () => {
  ({ tenant, address, foreignPoint } = await newNetwork());
});

describe("taking a point out of use", () => {
  const deactivate = (id: string) => tenant.ops.post(`${path}/${id}/deactivate`, {});

  test("keeps the row, and twice is once", async () => {
    const id = await newProcessingPoint(tenant, address);
    const first = await deactivate(id);
    expect(first).toSucceed(200);
    expect(first.body.data).toEqual({ id, is_active: false });
    const { deactivated_at } = await pointRow(id);
    expect(deactivated_at).not.toBeNull();
    expect((await deactivate(id)).body.data).toEqual({ id, is_active: false });
    expect((await pointRow(id)).deactivated_at).toEqual(deactivated_at);
    expect((await tenant.ops.get(`${path}/${id}`)).body.data.is_active).toBe(false);
  });

  test.each(
    [
      ["draft", 409],
      ["in_transit", 409],
      ["receiving", 409],
      ["processing", 409],
      ["completed", 200],
      ["cancelled", 200],
    ] as const,
  )("with a manifest in status %s answers %i", async (status, expected) => {
    const point = await newProcessingPoint(tenant, address);
    await newManifest(tenant, { status, point });
    const answer = await deactivate(point);
    if (expected === 409) expect(answer).toFailWith(409, "processing_point_in_use");
    else expect(answer).toSucceed(200);
    expect((await pointRow(point)).is_active).toBe(expected === 409);
  });

  test("waits for a manifest that is just being made", async () => {
    const point = await newProcessingPoint(tenant, address);
    const manifest = await newManifest(tenant, { status: "draft" });
    let answer: ReturnType<typeof deactivate>;
    let answered = false;
    await sql.begin(async (tx) => {
      await tx`update delivery.transfer_manifests set processing_point_id = ${point} where id = ${manifest.id}`;
      answer = deactivate(point).finally(() => (answered = true));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(answered).toBe(false);
    });
    expect(await answer!).toFailWith(409, "processing_point_in_use");
    expect((await pointRow(point)).is_active).toBe(true);
  });

  test("is for operations staff of the same tenant", async () => {
    const id = await newProcessingPoint(tenant, address);
    const call = { method: "POST", path: `${path}/${id}/deactivate` } as const;
    const { warehouse, driver, institution, customer } = tenant;
    await expectGuarded(call, { denied: [warehouse, driver, institution, customer], feature });
    await expectNoSuch(
      tenant.ops,
      { ...call, path: `${path}/{id}/deactivate` },
      "processing_point_id",
      "processing_point_not_found",
      foreignPoint,
    );
    expect((await pointRow(foreignPoint)).is_active).toBe(true);
    expect((await pointRow(id)).is_active).toBe(true);
  });

  test("writes who did it into the audit log", async () => {
    const id = await newProcessingPoint(tenant, address);
    await deactivate(id);
    const [row] = await sql`select * from app.audit_log
      where entity = 'delivery.transfer_processing_points' and entity_id = ${id} and action = 'update'`;
    expect(row).toMatchObject({ tenant_id: tenant.id, actor_id: tenant.ops.id });
    expect(row.before.is_active).toBe(true);
    expect(row.after.is_active).toBe(false);
  });
});
