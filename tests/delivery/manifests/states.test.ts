import { beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  type ItemOptions,
  type MadeManifest,
  type ManifestStatus,
  newBarcode,
  newManifest,
} from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const base = "/delivery/transfer-manifests";
let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

/** The stored state of a manifest: enough to see that a refusal changed nothing. */
async function snapshot(id: string) {
  const [row] = await sql`select to_jsonb(m) - 'updated_at' as manifest,
      (select jsonb_agg(i order by i.position) from delivery.transfer_manifest_items i where i.manifest_id = m.id) as items,
      (select count(*)::int from delivery.transfer_manifest_events e where e.manifest_id = m.id) as events,
      (select count(*)::int from delivery.transfer_manifest_proofs p where p.manifest_id = m.id) as proofs,
      (select count(*)::int from delivery.transfer_manifest_exceptions x where x.manifest_id = m.id) as exceptions
    from delivery.transfer_manifests m where m.id = ${id}`;
  return row;
}

const moves = `
  from                      pickup     depart      arrive            start-receiving  complete-receiving  start-processing  complete   cancel
  draft                     picked_up  .           .                 .                .                   .                 .          cancelled
  picked_up                 .          in_transit  awaiting_receipt  .                .                   .                 .          cancelled
  in_transit                .          .           awaiting_receipt  .                .                   .                 .          cancelled
  awaiting_receipt          .          .           .                 receiving        .                   .                 .          cancelled
  receiving                 .          .           .                 .                received            .                 .          .
  received                  .          .           .                 .                .                   processing        .          .
  received_with_exceptions  .          .           .                 .                .                   processing        .          .
  processing                .          .           .                 .                .                   .                 completed  .
  completed                 .          .           .                 .                .                   .                 .          .
  cancelled                 .          .           .                 .                .                   .                 .          .`;

/** Where each move leads, which is the `to` of its refusal as well. */
const leadsTo: Record<string, string> = {
  pickup: "picked_up",
  depart: "in_transit",
  arrive: "awaiting_receipt",
  "start-receiving": "receiving",
  "complete-receiving": "received",
  "start-processing": "processing",
  complete: "completed",
  cancel: "cancelled",
};

const work = `
  status                    add-item  remove-item  pickup-proof  delivery-proof  receive-items  open-exception
  draft                     yes       yes          yes           .               .              .
  picked_up                 .         .            yes           yes             .              yes
  in_transit                .         .            yes           yes             .              yes
  awaiting_receipt          .         .            .             yes             .              yes
  receiving                 .         .            .             yes             yes            yes
  received                  .         .            .             .               yes            yes
  received_with_exceptions  .         .            .             .               yes            yes
  processing                .         .            .             .               yes            yes
  completed                 .         .            .             .               .              .
  cancelled                 .         .            .             .               .              .`;

interface Cell {
  status: ManifestStatus;
  action: string;
  outcome: string;
}

function cells(table: string): Cell[] {
  const [header, ...rows] = table.trim().split("\n").map((line) => line.trim().split(/\s+/));
  return rows.flatMap(([status, ...outcomes]) =>
    outcomes.map((outcome, index) => ({
      status: status as ManifestStatus,
      action: header[index + 1],
      outcome,
    }))
  );
}

describe("every move in every status", () => {
  test.each(cells(moves))("$status: $action -> $outcome", async ({ status, action, outcome }) => {
    const ended: ItemOptions[] = [{ status: "void" }];
    const manifest = await newManifest(tenant, {
      status,
      proof: true,
      items: action === "complete" ? ended : action === "complete-receiving" ? receivedOnes : 2,
    });
    const before = await snapshot(manifest.id);
    const body = action === "cancel" ? { reason: "not needed" } : {};
    const answer = await tenant.ops.post(`${base}/${manifest.id}/${action}`, body);
    const after = await snapshot(manifest.id);
    if (outcome === ".") {
      expect(answer).toFailWith(409, "invalid_status_transition");
      expect(answer.body).toMatchObject({ from: status, to: leadsTo[action] });
      expect(after).toEqual(before);
    } else {
      expect(answer).toSucceed(200);
      expect(answer.body.data).toMatchObject({ id: manifest.id, status: outcome });
      expect(after.manifest.status).toBe(outcome);
      expect(after.events).toBe(before.events + 1);
    }
  });
});

const receivedOnes: ItemOptions[] = [{ status: "received" }];

const doing: Record<string, (manifest: MadeManifest) => Promise<Answer>> = {
  "add-item": ({ id }) =>
    tenant.ops.post(`${base}/${id}/items`, { items: [{ barcode_value: newBarcode() }] }),
  "remove-item": ({ id, itemIds }) => tenant.ops.delete(`${base}/${id}/items/${itemIds[1]}`),
  "pickup-proof": ({ id }) =>
    tenant.ops.post(`${base}/${id}/proofs`, {
      stage: "pickup",
      photo_urls: ["https://example.com/a.jpg"],
    }),
  "delivery-proof": ({ id }) =>
    tenant.ops.post(`${base}/${id}/proofs`, {
      stage: "delivery",
      photo_urls: ["https://example.com/a.jpg"],
    }),
  "receive-items": ({ id, itemIds }) =>
    tenant.ops.post(`${base}/${id}/receive-items`, { item_ids: [itemIds[1]] }),
  "open-exception": ({ itemIds }) =>
    tenant.ops.post("/delivery/transfer-manifest-exceptions", {
      manifest_item_id: itemIds[1],
      reason: "damaged",
    }),
};

