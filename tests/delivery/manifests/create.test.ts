import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import { countManifests, manifestRequest, newBarcode } from "../../support/manifests.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const path = "/delivery/transfer-manifests";
let tenant: Tenant;
let branch: string;

beforeAll(async () => {
  tenant = await newTenant();
  branch = await newBranch(tenant);
});

const request = (more: Record<string, unknown> = {}) => manifestRequest(tenant, branch, more);

describe("a new manifest", () => {
  test("is a draft with a number, a snapshot of where it comes from, and its items in scan order", async () => {
    const [first, second] = [newBarcode(), newBarcode()];
    const address = await newAddress(tenant, { city: "Erbil" });
    const spaced = `${second.slice(0, 6).toLowerCase()} ${second.slice(6).toLowerCase()}`;
    const answer = await tenant.ops.post(
      path,
      request({
        driver_id: tenant.driver.id,
        source_address_id: address,
        notes: "Fragile",
        items: [
          {
            barcode_value: first,
            destination_branch_id: branch,
            package_details: { items: [{ weight: 2, length: 1, width: 1, height: 1 }] },
            metadata: { shelf: "A" },
          },
          {
            barcode_value: spaced,
            package_details: {
              items: [{ quantity: "2", weight: " 1.5 ", length: "0", width: "", height: null }],
            },
          },
        ],
      }),
    );
    expect(answer).toSucceed(201);
    const { data } = answer.body;
    expect(data).toMatchObject({
      status: "draft",
      creation_source: "form",
      notes: "Fragile",
      institution: { id: tenant.institution.id },
      source_branch: { id: branch },
      driver: { id: tenant.driver.id },
      source_address_id: address,
      items_count: 2,
      received_count: 0,
      open_exceptions_count: 0,
      counts: { total: 2, picked_up: 2, remaining: 2, void: 0 },
      proofs: [],
      created_by: tenant.ops.id,
    });
    expect(data.manifest_number).toMatch(/^TM-\d{6,}$/);
    expect(data.source_snapshot).toMatchObject({
      branch: { id: branch, contact_info: { phone: "+9647711111111" } },
      address: { id: address, city: "Erbil" },
      institution: { id: tenant.institution.id },
    });
    expect(
      data.items.map((item: Record<string, unknown>) => [item.barcode_value, item.position]),
    ).toEqual([[first, 1], [second, 2]]);
    expect(data.items[0]).toMatchObject({
      status: "picked_up",
      destination_branch_id: branch,
      metadata: { shelf: "A" },
      package_details: { items: [{ weight: 2, length: 1, width: 1, height: 1 }] },
    });
    // Measurements may be written as text, as a price is asked with.
    expect(data.items[1].package_details).toEqual({
      items: [{ quantity: 2, weight: 1.5, length: 0, width: null, height: null }],
    });
    const events =
      await sql`select event_type, payload from delivery.transfer_manifest_events where manifest_id = ${data.id} order by id`;
    expect(events.map((event) => event.event_type)).toEqual(["manifest_created", "items_added"]);
    expect(events[0].payload).toMatchObject({
      manifest_id: data.id,
      manifest_number: data.manifest_number,
      actor_id: tenant.ops.id,
      processing_point_id: data.processing_point_id,
      creation_source: "form",
    });
  });

  test("keeps its snapshot when the branch and its address change", async () => {
    const place = await newAddress(tenant, { city: "Basra" });
    const moving = await newBranch(tenant, { address: place });
    const made = await tenant.ops.post(path, request({ source_branch_id: moving }));
    expect(made).toSucceed(201);
    expect(made.body.data.source_address_id).toBe(place);
    await sql`update delivery.addresses set city = 'Mosul' where id = ${place}`;
    await sql`update delivery.institution_branches set name = 'Renamed' where id = ${moving}`;
    const read = await tenant.ops.get(`${path}/${made.body.data.id}`);
    expect(read.body.data.source_branch.name).toBe("Renamed");
    expect(read.body.data.source_snapshot).toEqual(made.body.data.source_snapshot);
  });

  test("has the next number of its tenant, and a refused one takes none", async () => {
    const fresh = await newTenant();
    const mine = await newBranch(fresh);
    const make = (source_branch_id: string) =>
      fresh.ops.post(path, {
        institution_user_id: fresh.institution.id,
        source_branch_id,
        creation_source: "form",
        items: [{ barcode_value: "DM0000000014IQ" }],
      });
    expect((await make(mine)).body.data.manifest_number).toBe("TM-000001");
    expect(await make(mine)).toFailWith(409, "barcode_already_used");
    const next = await fresh.ops.post(path, {
      institution_user_id: fresh.institution.id,
      source_branch_id: mine,
      creation_source: "item_scan",
    });
    expect(next.body.data.manifest_number).toBe("TM-000002");
  });

  test("is made once for one Idempotency-Key; other input with it is a conflict", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const before = await countManifests(tenant);
    const first = await tenant.ops.post(path, request(), { headers });
    const again = await tenant.ops.post(path, request(), { headers });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await tenant.ops.post(path, request({ notes: "x" }), { headers }))
      .toFailWith(409, "idempotency_conflict");
    expect(await countManifests(tenant)).toBe(before + 1);
  });
});

