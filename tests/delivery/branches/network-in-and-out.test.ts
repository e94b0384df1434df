/** Processing points and branches go out of use and come back: by PATCH as by their own call, and what relied on them. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newBranch, newProcessingPoint } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { branchRow, type Network, newNetwork, pointRow, points } from "../../support/network.ts";

let { tenant, other, address, mine } = {} as Network;
beforeAll(async () => {
  ({ tenant, other, address, mine } = await newNetwork());
});

/** Both ways to take a point out of use. */
const ways = [
  ["the call", (id: string) => tenant.ops.post(`${points}/${id}/deactivate`, {})],
  ["PATCH", (id: string) => tenant.ops.patch(`${points}/${id}`, { is_active: false })],
] as const;

describe("a processing point out of use", () => {
  test.each(ways)("by %s is no branch's default any more", async (_, deactivate) => {
    const [point, kept] = [
      await newProcessingPoint(tenant, address),
      await newProcessingPoint(tenant, address),
    ];
    const branch = await newBranch(tenant, { address, point });
    const neighbour = await newBranch(tenant, { address, point: kept });
    const answer = await deactivate(point);
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({ id: point, is_active: false });
    expect((await pointRow(point)).deactivated_at).not.toBeNull();
    const { body } = await tenant.ops.get(mine(branch));
    expect(body.data).toMatchObject({
      default_processing_point_id: null,
      default_processing_point: null,
    });
    expect((await branchRow(neighbour)).default_processing_point_id).toBe(kept);
    const list = await tenant.ops.get(points, { query: { branch_id: branch } });
    expect(list.body.data.filter((row: object) => "is_default" in row)).toEqual([]);
    expect(
      await tenant.ops.post("/delivery/transfer-manifests", {
        institution_user_id: tenant.institution.id,
        source_branch_id: branch,
        creation_source: "form",
      }),
    ).toFailWith(400, "processing_point_required");
  });

  test.each(ways)(
    "is refused by %s while a manifest needs it, and nothing changes",
    async (_, deactivate) => {
      const point = await newProcessingPoint(tenant, address);
      const branch = await newBranch(tenant, { address, point });
      await newManifest(tenant, { status: "draft", branch, point });
      expect(await deactivate(point)).toFailWith(409, "processing_point_in_use");
      expect(await pointRow(point)).toMatchObject({ is_active: true, deactivated_at: null });
      expect((await branchRow(branch)).default_processing_point_id).toBe(point);
    },
  );

  test("and a branch that chooses it at the same moment never keeps it", async () => {
    for (let round = 0; round < 5; round++) {
      const point = await newProcessingPoint(tenant, address);
      const branch = await newBranch(tenant, { address, point });
      const choose = { default_processing_point_id: point };
      const answers = await Promise.all([
        tenant.ops.post(`${points}/${point}/deactivate`, {}),
        tenant.ops.patch(mine(branch), choose),
        tenant.ops.patch(mine(branch), { ...choose, name: "Same" }),
      ]);
      expect(answers[0]).toSucceed(200);
      for (const answer of answers.slice(1)) {
        if (answer.status !== 200) expect(answer).toFailWith(409, "processing_point_inactive");
      }
      expect((await branchRow(branch)).default_processing_point_id).toBeNull();
    }
  });

  test("is restored by PATCH with its code, and is no longer a default", async () => {
    const point = await newProcessingPoint(tenant, address);
    const branch = await newBranch(tenant, { address, point });
    await tenant.ops.post(`${points}/${point}/deactivate`, {});
    const back = await tenant.ops.patch(`${points}/${point}`, { is_active: true });
    expect(back).toSucceed(200);
    expect(back.body.data).toMatchObject({ id: point, is_active: true });
    expect(await pointRow(point)).toMatchObject({ is_active: true, deactivated_at: null });
    expect((await branchRow(branch)).default_processing_point_id).toBeNull();
    expect(await tenant.ops.patch(mine(branch), { default_processing_point_id: point }))
      .toSucceed(200);
    // Fields that are not sent keep their value, and a repetition changes nothing.
    await tenant.ops.patch(`${points}/${point}`, { is_active: false });
    const { deactivated_at } = await pointRow(point);
    await tenant.ops.patch(`${points}/${point}`, { is_active: false, name: "Closed" });
    await tenant.ops.patch(`${points}/${point}`, { metadata: { a: 1 } });
    expect(await pointRow(point)).toMatchObject({
      is_active: false,
      deactivated_at,
      name: "Closed",
      metadata: { a: 1 },
    });
  });

  test("an unknown point is said to be that, whatever else is wrong", async () => {
    for (const id of [randomUUID(), await newProcessingPoint(other)]) {
      for (
        const body of [{ address_id: randomUUID() }, { is_active: false }, { is_active: true }]
      ) {
        expect(await tenant.ops.patch(`${points}/${id}`, body)).toFailWith(
          404,
          "processing_point_not_found",
        );
      }
    }
    const wrong = await tenant.ops.patch(`${points}/${await newProcessingPoint(tenant)}`, {
      is_active: "no",
    });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("is_active");
  });
});

