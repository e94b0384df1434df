import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newBarcode, newManifest } from "../../support/manifests.ts";
import { newTenant, type Part, type Tenant } from "../../support/people.ts";

const base = "/delivery/transfer-manifests";
let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const everybody: Part[] = [
  "admin",
  "ops",
  "dispatcher",
  "warehouse",
  "staff",
  "driver",
  "driver2",
  "institution",
  "institution2",
  "customer",
];
const readers = everybody.filter((part) => part !== "customer");
const operators: Part[] = ["admin", "ops", "dispatcher"];
const drivers: Part[] = [...operators, "driver", "driver2"];
const scanners: Part[] = [...operators, "warehouse"];

interface Call {
  says: string;
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: Record<string, unknown>;
  /** Everybody else is refused with 403. */
  may: Part[];
}

const id = ":id";
const create = { institution_user_id: randomUUID(), source_branch_id: randomUUID() };
const calls: Call[] = [
  {
    says: "create",
    method: "POST",
    path: base,
    body: { ...create, creation_source: "form" },
    may: [...drivers, "institution", "institution2"],
  },
  { says: "list", method: "GET", path: base, may: readers },
  { says: "read", method: "GET", path: `${base}/${id}`, may: readers },
  { says: "history", method: "GET", path: `${base}/${id}/events`, may: readers },
  {
    says: "add items",
    method: "POST",
    path: `${base}/${id}/items`,
    body: { items: [{ barcode_value: newBarcode() }] },
    may: drivers,
  },
  {
    says: "remove an item",
    method: "DELETE",
    path: `${base}/${id}/items/${randomUUID()}`,
    may: drivers,
  },
  { says: "pick up", method: "POST", path: `${base}/${id}/pickup`, may: drivers },
  { says: "depart", method: "POST", path: `${base}/${id}/depart`, may: drivers },
  { says: "arrive", method: "POST", path: `${base}/${id}/arrive`, may: drivers },
  {
    says: "add proofs",
    method: "POST",
    path: `${base}/${id}/proofs`,
    body: { stage: "pickup", photo_urls: ["https://example.com/a.jpg"] },
    may: drivers,
  },
  {
    says: "ask for an upload",
    method: "POST",
    path: `${base}/${id}/proof-uploads`,
    body: { stage: "pickup", kind: "photo", content_type: "image/jpeg" },
    may: drivers,
  },
  { says: "start receiving", method: "POST", path: `${base}/${id}/start-receiving`, may: scanners },
  {
    says: "receive items",
    method: "POST",
    path: `${base}/${id}/receive-items`,
    body: { item_ids: [randomUUID()] },
    may: scanners,
  },
  {
    says: "complete receiving",
    method: "POST",
    path: `${base}/${id}/complete-receiving`,
    may: scanners,
  },
  {
    says: "start processing",
    method: "POST",
    path: `${base}/${id}/start-processing`,
    may: scanners,
  },
  { says: "complete", method: "POST", path: `${base}/${id}/complete`, may: scanners },
  {
    says: "cancel",
    method: "POST",
    path: `${base}/${id}/cancel`,
    body: { reason: "x" },
    may: drivers,
  },
  {
    says: "list exceptions",
    method: "GET",
    path: "/delivery/transfer-manifest-exceptions",
    may: [...scanners, "staff"],
  },
  {
    says: "open an exception",
    method: "POST",
    path: "/delivery/transfer-manifest-exceptions",
    body: { manifest_item_id: randomUUID(), reason: "damaged" },
    may: scanners,
  },
  {
    says: "resolve exceptions",
    method: "POST",
    path: "/delivery/transfer-manifest-items/bulk/resolve-exceptions",
    body: { item_ids: [randomUUID()], outcome: "void" },
    may: scanners,
  },
];

const send = (person: Person, call: Call, manifestId: string = randomUUID()) =>
  person.send(
    call.method,
    call.path.replace(id, manifestId),
    call.method === "POST" ? call.body ?? {} : undefined,
  );

