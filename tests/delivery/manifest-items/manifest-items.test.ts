import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const search = "/delivery/transfer-manifest-items/search";

let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const idsOf = (body: { data: { manifest_item_id: string }[] }) =>
  body.data.map((row) => row.manifest_item_id);

describe("search", () => {
  test("rows carry what the scan screen shows, exactly", async () => {
    const manifest = await newManifest(tenant, { items: 1 });
    const answer = await tenant.dispatcher.get(search, { query: { q: manifest.itemIds[0] } });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toEqual([{
      manifest_item_id: manifest.itemIds[0],
      barcode_value: manifest.barcodes[0],
      status: "in_transit",
      manifest_id: manifest.id,
      manifest_number: manifest.number,
      manifest_status: "awaiting_receipt",
      institution: {
        id: tenant.institution.id,
        full_name: expect.any(String),
        phone: expect.any(String),
      },
      source_branch: { id: manifest.branch, name: expect.any(String), code: expect.any(String) },
      destination_branch_id: null,
      destination_address_id: null,
      delivery_id: null,
      already_has_order: false,
    }]);
  });

  test("text matches anywhere in the barcode, whatever the case; wildcards are plain characters", async () => {
    const manifest = await newManifest(tenant, { items: 1 });
    const [barcode] = manifest.barcodes;
    for (const q of [barcode, barcode.toLowerCase(), barcode.slice(3, 12), ` ${barcode} `]) {
      expect(idsOf((await tenant.dispatcher.get(search, { query: { q } })).body)).toEqual(
        manifest.itemIds,
      );
    }
    const eastern = barcode.replace(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit)));
    const spaced = barcode.replace(/(.{4})/g, "$1 ");
    const [id] = manifest.itemIds;
    for (
      const q of [`${barcode}\r\n`, eastern, eastern.slice(2, 11), spaced, `\u200f${barcode}`]
        .concat(
          [`${id}\r\n`, ` ${id.toUpperCase()}\n`],
        )
    ) {
      expect(idsOf((await tenant.dispatcher.get(search, { query: { q } })).body), q).toEqual(
        manifest.itemIds,
      );
    }
    for (const q of ["%", "_", barcode.slice(0, 5) + "%", "\\", "no-such-barcode"]) {
      expect((await tenant.dispatcher.get(search, { query: { q } })).body.data).toEqual([]);
    }
  });

  test("nothing typed lists the newest first, 20 unless asked, 1 to 100", async () => {
    const fresh = await newTenant();
    const manifest = await newManifest(fresh, { items: 30 });
    const last = await newManifest(fresh, { items: 1 });
    const twenty = await fresh.dispatcher.get(search);
    expect(twenty.body.data).toHaveLength(20);
    expect(idsOf(twenty.body)[0]).toBe(last.itemIds[0]);
    expect((await fresh.dispatcher.get(search, { query: { q: "", limit: 3 } })).body.data)
      .toHaveLength(3);
    for (const limit of ["0", "-1", "1.5", "x", ""]) {
      const usual = await fresh.dispatcher.get(search, { query: { limit } });
      expect(usual.body.data, limit).toHaveLength(20);
    }
    expect((await fresh.dispatcher.get(search, { query: { limit: 1000 } })).body.data).toHaveLength(
      31,
    );
    expect(manifest.itemIds).toHaveLength(30);
  });

  test("a row has one destination: the item's own, else its manifest's", async () => {
    const [branch, address] = [await newBranch(tenant), await newAddress(tenant)];
    const manifest = await newManifest(tenant, {
      items: [{}, { destinationBranch: branch }, { destinationAddress: address }],
    });
    const seen = () =>
      Promise.all(manifest.itemIds.map(async (q) => {
        const { body: { data: [row] } } = await tenant.dispatcher.get(search, { query: { q } });
        return [row.destination_branch_id, row.destination_address_id];
      }));
    await sql`update delivery.transfer_manifests set destination_address_id = ${address} where id = ${manifest.id}`;
    expect(await seen()).toEqual([[null, address], [branch, null], [null, address]]);
    await sql`update delivery.transfer_manifests set destination_address_id = null,
      destination_branch_id = ${branch} where id = ${manifest.id}`;
    expect(await seen()).toEqual([[branch, null], [branch, null], [null, address]]);
  });

  test("only items that can still become orders are found", async () => {
    const fresh = await newTenant();
    const manifest = await newManifest(fresh, {
      status: "processing",
      items: [{ status: "received" }, { status: "scanned" }, { status: "processing" }, {
        status: "void",
      }, { status: "in_transit" }],
    });
    const found = idsOf((await fresh.dispatcher.get(search)).body);
    expect(new Set(found)).toEqual(new Set([manifest.itemIds[0], manifest.itemIds[4]]));
    for (const i of [1, 2, 3]) {
      expect((await fresh.dispatcher.get(search, { query: { q: manifest.itemIds[i] } })).body.data)
        .toEqual([]);
      expect((await fresh.dispatcher.get(search, { query: { q: manifest.barcodes[i] } })).body.data)
        .toEqual([]);
    }
  });

  test("another tenant's items are not found, by id, by barcode or in the list", async () => {
    const manifest = await newManifest(other, { items: 1 });
    for (const q of [manifest.itemIds[0], manifest.barcodes[0]]) {
      expect((await tenant.dispatcher.get(search, { query: { q } })).body.data).toEqual([]);
    }
    expect(await tenant.dispatcher.get(search, { query: { tenant_id: other.id } })).toFailWith(
      403,
      "forbidden",
    );
  });

  test("texts too long or with a NUL are refused with the field, people without the right before that", async () => {
    const long = await tenant.dispatcher.get(search, { query: { q: "x".repeat(101) } });
    expect(long).toFailWith(400, "validation_failed");
    expect(long.body.field).toBe("q");
    expect(await tenant.dispatcher.get(search, { query: { q: "a\u0000b" } })).toFailWith(
      400,
      "validation_failed",
    );
    expect(await nobody.get(search, { query: { q: "x".repeat(101) } })).toFailWith(
      401,
      "unauthorized",
    );
    for (const person of [tenant.driver, tenant.institution, tenant.customer, tenant.staff]) {
      expect(await person.get(search, { query: { q: "x".repeat(101) } })).toFailWith(
        403,
        "forbidden",
      );
    }
    const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
    expect(await off.dispatcher.get(search, { query: { q: "x".repeat(101) } })).toFailWith(
      403,
      "transfer_manifest_disabled",
    );
  });
});