describe("who may make which manifest", () => {
  const toggles = {
    form: "allow_driver_create_manifest_from_form",
    institution_qr: "allow_driver_scan_institution_qr",
    item_scan: "allow_driver_scan_item_barcode",
  };

  test.each(Object.entries(toggles))(
    "a driver makes one by %s only where the settings allow it",
    async (creation_source, toggle) => {
      const own = await newTenant();
      const from = await newBranch(own);
      const body = {
        institution_user_id: own.institution.id,
        source_branch_id: from,
        creation_source,
      };
      const set = (values: Record<string, unknown>) =>
        saveSettings(own.id, "delivery.transfer_manifest", values);
      const all = Object.fromEntries(Object.values(toggles).map((name) => [name, true]));
      await set({ ...all, [toggle]: false });
      const refused = await own.driver.post(path, body);
      expect(refused).toFailWith(403, "manifest_workflow_not_allowed");
      expect(refused.body.creation_source).toBe(creation_source);
      expect(await own.ops.post(path, body)).toSucceed(201);
      expect(await own.institution.post(path, body)).toSucceed(201);
      await set({ [toggle]: true });
      const made = await own.driver.post(path, body);
      expect(made).toSucceed(201);
      expect(made.body.data.driver.id).toBe(own.driver.id);
    },
  );

  test("by default a driver may use the form and nothing else", async () => {
    expect(await tenant.driver.post(path, request())).toSucceed(201);
    for (const creation_source of ["institution_qr", "item_scan"]) {
      expect(await tenant.driver.post(path, request({ creation_source })))
        .toFailWith(403, "manifest_workflow_not_allowed");
    }
  });

  test("a stored toggle that is no boolean counts as its default", async () => {
    const own = await newTenant();
    await saveSettings(own.id, "delivery.transfer_manifest", {
      allow_driver_create_manifest_from_form: "maybe",
      proof_settings: { pickup: "none" },
    });
    const answer = await own.driver.post(path, {
      institution_user_id: own.institution.id,
      source_branch_id: await newBranch(own),
      creation_source: "form",
    });
    expect(answer).toSucceed(201);
    expect(answer.body.data.proofRequirements.pickup).toEqual({
      photo_required: true,
      signature_required: false,
    });
  });

  test("a driver makes none for another driver, an institution none for another institution", async () => {
    expect(await tenant.driver.post(path, request({ driver_id: tenant.driver2.id })))
      .toFailWith(403, "forbidden");
    expect(await tenant.driver.post(path, request({ driver_id: tenant.driver.id }))).toSucceed(201);
    expect(await tenant.institution2.post(path, request())).toFailWith(403, "forbidden");
    const made = await tenant.institution.post(path, request({ driver_id: tenant.driver2.id }));
    expect(made).toSucceed(201);
    expect(made.body.data.driver.id).toBe(tenant.driver2.id);
    const alone = await tenant.institution.post(path, request());
    expect(alone.body.data.driver).toBeNull();
  });

  test("a driver chooses the processing point only where the settings let drivers", async () => {
    const own = await newTenant();
    const from = await newBranch(own);
    const point = await newProcessingPoint(own);
    const body = {
      institution_user_id: own.institution.id,
      source_branch_id: from,
      creation_source: "form",
      processing_point_id: point,
    };
    expect(await own.driver.post(path, body)).toFailWith(
      403,
      "processing_point_choice_not_allowed",
    );
    expect((await own.ops.post(path, body)).body.data.processing_point_id).toBe(point);
    await saveSettings(own.id, "delivery.transfer_manifest", {
      allow_driver_select_processing_point: true,
    });
    expect((await own.driver.post(path, body)).body.data.processing_point_id).toBe(point);
  });
});
