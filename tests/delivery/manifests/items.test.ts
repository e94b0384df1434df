import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newBarcode, newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/transfer-manifests";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

describe("items of a draft", () => {
  test("a barcode serves one item of the tenant at a time, and a removed or void one is free", async () => {
    const [a, b] = await Promise.all([
      newManifest(tenant, { status: "draft", items: [] }),
      newManifest(tenant, { status: "draft", items: [] }),
    ]);
    const barcode = newBarcode();
    const add = (id: string) =>
      tenant.driver.post(`${path}/${id}/items`, { items: [{ barcode_value: barcode }] });
    const first = await add(a.id);
    expect(first).toSucceed(201);
    expect(first.body.data).toMatchObject({ manifest_id: a.id, items_count: 1 });
    const refused = await add(b.id);
    expect(refused).toFailWith(409, "barcode_already_used");
    expect(refused.body.barcode_value).toBe(barcode);
    const item = first.body.data.items[0].id;
    const removed = await tenant.driver.delete(`${path}/${a.id}/items/${item}`);
    expect(removed.body.data).toEqual({ id: item, manifest_id: a.id, items_count: 0 });
    expect(await add(b.id)).toSucceed(201);
    expect(await tenant.driver.post(`${path}/${b.id}/cancel`, { reason: "x" })).toSucceed();
    expect(await add(a.id)).toSucceed(201);
    expect(
      await other.ops.post(
        `${path}/${(await newManifest(other, { status: "draft", items: [] })).id}/items`,
        { items: [{ barcode_value: barcode }] },
      ),
    ).toSucceed(201);
  });

  test("one wrong or double barcode refuses the whole call and is named", async () => {
    const { id } = await newManifest(tenant, { status: "draft", items: [] });
    const good = newBarcode();
    const add = (...barcodes: string[]) =>
      tenant.ops.post(`${path}/${id}/items`, {
        items: barcodes.map((barcode_value) => ({ barcode_value })),
      });
    const wrongDigit = good.slice(0, 11) + (Number(good[11]) + 1) % 10 + good.slice(12);
    const wrong = await add(newBarcode(), wrongDigit);
    expect(wrong).toFailWith(400, "invalid_barcode");
    expect(wrong.body).toMatchObject({
      field: "items.1.barcode_value",
      barcode_value: wrongDigit,
    });
    const twice = await add(newBarcode(), good, good.toLowerCase());
    expect(twice).toFailWith(409, "barcode_already_used");
    expect(twice.body.barcode_value).toBe(good);
    const [{ n }] =
      await sql`select count(*)::int as n from delivery.transfer_manifest_items where manifest_id = ${id}`;
    expect(n).toBe(0);
  });

  test("there are at most 5,000", async () => {
    const { id } = await newManifest(tenant, { status: "draft", items: [] });
    await sql`insert into delivery.transfer_manifest_items (tenant_id, manifest_id, barcode_value, position)
      select ${tenant.id}, ${id}, 'XX' || lpad(n::text, 10, '0') || 'IQ', n from generate_series(1, 4999) n`;
    const add = (...barcodes: string[]) =>
      tenant.ops.post(`${path}/${id}/items`, {
        items: barcodes.map((barcode_value) => ({ barcode_value })),
      });
    const refused = await add(newBarcode(), newBarcode());
    expect(refused).toFailWith(409, "manifest_action_not_allowed");
    expect(refused.body.message).toMatch(/at most 5,?000 items/);
    const last = await add(newBarcode());
    expect(last.body.data.items_count).toBe(5_000);
    expect(await add(newBarcode())).toFailWith(409, "manifest_action_not_allowed");
  });

  test("issued barcodes turn used with their item and unused without it", async () => {
    const barcode = newBarcode();
    await sql`with batch as (
        insert into delivery.transfer_barcode_batches (tenant_id, batch_number, quantity, service_indicator, issuer, first_serial)
        values (${tenant.id}, ${"B" + barcode}, 1, 'DM', 'IQ', 1) returning *)
      insert into delivery.transfer_barcodes (tenant_id, barcode, batch_id, position)
      select tenant_id, ${barcode}, id, 1 from batch`;
    const statusOf = async () =>
      (await sql`select status, used_at is not null as used from delivery.transfer_barcodes
        where tenant_id = ${tenant.id} and barcode = ${barcode}`)[0];
    const { id } = await newManifest(tenant, { status: "draft", items: [] });
    const added = await tenant.driver.post(`${path}/${id}/items`, {
      items: [{ barcode_value: barcode }],
    });
    expect(await statusOf()).toEqual({ status: "used", used: true });
    await tenant.driver.delete(`${path}/${id}/items/${added.body.data.items[0].id}`);
    expect(await statusOf()).toEqual({ status: "unused", used: false });
  });

  test("an item is taken off its own manifest only", async () => {
    const [a, b] = await Promise.all([
      newManifest(tenant, { status: "draft" }),
      newManifest(tenant, { status: "draft" }),
    ]);
    expect(await tenant.ops.delete(`${path}/${a.id}/items/${b.itemIds[0]}`))
      .toFailWith(404, "item_not_found");
    expect(await tenant.ops.delete(`${path}/${a.id}/items/${a.itemIds[0]}`)).toSucceed();
    expect(await tenant.ops.delete(`${path}/${a.id}/items/${a.itemIds[0]}`))
      .toFailWith(404, "item_not_found");
  });
});
