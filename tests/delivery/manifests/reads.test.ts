import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/transfer-manifests";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

async function idsOf(person: Person, query: Record<string, string | number> = {}) {
  const answer = await person.get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body.data.map((row: { id: string }) => row.id);
}

describe("the list", () => {
  test("tells who, where from, where to and how far", async () => {
    const own = await newTenant();
    const manifest = await newManifest(own, {
      status: "receiving",
      items: [{ status: "received" }, {}, { exception: "damaged" }, { status: "void" }],
    });
    const undriven = await newManifest(own, { status: "draft", driver: null, items: [] });
    const answer = await own.staff.get(path, {
      query: { sort_by: "created_at", sort_order: "asc" },
    });
    expect(answer.body.pagination).toEqual({ page: 1, limit: 20, total: 2, total_pages: 1 });
    expect(answer.body.data[0]).toMatchObject({
      id: manifest.id,
      manifest_number: manifest.number,
      status: "receiving",
      institution: {
        id: own.institution.id,
        full_name: expect.stringContaining("institution"),
        phone: expect.any(String),
      },
      source_branch: { id: manifest.branch, name: expect.any(String), code: expect.any(String) },
      processing_point: { id: manifest.point, name: expect.any(String), code: expect.any(String) },
      driver: { id: own.driver.id, full_name: expect.stringContaining("driver") },
      items_count: 4,
      received_count: 1,
      open_exceptions_count: 1,
    });
    expect(answer.body.data[1]).toMatchObject({
      id: undriven.id,
      driver: null,
      items_count: 0,
      received_count: 0,
    });
  });

  test("filters by status, people, place and day, and searches names, numbers and barcodes", async () => {
    const own = await newTenant();
    const a = await newManifest(own, { status: "draft" });
    const b = await newManifest(own, {
      status: "in_transit",
      driver: own.driver2.id,
      institution: own.institution2.id,
    });
    await sql`update delivery.transfer_manifests set created_at = '2026-01-15T12:00:00Z' where id = ${a.id}`;
    await sql`update tenancy.profiles set full_name = '100% Books' where id = ${own.institution2.id}`;
    const cases: [Record<string, string>, string[]][] = [
      [{ status: "draft" }, [a.id]],
      [{ driver_id: own.driver2.id }, [b.id]],
      [{ institution_user_id: own.institution2.id }, [b.id]],
      [{ processing_point_id: a.point }, [a.id]],
      [{ date_from: "2026-01-15", date_to: "2026-01-15" }, [a.id]],
      [{ date_from: "2026-01-16" }, [b.id]],
      [{ status: "draft", driver_id: own.driver2.id }, []],
      [{ search: a.number.toLowerCase() }, [a.id]],
      [{ search: "0% b" }, [b.id]],
      [{ search: "%" }, [b.id]],
      [{ search: "_" }, []],
      [{ search: ` ${b.barcodes[1].toLowerCase()}` }, [b.id]],
      [{ search: b.barcodes[1].slice(2, 12) }, []],
      [{ search: "driver2" }, [b.id]],
      [{ search: "  " }, [b.id, a.id]],
      [{ driver_id: randomUUID() }, []],
    ];
    for (const [query, expected] of cases) {
      expect(await idsOf(own.ops, query), JSON.stringify(query)).toEqual(expected);
    }
  });

  test("pages, clamps and sorts", async () => {
    const own = await newTenant();
    for (let i = 0; i < 3; i++) await newManifest(own, { status: "draft", items: [] });
    const get = (query: Record<string, string | number>) => own.ops.get(path, { query });
    const first = await get({ limit: 2, sort_by: "manifest_number", sort_order: "asc" });
    const second = await get({ limit: 2, page: 2, sort_by: "manifest_number", sort_order: "asc" });
    expect(first.body.pagination).toEqual({ page: 1, limit: 2, total: 3, total_pages: 2 });
    const numbers = [...first.body.data, ...second.body.data].map((row) => row.manifest_number);
    expect(numbers).toEqual([...numbers].sort());
    expect(new Set(numbers).size).toBe(3);
    expect((await get({ limit: 1000 })).body.pagination.limit).toBe(100);
    expect((await get({ limit: 0, page: -1 })).body.pagination).toMatchObject({
      limit: 20,
      page: 1,
    });
    const cases: [Record<string, string>, string, string][] = [
      [{ status: "lost" }, "validation_failed", "status"],
      [{ driver_id: "x" }, "invalid_uuid", "driver_id"],
      [{ date_from: "yesterday" }, "validation_failed", "date_from"],
      [{ sort_by: "id; drop table x" }, "validation_failed", "sort_by"],
      [{ search: "x".repeat(201) }, "validation_failed", "search"],
    ];
    for (const [query, code, field] of cases) {
      const refused = await get(query);
      expect(refused, field).toFailWith(400, code);
      expect(refused.body.field).toBe(field);
    }
  });

  test("shows drivers and institutions their own, and no rows of another tenant", async () => {
    const own = await newTenant();
    const [a, b, c] = [
      await newManifest(own),
      await newManifest(own, { driver: own.driver2.id }),
      await newManifest(own, { driver: null, institution: own.institution2.id }),
    ];
    const seen = async (person: Person) => new Set(await idsOf(person));
    expect(await seen(own.staff)).toEqual(new Set([a.id, b.id, c.id]));
    expect(await seen(own.driver)).toEqual(new Set([a.id]));
    expect(await seen(own.driver2)).toEqual(new Set([b.id]));
    expect(await seen(own.institution)).toEqual(new Set([a.id, b.id]));
    expect(await seen(own.institution2)).toEqual(new Set([c.id]));
    expect(await idsOf(own.driver, { driver_id: own.driver2.id })).toEqual([]);
    expect(await idsOf(other.ops, { search: a.number })).toEqual([]);
  });
});