describe.each(calls)("$says", (call) => {
  test("is for the right people only, and for nobody without a token", async () => {
    expect(await send(nobody, call)).toFailWith(401, "unauthorized");
    for (const part of everybody) {
      const { status, body } = await send(tenant[part], call);
      // A caller with access passes the access check; the ids are unknown, so 404 or an empty list.
      if (call.may.includes(part)) {
        expect([200, 403, 404], `${part}: ${JSON.stringify(body)}`).toContain(status);
        if (status === 403) expect(`${call.says} ${part}`).toMatch(/^create (driver|institution)/);
      } else expect(`${part} ${status} ${body.code}`).toBe(`${part} 403 forbidden`);
    }
  });

  test("does nothing while manifests are switched off, whatever the input", async () => {
    const off = await newTenant({
      settings: { "delivery.transfer_manifest": { enabled: false } },
    });
    const wrong = { ...call, body: { items: 7, reason: 7, stage: 7 } };
    for (const one of [call, wrong]) {
      expect(await send(off.ops, one, "no-id")).toFailWith(403, "transfer_manifest_disabled");
    }
    expect(await send(off.customer, call)).toFailWith(403, "transfer_manifest_disabled");
  });

  if (call.path.includes(id)) {
    test("finds no manifest of another tenant and no malformed id", async () => {
      const foreign = await newManifest(other, { status: "draft" });
      const before = await sql`select * from delivery.transfer_manifests where id = ${foreign.id}`;
      expect(await send(tenant.ops, call, foreign.id)).toFailWith(404, "manifest_not_found");
      expect(await sql`select * from delivery.transfer_manifests where id = ${foreign.id}`)
        .toEqual(before);
      const malformed = await send(tenant.ops, call, "12");
      expect(malformed).toFailWith(400, "invalid_uuid");
      expect(malformed.body.field).toBe("manifest_id");
    });
  }
});

test("another tenant named in the query is no way in", async () => {
  const foreign = await newManifest(other, { status: "draft" });
  const answer = await tenant.ops.post(`${base}/${foreign.id}/cancel`, { reason: "x" }, {
    query: { tenant_id: other.id },
  });
  expect(answer).toFailWith(403, "forbidden");
});

describe("row-level security, with no endpoint before it", () => {
  /** Runs a statement as the functions would for this person. */
  const as = (person: Person, seesTenant: boolean, statement: string, values: string[]) =>
    sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true),
        set_config('app.user_id', ${person.id}, true),
        set_config('app.grants', private.member_grants(${tenant.id}, ${person.id})::text, true),
        set_config('app.sees_tenant', ${seesTenant ? "on" : "off"}, true),
        set_config('role', 'barid_caller', true)`;
      return await tx.unsafe(statement, values);
    });

  test("a driver or an institution reaches no row of a manifest that is not theirs", async () => {
    const manifest = await newManifest(tenant, { status: "received_with_exceptions" });
    await sql`insert into delivery.transfer_manifest_events (tenant_id, manifest_id, event_type)
      values (${tenant.id}, ${manifest.id}, 'test')`;
    const tables = ["items", "proofs", "exceptions", "events"].map((name) =>
      `delivery.transfer_manifest_${name} where manifest_id = $1`
    );
    for (const rows of ["delivery.transfer_manifests where id = $1", ...tables]) {
      const seenBy = async (person: Person, staff = false) =>
        (await as(person, staff, `select 1 from ${rows}`, [manifest.id])).length;
      expect(await seenBy(tenant.driver), rows).toBeGreaterThan(0);
      expect(await seenBy(tenant.institution), rows).toBeGreaterThan(0);
      expect(await seenBy(tenant.staff, true), rows).toBeGreaterThan(0);
      expect(await seenBy(tenant.driver2), rows).toBe(0);
      expect(await seenBy(tenant.institution2), rows).toBe(0);
    }
    const changed = await as(
      tenant.driver2,
      false,
      "update delivery.transfer_manifest_items set metadata = '{}' where manifest_id = $1 returning id",
      [manifest.id],
    );
    expect(changed).toHaveLength(0);
    for (
      const insert of [
        "transfer_manifest_items (tenant_id, manifest_id, barcode_value, position) values ($1, $2, 'DM9999999999IQ', 99)",
        "transfer_manifest_events (tenant_id, manifest_id, event_type) values ($1, $2, 'x')",
        "transfer_manifest_proofs (tenant_id, manifest_id, stage, kind, url) values ($1, $2, 'pickup', 'photo', 'x')",
      ]
    ) {
      const write = as(tenant.driver2, false, `insert into delivery.${insert}`, [
        tenant.id,
        manifest.id,
      ]);
      await expect(write, insert).rejects.toThrow("row-level security");
    }
  });
});