describe("work on a manifest in every status", () => {
  test.each(cells(work))("$status: $action $outcome", async ({ status, action, outcome }) => {
    // A void item is refused for itself; the manifest's status is the question here.
    const items: ItemOptions[] | number = status === "completed" || status === "cancelled"
      ? [{ status: "received" }, { status: "received" }]
      : 2;
    const manifest = await newManifest(tenant, { status, items });
    const before = await snapshot(manifest.id);
    const answer = await doing[action](manifest);
    if (outcome === "yes") expect(answer).toSucceed();
    else {
      expect(answer).toFailWith(409, "manifest_action_not_allowed");
      expect(answer.body).toMatchObject({
        manifest_id: manifest.id,
        manifest_number: manifest.number,
        manifest_status: status,
      });
      expect(await snapshot(manifest.id)).toEqual(before);
    }
  });
});

describe("the database keeps the moves by itself", () => {
  const legalItemMoves = new Set([
    "picked_up>in_transit",
    "picked_up>received",
    "in_transit>received",
    "received>scanned",
    "received>processing",
    "scanned>processing",
    "scanned>received",
    "processing>received",
    "picked_up>void",
    "in_transit>void",
    "received>void",
    "scanned>void",
    "processing>void",
  ]);
  const itemStatuses = ["picked_up", "in_transit", "received", "scanned", "processing", "void"];

  test("an item moves along the legal moves only, whatever a query tries", async () => {
    for (const from of itemStatuses) {
      for (const to of itemStatuses.filter((status) => status !== from)) {
        const manifest = await newManifest(tenant, {
          status: "receiving",
          items: [{ status: from as "received" }],
        });
        const update = sql`update delivery.transfer_manifest_items
          set status = ${to}, received_at = now(), received_by = ${tenant.ops.id} where id = ${
          manifest.itemIds[0]
        }`;
        if (legalItemMoves.has(`${from}>${to}`)) await update;
        else await expect(update, `${from}>${to}`).rejects.toThrow("invalid_status_transition");
      }
    }
  });

  test.each(["picked_up", "in_transit"] as const)(
    "an item that is %s cannot become order_created, not even with a receipt beside it",
    async (status) => {
      const manifest = await newManifest(tenant, { status: "receiving", items: [{ status }] });
      await expect(
        sql`update delivery.transfer_manifest_items set status = 'order_created', received_at = now(),
          received_by = ${tenant.ops.id} where id = ${manifest.itemIds[0]}`,
      ).rejects.toThrow("invalid_status_transition");
    },
  );

  test("a received item without an order cannot be order_created", async () => {
    const manifest = await newManifest(tenant, { status: "received" });
    await expect(
      sql`update delivery.transfer_manifest_items set status = 'order_created' where id = ${
        manifest.itemIds[0]
      }`,
    ).rejects.toMatchObject({ constraint_name: "order_created_means_received" });
  });

  test("a manifest cannot jump over a step or leave its end", async () => {
    const steps: Partial<Record<ManifestStatus, ManifestStatus[]>> = {
      draft: ["picked_up", "cancelled"],
      picked_up: ["in_transit", "awaiting_receipt", "cancelled"],
      in_transit: ["awaiting_receipt", "cancelled"],
      awaiting_receipt: ["receiving", "cancelled"],
      receiving: ["received", "received_with_exceptions"],
      received: ["received_with_exceptions", "processing"],
      received_with_exceptions: ["received", "processing"],
      processing: ["completed"],
      completed: [],
      cancelled: [],
    };
    const all = Object.keys(steps) as ManifestStatus[];
    for (const from of all) {
      const { id } = await newManifest(tenant, { status: from });
      for (const to of all.filter((to) => to !== from && !steps[from]!.includes(to))) {
        await expect(
          sql`update delivery.transfer_manifests set status = ${to} where id = ${id}`,
          `${from}>${to}`,
        ).rejects.toThrow("invalid_status_transition");
      }
    }
  });

  test("no status beside the documented ones can be stored", async () => {
    const { id, itemIds } = await newManifest(tenant, { status: "draft" });
    await expect(
      sql`insert into delivery.transfer_manifests select (m).* from (select jsonb_populate_record(m,
        '{"status": "lost", "manifest_number": "TM-X", "id": "00000000-0000-4000-8000-00000000000a"}') as m
        from delivery.transfer_manifests m where m.id = ${id}) x`,
    ).rejects.toMatchObject({ code: "23514" });
    await expect(
      sql`update delivery.transfer_manifest_items set status = 'lost' where id = ${itemIds[0]}`,
    ).rejects.toThrow();
  });

  test("the history cannot be rewritten", async () => {
    const manifest = await newManifest(tenant, { status: "draft" });
    await tenant.ops.post(`${base}/${manifest.id}/cancel`, { reason: "no" });
    await expect(
      sql`update delivery.transfer_manifest_events set event_type = 'x' where manifest_id = ${manifest.id}`,
    ).rejects.toThrow("never changed");
    await expect(
      sql`delete from delivery.transfer_manifest_events where manifest_id = ${manifest.id}`,
    ).rejects.toThrow("never changed");
  });
});
