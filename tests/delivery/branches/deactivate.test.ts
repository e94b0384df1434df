/** Branches that are taken out of use. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { branchesOf, branchRow, feature, type Network, newNetwork } from "../../support/network.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";

let { tenant, address, point, mine, foreignBranch } = {} as Network;
beforeAll(async () => {
  ({ tenant, address, point, mine, foreignBranch } = await newNetwork());
});

describe("taking a branch out of use", () => {
  const deactivate = (id: string) => tenant.ops.post(`${mine(id)}/deactivate`, {});

  test("keeps the row, and twice is once", async () => {
    const id = await newBranch(tenant, { address, point });
    expect((await deactivate(id)).body.data).toEqual({ id, is_active: false });
    const { deactivated_at } = await branchRow(id);
    expect(deactivated_at).not.toBeNull();
    expect(await deactivate(id)).toSucceed(200);
    expect((await branchRow(id)).deactivated_at).toEqual(deactivated_at);
  });

  test.each(
    [
      ["draft", 409],
      ["awaiting_receipt", 409],
      ["received", 409],
      ["completed", 200],
      ["cancelled", 200],
    ] as const,
  )("with a manifest from it in status %s answers %i", async (status, expected) => {
    const branch = await newBranch(tenant, { address, point });
    await newManifest(tenant, { status, branch, point });
    const answer = await deactivate(branch);
    if (expected === 409) expect(answer).toFailWith(409, "branch_in_use");
    else expect(answer).toSucceed(200);
    expect((await branchRow(branch)).is_active).toBe(expected === 409);
  });

  test("a manifest or a parcel on its way to it counts too", async () => {
    const to = await newBranch(tenant, { address, point });
    const manifest = await newManifest(tenant, { items: [{ destinationBranch: to }] });
    expect(await deactivate(to)).toFailWith(409, "branch_in_use");
    await sql`update delivery.transfer_manifest_items set status = 'void' where manifest_id = ${manifest.id}`;
    expect(await deactivate(to)).toSucceed(200);
    const end = await newBranch(tenant, { address, point });
    await sql`update delivery.transfer_manifests set destination_branch_id = ${end} where id = ${manifest.id}`;
    expect(await deactivate(end)).toFailWith(409, "branch_in_use");
  });

  test("waits for a manifest that is just being made", async () => {
    const branch = await newBranch(tenant, { address, point });
    const manifest = await newManifest(tenant, { status: "draft" });
    let answer: ReturnType<typeof deactivate>;
    let answered = false;
    await sql.begin(async (tx) => {
      await tx`update delivery.transfer_manifests set source_branch_id = ${branch} where id = ${manifest.id}`;
      answer = deactivate(branch).finally(() => (answered = true));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(answered).toBe(false);
    });
    expect(await answer!).toFailWith(409, "branch_in_use");
    expect((await branchRow(branch)).is_active).toBe(true);
  });

  test("and manifests made at the same moment never both succeed", async () => {
    for (let round = 0; round < 4; round++) {
      const branch = await newBranch(tenant, { address, point });
      const make = () =>
        tenant.ops.post("/delivery/transfer-manifests", {
          institution_user_id: tenant.institution.id,
          source_branch_id: branch,
          creation_source: "form",
        });
      const [stopped, ...manifests] = await Promise.all([
        deactivate(branch),
        make(),
        make(),
        make(),
      ]);
      const made = manifests.filter((answer) => answer.status === 201).length;
      for (const refused of manifests.filter((answer) => answer.status !== 201)) {
        expect(refused).toFailWith(409, "branch_inactive");
      }
      if (stopped.status === 200) expect(made).toBe(0);
      else expect(stopped).toFailWith(409, "branch_in_use");
      expect((await branchRow(branch)).is_active).toBe(stopped.status !== 200);
      expect(made).toBe(stopped.status === 200 ? 0 : 3);
    }
  });

  test("is for operations staff of the same tenant", async () => {
    const id = await newBranch(tenant, { address, point });
    const call = { method: "POST", path: `${mine(id)}/deactivate` } as const;
    const { warehouse, driver, institution, customer } = tenant;
    await expectGuarded(call, { denied: [warehouse, driver, institution, customer], feature });
    await expectNoSuch(
      tenant.ops,
      { ...call, path: `${mine("{id}")}/deactivate` },
      "branch_id",
      "branch_not_found",
      foreignBranch,
    );
    const strange = `${branchesOf(tenant.institution2.id, id)}/deactivate`;
    expect(await tenant.ops.post(strange)).toFailWith(404, "branch_not_found");
    expect((await branchRow(foreignBranch)).is_active).toBe(true);
    expect((await branchRow(id)).is_active).toBe(true);
  });
});