describe("the detail", () => {
  test("has the items in scan order, counts, proofs and the proofs it needs", async () => {
    const manifest = await newManifest(tenant, {
      status: "receiving",
      items: [
        { status: "received" },
        { exception: "damaged" },
        {},
        { status: "void" },
      ],
    });
    const answer = await tenant.staff.get(`${path}/${manifest.id}`);
    expect(answer).toSucceed(200);
    const { data } = answer.body;
    expect(data.items.map((item: { id: string }) => item.id)).toEqual(manifest.itemIds);
    expect(data.counts).toEqual({
      total: 4,
      picked_up: 0,
      in_transit: 2,
      received: 1,
      scanned: 0,
      processing: 0,
      order_created: 0,
      void: 1,
      open_exceptions: 1,
      remaining: 1,
    });
    expect(data.items[1].open_exception).toMatchObject({ reason: "damaged", notes: null });
    expect(data.items[0].open_exception).toBeNull();
    expect(data.proofs).toHaveLength(4);
    expect(data.proofRequirements).toEqual({
      pickup: { photo_required: true, signature_required: false },
      delivery: { photo_required: true, signature_required: true },
    });
    expect(data).not.toHaveProperty("events");
  });

  test("brings the history along when asked, the same as its own call", async () => {
    const manifest = await newManifest(tenant, { status: "picked_up" });
    await tenant.driver.post(`${path}/${manifest.id}/depart`);
    await tenant.driver.post(`${path}/${manifest.id}/arrive`);
    const events = await tenant.institution.get(`${path}/${manifest.id}/events`);
    expect(events).toSucceed(200);
    expect(events.body.data).toMatchObject([
      {
        event_type: "manifest_in_transit",
        manifest_item_id: null,
        actor: { id: tenant.driver.id, full_name: expect.stringContaining("driver") },
        payload: {
          manifest_id: manifest.id,
          manifest_number: manifest.number,
          actor_id: tenant.driver.id,
          processing_point_id: manifest.point,
        },
      },
      { event_type: "driver_arrived" },
    ]);
    const detail = await tenant.staff.get(`${path}/${manifest.id}`, {
      query: { include: "events" },
    });
    expect(detail.body.data.events).toEqual(events.body.data);
    expect(await tenant.staff.get(`${path}/${manifest.id}`, { query: { include: "secrets" } }))
      .toFailWith(400, "validation_failed");
  });

  test("is hidden from other drivers, other institutions and other tenants", async () => {
    const manifest = await newManifest(tenant);
    for (const person of [tenant.driver2, tenant.institution2, other.ops, other.driver]) {
      for (const suffix of ["", "/events"]) {
        expect(await person.get(`${path}/${manifest.id}${suffix}`))
          .toFailWith(404, "manifest_not_found");
      }
    }
  });
});
