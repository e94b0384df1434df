/** Manifests, people and requests that setting a destination turns away, before anything is written. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql, stack } from "../../support/db.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { newService } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  eventsOf,
  newDestination,
  requestTo,
  setDestination,
  statusOf,
} from "../../support/set-destination.ts";

let tenant: Tenant;
let service: string;
let request: ReturnType<typeof requestTo>;

beforeAll(async () => {
  const made = await newDestination();
  ({ tenant, service } = made);
  request = requestTo(made);
});

describe("a manifest that may not be used refuses the whole request before any write", () => {
  test.each(["draft", "picked_up", "in_transit", "completed", "cancelled"] as const)(
    "%s",
    async (status) => {
      const items = status === "completed" || status === "cancelled"
        ? [{ status: "void" as const }]
        : 1;
      const bad = await newManifest(tenant, { status, items });
      const good = await newManifest(tenant, { items: 1 });
      const answer = await tenant.dispatcher.post(
        setDestination,
        request([good.itemIds[0], bad.itemIds[0]]),
      );
      expect(answer).toFailWith(409, "manifest_bulk_order_creation_not_allowed");
      expect(answer.body).toMatchObject({
        manifest_id: bad.id,
        manifest_number: bad.number,
        manifest_status: status,
      });
      expect(answer.body.message).toContain(bad.number);
      expect(await statusOf(bad.id)).toBe(status);
      expect(await statusOf(good.id)).toBe("awaiting_receipt");
      expect(await eventsOf(good.id)).toEqual({});
    },
  );

  test("completed, also by items that have their order; the call that made it is still answered by its key", async () => {
    const manifest = await newManifest(tenant, { items: 1 });
    const key = { headers: { "idempotency-key": randomUUID() } };
    const made = await tenant.dispatcher.post(setDestination, request(manifest.itemIds), key);
    expect(made.body.data.created_count).toBe(1);
    for (const step of ["start-processing", "complete"]) {
      const path = `/delivery/transfer-manifests/${manifest.id}/${step}`;
      expect(await tenant.dispatcher.post(path)).toSucceed(200);
    }
    const good = await newManifest(tenant, { items: 1 });
    const answer = await tenant.dispatcher.post(
      setDestination,
      request([good.itemIds[0], manifest.itemIds[0]]),
    );
    expect(answer).toFailWith(409, "manifest_bulk_order_creation_not_allowed");
    expect(answer.body).toMatchObject({ manifest_id: manifest.id, manifest_status: "completed" });
    expect(await eventsOf(good.id)).toEqual({});
    const replayed = await tenant.dispatcher.post(setDestination, request(manifest.itemIds), key);
    expect(replayed.body).toEqual(made.body);
  });

  test("no arrival", async () => {
    const manifest = await newManifest(tenant, { arrived: false });
    expect(await tenant.dispatcher.post(setDestination, request(manifest.itemIds))).toFailWith(
      409,
      "manifest_arrival_required",
    );
    expect(await statusOf(manifest.id)).toBe("awaiting_receipt");
  });

  test.each([[[]], [["photo"]], [["signature"]]] as const)(
    "delivery proof %j is not enough",
    async (delivery) => {
      const manifest = await newManifest(tenant, {
        proof: { pickup: ["photo"], delivery: [...delivery] },
      });
      expect(await tenant.dispatcher.post(setDestination, request(manifest.itemIds))).toFailWith(
        409,
        "manifest_delivery_proof_required",
      );
    },
  );

  test("a received manifest without receipt fields", async () => {
    const manifest = await newManifest(tenant, { status: "received", receipt: false });
    expect(await tenant.dispatcher.post(setDestination, request(manifest.itemIds))).toFailWith(
      409,
      "manifest_bulk_receipt_incomplete",
    );
  });

  test.each(["received", "received_with_exceptions", "processing"] as const)(
    "but %s with received items is a safe retry: status unchanged, no receiving events",
    async (status) => {
      const manifest = await newManifest(tenant, { status, items: [{ status: "received" }] });
      expect(
        (await tenant.dispatcher.post(setDestination, request(manifest.itemIds))).body.data
          .created_count,
      ).toBe(1);
      expect(await statusOf(manifest.id)).toBe(status);
      expect(await eventsOf(manifest.id)).toEqual({ order_created: 1 });
    },
  );
});

describe("who and what is refused", () => {
  test("no token, wrong people, gate off before validation", async () => {
    expect(await nobody.post(setDestination, {})).toFailWith(401, "unauthorized");
    for (const person of [tenant.driver, tenant.institution, tenant.customer, tenant.staff]) {
      expect(await person.post(setDestination, { nonsense: true })).toFailWith(403, "forbidden");
    }
    const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
    expect(await off.dispatcher.post(setDestination, { nonsense: true })).toFailWith(
      403,
      "transfer_manifest_disabled",
    );
  });

  test.each<[string, Record<string, unknown>, number, string, string]>([
    ["no items", { item_ids: [] }, 400, "validation_failed", "item_ids"],
    ["items missing", { item_ids: undefined }, 400, "validation_failed", "item_ids"],
    ["one malformed id", { item_ids: [randomUUID(), "x"] }, 400, "invalid_uuid", "item_ids.1"],
    [
      "two destinations",
      { destination_address_id: randomUUID() },
      400,
      "one_destination_required",
      "destination_branch_id",
    ],
    [
      "no destination",
      { destination_branch_id: undefined },
      400,
      "one_destination_required",
      "destination_branch_id",
    ],
    [
      "no service and no default",
      { delivery_service_id: undefined },
      400,
      "delivery_service_id_required",
      "delivery_service_id",
    ],
    [
      "unknown service",
      { delivery_service_id: randomUUID() },
      404,
      "service_not_found",
      "delivery_service_id",
    ],
    [
      "unknown branch",
      { destination_branch_id: randomUUID() },
      404,
      "branch_not_found",
      "destination_branch_id",
    ],
  ])("%s", async (_, change, status, code, field) => {
    const manifest = await newManifest(tenant, { items: 1 });
    const answer = await tenant.dispatcher.post(setDestination, request(manifest.itemIds, change));
    expect(answer).toFailWith(status, code);
    expect(answer.body.field).toBe(field);
    expect(await statusOf(manifest.id)).toBe("awaiting_receipt");
  });

  test("another tenant's items, branch, address and service are as unknown as any", async () => {
    const other = await newTenant();
    const foreign = await newManifest(other, { items: 1 });
    const mine = await newManifest(tenant, { items: 1 });
    const { body } = await tenant.dispatcher.post(
      setDestination,
      request([foreign.itemIds[0], mine.itemIds[0]]),
    );
    expect(body.data.failed).toMatchObject([{
      item_id: foreign.itemIds[0],
      code: "item_not_found",
      manifest_id: null,
    }]);
    expect(await statusOf(foreign.id)).toBe("awaiting_receipt");
    const [theirBranch, theirAddress, theirService] = [
      await newBranch(other),
      await newAddress(other),
      await newService(other),
    ];
    const next = await newManifest(tenant, { items: 1 });
    for (
      const [change, code] of [
        [{ destination_branch_id: theirBranch }, "branch_not_found"],
        [
          { destination_branch_id: null, destination_address_id: theirAddress },
          "address_not_found",
        ],
        [{ delivery_service_id: theirService }, "service_not_found"],
      ] as const
    ) {
      expect(await tenant.dispatcher.post(setDestination, request(next.itemIds, change)))
        .toFailWith(
          404,
          code,
        );
    }
    expect(
      await tenant.dispatcher.post(setDestination, request(next.itemIds), {
        query: { tenant_id: other.id },
      }),
    ).toFailWith(403, "forbidden");
  });

  test("a batch is made for the system alone", async () => {
    const batch = "/delivery/internal/manifest-order-batches";
    expect(await nobody.post(batch, {})).toFailWith(401, "unauthorized");
    expect(await tenant.admin.post(batch, {})).toFailWith(403, "forbidden");
  });

  test.for(["address_not_found", "branch_not_found"] as const)(
    "a place that is gone when a batch is made fails the item (%s) and makes no order",
    async (code) => {
      const { itemIds } = await newManifest(tenant, { status: "received", items: 1 });
      const read = () =>
        sql`select status, delivery_id from delivery.transfer_manifest_items
          where tenant_id = ${tenant.id} and id = ${itemIds[0]}`;
      const before = await read();
      const place = code === "address_not_found"
        ? { address_id: randomUUID(), branch_id: null }
        : { address_id: await newAddress(tenant), branch_id: randomUUID() };
      const answer = await nobody.post(
        `/delivery/internal/manifest-order-batches?tenant_id=${tenant.id}`,
        {
          item_ids: itemIds,
          destination: {
            ...place,
            service_id: service,
            recipient: { name: "Lana", phone: null },
          },
        },
        { headers: { apikey: stack.secretKey } },
      );
      expect(answer.body.failures).toEqual([{ item_id: itemIds[0], code }]);
      expect(await read()).toEqual(before);
    },
  );
});
