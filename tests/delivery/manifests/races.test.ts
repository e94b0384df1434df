import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newBranch } from "../../support/make.ts";
import { newBarcode, newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { tally, times } from "../../support/races.ts";

const base = "/delivery/transfer-manifests";
const resolve = "/delivery/transfer-manifest-items/bulk/resolve-exceptions";
const queue = "/delivery/transfer-manifest-exceptions";
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
});

async function count(id: string, event: string): Promise<number> {
  const [{ n }] = await sql`select count(*)::int as n from delivery.transfer_manifest_events
    where manifest_id = ${id} and event_type = ${event}`;
  return n;
}

describe("calls at the same moment", () => {
  test("twenty start receiving: one does, one event, one receiver", async () => {
    const { id } = await newManifest(tenant);
    const people = [tenant.ops, tenant.warehouse, tenant.dispatcher, tenant.admin];
    const answers = await times(20, (i) => people[i % 4].post(`${base}/${id}/start-receiving`));
    expect(tally(answers)).toEqual({ "200": 1, "409 invalid_status_transition": 19 });
    expect(await count(id, "receiving_started")).toBe(1);
    const winner = answers.find((answer) => answer.status === 200)!;
    const [row] =
      await sql`select receiver_id, status from delivery.transfer_manifests where id = ${id}`;
    expect(row).toEqual({ receiver_id: winner.body.data.receiver_id, status: "receiving" });
  });

  test("pickup and cancel: one of them, never both", async () => {
    for (let round = 0; round < 8; round++) {
      const { id } = await newManifest(tenant, { status: "draft" });
      const answers = await Promise.all([
        tenant.driver.post(`${base}/${id}/pickup`, {
          proof: { photo_urls: ["https://example.com/a.jpg"] },
        }),
        tenant.driver.post(`${base}/${id}/cancel`, { reason: "late" }),
      ]);
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
      // A driver who comes second with the cancel may not cancel what they have picked up.
      expect([403, 409]).toContain(answers.find((answer) => answer.status !== 200)!.status);
      const [row] = await sql`select status, (select array_agg(distinct i.status)
        from delivery.transfer_manifest_items i where i.manifest_id = m.id) as items
        from delivery.transfer_manifests m where m.id = ${id}`;
      expect([
        { status: "picked_up", items: ["picked_up"] },
        { status: "cancelled", items: ["void"] },
      ]).toContainEqual(row);
    }
  });

  test("one barcode into two drafts: one gets it, the other hears whose it is not", async () => {
    for (let round = 0; round < 8; round++) {
      const drafts = await times(2, () => newManifest(tenant, { status: "draft", items: [] }));
      const barcode = newBarcode();
      const answers = await times(2, (i) =>
        tenant.ops.post(`${base}/${drafts[i].id}/items`, {
          items: [{ barcode_value: newBarcode() }, { barcode_value: barcode }],
        }));
      expect(tally(answers)).toEqual({ "201": 1, "409 barcode_already_used": 1 });
      expect(answers.find((answer) => answer.status === 409)!.body.barcode_value).toBe(barcode);
      const [{ n }] = await sql`select count(*)::int as n from delivery.transfer_manifest_items
        where tenant_id = ${tenant.id} and manifest_id in ${sql(drafts.map((draft) => draft.id))}`;
      expect(n).toBe(2);
    }
  });

  test("the same barcodes in opposite orders never deadlock", async () => {
    for (let round = 0; round < 5; round++) {
      const drafts = await times(4, () => newManifest(tenant, { status: "draft", items: [] }));
      const barcodes = Array.from({ length: 30 }, () => newBarcode());
      const answers = await times(4, (i) =>
        tenant.ops.post(`${base}/${drafts[i].id}/items`, {
          items: (i % 2 ? [...barcodes].reverse() : barcodes).map((barcode_value) => ({
            barcode_value,
          })),
        }));
      expect(tally(answers)).toEqual({ "201": 1, "409 barcode_already_used": 3 });
    }
  });

  test("many scan into one draft: every item stands once, at a place of its own", async () => {
    const { id } = await newManifest(tenant, { status: "draft", items: [] });
    const answers = await times(12, () =>
      tenant.driver.post(`${base}/${id}/items`, {
        items: [{ barcode_value: newBarcode() }, { barcode_value: newBarcode() }],
      }));
    expect(tally(answers)).toEqual({ "201": 12 });
    const rows =
      await sql`select position from delivery.transfer_manifest_items where manifest_id = ${id} order by position`;
    expect(rows.map((row) => row.position)).toEqual(Array.from({ length: 24 }, (_, i) => i + 1));
  });

  test("many make manifests: numbers follow each other without a hole", async () => {
    const own = await newTenant();
    const branch = await newBranch(own);
    const answers = await times(12, () =>
      own.ops.post(base, {
        institution_user_id: own.institution.id,
        source_branch_id: branch,
        creation_source: "form",
      }));
    const numbers = answers.map((answer) => answer.body.data.manifest_number).sort();
    expect(numbers).toEqual(
      Array.from({ length: 12 }, (_, i) => `TM-${String(i + 1).padStart(6, "0")}`),
    );
  });

  test("two scanners receive the same parcels: each parcel is received once", async () => {
    const { id, itemIds } = await newManifest(tenant, { status: "receiving", items: 10 });
    const answers = await times(
      6,
      (i) =>
        [tenant.ops, tenant.warehouse][i % 2].post(`${base}/${id}/receive-items`, {
          item_ids: i % 2 ? itemIds : [...itemIds].reverse(),
        }),
    );
    expect(tally(answers)).toEqual({ "200": 6 });
    expect(answers.flatMap((answer) => answer.body.data.received_item_ids).sort()).toEqual(
      [...itemIds].sort(),
    );
    expect(await count(id, "item_received")).toBe(10);
  });

  test("receiving ends once, however many callers close it", async () => {
    const { id, itemIds } = await newManifest(tenant, { status: "receiving", items: 3 });
    const answers = await Promise.all([
      ...Array.from(
        { length: 5 },
        () => tenant.ops.post(`${base}/${id}/complete-receiving`, { missing: "exception" }),
      ),
      tenant.warehouse.post(`${base}/${id}/receive-items`, { item_ids: itemIds.slice(0, 2) }),
    ]);
    expect(tally(answers.slice(0, 5))).toEqual({ "200": 1, "409 invalid_status_transition": 4 });
    expect(await count(id, "receiving_completed")).toBe(1);
    const [row] =
      await sql`select received_count, (select count(*)::int from delivery.transfer_manifest_items i
        where i.manifest_id = m.id and i.received_at is not null) as received
      from delivery.transfer_manifests m where m.id = ${id}`;
    expect(row.received_count).toBe(row.received);
  });

  test("one item is put into the queue once", async () => {
    const { id, itemIds } = await newManifest(tenant, { status: "received" });
    const answers = await times(
      8,
      () => tenant.warehouse.post(queue, { manifest_item_id: itemIds[0], reason: "damaged" }),
    );
    expect(tally(answers)).toEqual({ "201": 1, "409 exception_already_open": 7 });
    expect(await count(id, "exception_opened")).toBe(1);
  });

  test("exceptions of two manifests, resolved crosswise: each resolved once, none stuck", async () => {
    for (let round = 0; round < 5; round++) {
      const items = [{ exception: "damaged" }, { exception: "damaged" }];
      const [a, b] = await times(
        2,
        () => newManifest(tenant, { status: "received_with_exceptions", items }),
      );
      const ids = [...a.itemIds, ...b.itemIds];
      const answers = await times(6, (i) =>
        tenant.ops.post(resolve, {
          item_ids: i % 2 ? ids : [...ids].reverse(),
          outcome: i % 3 ? "void" : "reprocess",
        }));
      expect(tally(answers)).toEqual({ "200": 6 });
      const resolved = answers.flatMap((answer) => answer.body.data.resolved);
      expect(resolved.map((entry: { item_id: string }) => entry.item_id).sort()).toEqual(
        [...ids].sort(),
      );
      const rows = await sql`select status from delivery.transfer_manifests where id in ${
        sql([a.id, b.id])
      }`;
      expect(rows.map((row) => row.status)).toEqual(["received", "received"]);
      expect(await count(a.id, "exceptions_cleared")).toBe(1);
    }
  });

  test("a new exception while the last one closes: the manifest's status tells the truth", async () => {
    for (let round = 0; round < 8; round++) {
      const { id, itemIds } = await newManifest(tenant, { status: "received_with_exceptions" });
      const answers = await Promise.all([
        tenant.ops.post(resolve, { manifest_id: id, outcome: "void" }),
        tenant.warehouse.post(queue, { manifest_item_id: itemIds[1], reason: "damaged" }),
      ]);
      expect(answers.map((answer) => answer.body.success)).toEqual([true, true]);
      const [row] = await sql`select status, (select count(*)::int
        from delivery.transfer_manifest_exceptions x where x.manifest_id = m.id and x.status = 'open') as open
        from delivery.transfer_manifests m where m.id = ${id}`;
      expect(row.status).toBe(row.open ? "received_with_exceptions" : "received");
    }
  });
});
