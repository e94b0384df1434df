/** Branches from files; what every import promises stands in tests/shared/import.test.ts. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { type Ground, newGround } from "../../support/deliveries.ts";
import { fingerprintOf } from "../../support/everything.ts";
import { faultsOf, sendFile } from "../../support/files.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
let branches: string;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ground = await newGround(tenant);
  branches = `/delivery/institutions/${tenant.institution.id}/branches/import`;
});

const code = () => `C-${randomUUID().slice(0, 12)}`;

describe("branches", () => {
  test("are added to the institution of the path, in Arabic and Kurdish", async () => {
    const point = await newProcessingPoint(tenant);
    const rows = [
      {
        name: "فرع الكرادة",
        code: code(),
        address_id: ground.from,
        default_processing_point_id: point,
        "contact_info.phone": "'+9647701234567",
        metadata: { floor: 2 },
      },
      { name: "لقی هەولێر", code: code(), address_id: ground.to },
    ];
    const answer = await sendFile(tenant.ops, branches, rows);
    expect(answer).toSucceed(201);
    const stored = await sql`select * from delivery.institution_branches
      where id = any (${answer.body.ids}) order by array_position(${answer.body.ids}::uuid[], id)`;
    expect(stored).toMatchObject([
      {
        tenant_id: tenant.id,
        institution_user_id: tenant.institution.id,
        name: "فرع الكرادة",
        default_processing_point_id: point,
        contact_info: { phone: "+9647701234567" },
        metadata: { floor: 2 },
      },
      { name: "لقی هەولێر", code: rows[1].code, default_processing_point_id: null },
    ]);
  });

  test("what one of them may not be, none of them is", async () => {
    const [taken, twice] = [code(), code()];
    await newBranch(tenant, { code: taken });
    const [foreignAddress, foreignPoint] = [
      await newAddress(other),
      await newProcessingPoint(other),
    ];
    const good = { name: "Branch", address_id: ground.from };
    const rows = [
      { ...good, code: twice },
      { ...good, code: taken },
      { ...good, code: twice },
      { ...good, code: code(), address_id: foreignAddress },
      { ...good, code: code(), default_processing_point_id: foreignPoint },
      { ...good, code: code(), "contact_info.phone": "1" },
      { ...good, code: code() },
    ];
    const faults = [
      [3, "code", "branch_code_exists"],
      [4, "code", "branch_code_exists"],
      [5, "address_id", "address_not_found"],
      [6, "default_processing_point_id", "processing_point_not_found"],
      [7, "contact_info.phone", "validation_failed"],
    ];
    const before = await Promise.all([fingerprintOf(tenant.id), fingerprintOf(other.id)]);
    const refused = await sendFile(tenant.ops, branches, rows);
    expect(refused).toFailWith(400, "import_has_errors");
    expect(faultsOf(refused)).toEqual(faults);
    const dry = await sendFile(tenant.ops, branches, rows, { query: { dry_run: true } });
    expect(dry).toSucceed(200);
    expect(faultsOf(dry)).toEqual(faults);
    expect(dry.body).toMatchObject({ lines: 7, valid: 2 });
    expect(await Promise.all([fingerprintOf(tenant.id), fingerprintOf(other.id)])).toEqual(before);
  });

  test("two files with the same codes at once: one is imported, the other refused line by line", async () => {
    for (let round = 0; round < 3; round++) {
      const rows = Array.from({ length: 40 }, () => ({
        name: "Branch",
        code: code(),
        address_id: ground.from,
      }));
      const answers = await Promise.all(
        [rows, rows].map((file) => sendFile(tenant.ops, branches, file)),
      );
      const [won, lost] = answers.sort((a, b) => a.status - b.status);
      expect(won).toSucceed(201);
      expect(lost).toFailWith(400, "import_has_errors");
      expect(faultsOf(lost)).toEqual(rows.map((_, i) => [i + 2, "code", "branch_code_exists"]));
      const [{ n }] = await sql`select count(*)::int as n from delivery.institution_branches
        where tenant_id = ${tenant.id} and code = any (${rows.map((row) => row.code)})`;
      expect(n).toBe(40);
    }
  });

  test("only by operations, to an institution of the tenant, while manifests are on", async () => {
    const rows = [{ name: "Branch", code: code(), address_id: ground.from }];
    expect(await sendFile(nobody, branches, rows)).toFailWith(401, "unauthorized");
    for (const person of [tenant.staff, tenant.institution, tenant.driver]) {
      expect(await sendFile(person, branches, rows)).toFailWith(403, "forbidden");
    }
    for (const id of [other.institution.id, tenant.customer.id, randomUUID()]) {
      const path = `/delivery/institutions/${id}/branches/import`;
      expect(await sendFile(tenant.ops, path, rows)).toFailWith(404, "institution_not_found");
    }
    const gone = await newPerson(tenant.id, "institution", "institution");
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${gone.id}`;
    expect(await sendFile(tenant.ops, `/delivery/institutions/${gone.id}/branches/import`, rows))
      .toFailWith(409, "institution_inactive");
    const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
    expect(await sendFile(off.ops, branches, "")).toFailWith(403, "transfer_manifest_disabled");
  });
});