describe("a branch", () => {
  test("sent back with the default it has is not checked against it", async () => {
    const point = await newProcessingPoint(tenant, address);
    const branch = await newBranch(tenant, { address, point });
    // As data from elsewhere may have it; no call leads here.
    await sql`update delivery.transfer_processing_points set is_active = false where id = ${point}`;
    const same = { name: "Again", default_processing_point_id: point };
    expect(await tenant.ops.patch(mine(branch), same)).toSucceed(200);
    expect(await branchRow(branch)).toMatchObject({
      name: "Again",
      default_processing_point_id: point,
    });
    const next = await newBranch(tenant, { address });
    expect(await tenant.ops.patch(mine(next), same)).toFailWith(
      409,
      "processing_point_inactive",
    );
  });

  test("goes out of use by PATCH as by its own call, and comes back", async () => {
    const branch = await newBranch(tenant, { address });
    const closed = await tenant.ops.patch(mine(branch), { is_active: false, name: "Closed" });
    expect(closed).toSucceed(200);
    expect(closed.body.data).toMatchObject({ id: branch, is_active: false, name: "Closed" });
    const { deactivated_at, code } = await branchRow(branch);
    expect(deactivated_at).not.toBeNull();
    await tenant.ops.patch(mine(branch), { is_active: false });
    expect((await branchRow(branch)).deactivated_at).toEqual(deactivated_at);
    const manifest = {
      institution_user_id: tenant.institution.id,
      source_branch_id: branch,
      creation_source: "form",
    };
    expect(await tenant.ops.post("/delivery/transfer-manifests", manifest)).toFailWith(
      409,
      "branch_inactive",
    );
    const back = await tenant.ops.patch(mine(branch), { is_active: true });
    expect(back.body.data).toMatchObject({ id: branch, is_active: true, code });
    expect((await branchRow(branch)).deactivated_at).toBeNull();
    expect(await tenant.ops.post("/delivery/transfer-manifests", manifest)).toSucceed(201);
    const needed = await tenant.ops.patch(mine(branch), { is_active: false, name: "No" });
    expect(needed).toFailWith(409, "branch_in_use");
    expect(await branchRow(branch)).toMatchObject({ is_active: true, name: "Closed" });
    const foreign = await newBranch(other);
    expect(await tenant.ops.patch(mine(foreign), { is_active: false })).toFailWith(
      404,
      "branch_not_found",
    );
    const wrong = await tenant.ops.patch(mine(branch), { is_active: null });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("is_active");
  });

  test.each([{ phone: "" }, { phone: "  " }, { phone: null }, {}])(
    "may be added with the contact %j, which says no phone",
    async (contact) => {
      const answer = await tenant.ops.post(mine(), {
        name: "Quiet",
        code: `Q-${randomUUID()}`,
        address_id: address,
        contact_info: { ...contact, desk: 4 },
      });
      expect(answer).toSucceed(201);
      expect((await branchRow(answer.body.data.id)).contact_info).toEqual({ desk: 4 });
    },
  );
});
