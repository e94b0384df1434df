/** Branches, points and services that a new manifest names. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import { countManifests, manifestRequest, newBarcode } from "../../support/manifests.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/transfer-manifests";
let tenant: Tenant;
let other: Tenant;
let branch: string;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  branch = await newBranch(tenant);
});

const request = (more: Record<string, unknown> = {}) => manifestRequest(tenant, branch, more);

describe("what a manifest names must be there and in use", () => {
  test("without a point of its own it goes to the branch's; without any it is refused", async () => {
    const point = await newProcessingPoint(tenant);
    const settled = await newBranch(tenant, { point });
    const made = await tenant.ops.post(path, request({ source_branch_id: settled }));
    expect(made.body.data.processing_point.id).toBe(point);
    const homeless = await newBranch(tenant);
    await sql`update delivery.institution_branches set default_processing_point_id = null where id = ${homeless}`;
    const refused = await tenant.ops.post(path, request({ source_branch_id: homeless }));
    expect(refused).toFailWith(400, "processing_point_required");
    expect(refused.body.field).toBe("processing_point_id");
  });

  test("unknown ids, and those of another tenant or another institution, are not found", async () => {
    const theirs = {
      branch: await newBranch(other),
      point: await newProcessingPoint(other),
      address: await newAddress(other),
      secondInstitution: await newBranch(tenant, { institution: tenant.institution2.id }),
    };
    const before = [await countManifests(tenant), await countManifests(other)];
    const cases: [Record<string, unknown>, string][] = [
      [{ institution_user_id: other.institution.id }, "institution_not_found"],
      [{ institution_user_id: tenant.driver.id }, "institution_not_found"],
      [{ source_branch_id: theirs.branch }, "branch_not_found"],
      [{ source_branch_id: theirs.secondInstitution }, "branch_not_found"],
      [{ source_branch_id: randomUUID() }, "branch_not_found"],
      [{ processing_point_id: theirs.point }, "processing_point_not_found"],
      [{ driver_id: other.driver.id }, "driver_not_found"],
      [{ driver_id: tenant.customer.id }, "driver_not_found"],
      [{ source_address_id: theirs.address }, "address_not_found"],
      [{ destination_branch_id: theirs.branch }, "branch_not_found"],
      [{ destination_address_id: theirs.address }, "address_not_found"],
      [
        { items: [{ barcode_value: newBarcode(), destination_branch_id: theirs.branch }] },
        "branch_not_found",
      ],
      [
        { items: [{ barcode_value: newBarcode(), destination_address_id: theirs.address }] },
        "address_not_found",
      ],
    ];
    for (const [change, code] of cases) {
      expect(await tenant.ops.post(path, request(change)), JSON.stringify(change)).toFailWith(
        404,
        code,
      );
    }
    expect([await countManifests(tenant), await countManifests(other)]).toEqual(before);
  });

  test("the private address of a customer is no origin, the institution's own is", async () => {
    const at = async (owner: Person) => {
      const id = await newAddress(tenant);
      await sql`update delivery.addresses set owner_user_id = ${owner.id} where id = ${id}`;
      return id;
    };
    const source_address_id = await at(tenant.customer);
    expect(await tenant.ops.post(path, request({ source_address_id })))
      .toFailWith(404, "address_not_found");
    const own = await at(tenant.institution);
    expect(await tenant.ops.post(path, request({ source_address_id: own }))).toSucceed(201);
    expect(await tenant.institution.post(path, request({ source_address_id: own }))).toSucceed(201);
  });

  test("places and people that are out of use take no new manifest", async () => {
    const closed = await newBranch(tenant);
    await sql`update delivery.institution_branches set is_active = false where id = ${closed}`;
    const point = await newProcessingPoint(tenant);
    await sql`update delivery.transfer_processing_points set is_active = false where id = ${point}`;
    const [left, resting] = [
      await newPerson(tenant.id, "driver", "driver"),
      await newPerson(tenant.id, "driver", "driver"),
    ];
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${left.id}`;
    await sql`insert into delivery.drivers (tenant_id, user_id, status) values (${tenant.id}, ${resting.id}, 'inactive')`;
    const gone = await newPerson(tenant.id, "institution", "institution");
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${gone.id}`;
    const cases: [Record<string, unknown>, string][] = [
      [{ source_branch_id: closed }, "branch_inactive"],
      [{ destination_branch_id: closed }, "branch_inactive"],
      [{ processing_point_id: point }, "processing_point_inactive"],
      [{ driver_id: left.id }, "driver_inactive"],
      [{ driver_id: resting.id }, "driver_inactive"],
      [{ institution_user_id: gone.id }, "institution_inactive"],
    ];
    for (const [change, code] of cases) {
      const refused = await tenant.ops.post(path, request(change));
      expect(refused, code).toFailWith(409, code);
      if (code === "driver_inactive") expect(refused.body.field).toBe("driver_id");
    }
    // An institution sees no driver's row, and is told the same.
    expect(await tenant.institution.post(path, request({ driver_id: resting.id })))
      .toFailWith(409, "driver_inactive");
  });

  test("a place in a draft cannot be taken out of use between the check and the write", async () => {
    for (let round = 0; round < 5; round++) {
      const point = await newProcessingPoint(tenant);
      const answers = await Promise.all([
        tenant.ops.post(path, request({ processing_point_id: point })),
        tenant.ops.post(`/delivery/transfer-processing-points/${point}/deactivate`),
      ]);
      const [{ is_active, n }] = await sql`select is_active, (select count(*)::int
        from delivery.transfer_manifests m where m.processing_point_id = p.id) as n
        from delivery.transfer_processing_points p where id = ${point}`;
      expect(is_active ? n : n === 0, JSON.stringify(answers.map((a) => a.body))).toBeTruthy();
      expect(answers.filter((answer) => answer.body.success)).toHaveLength(1);
    }
  });
});
