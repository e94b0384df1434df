/** Scans and their suggested actions: barcodes as scanners send them, and no action that is blocked. */
import { beforeAll, describe, expect, test } from "vitest";
import { handedTo, move } from "../../support/deliveries.ts";
import { sql } from "../../support/db.ts";
import { newPackage, newStagedPackage, newYard, type Yard } from "../../support/packages.ts";
import { itsDetails, packageScan, scanned } from "../../support/package-scan.ts";
import { packageTransfers, transferSteps } from "../../support/package-transfers.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let yard: Yard;

beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

describe("a handoff", () => {
  const open = (id: string, items: object[] = []) =>
    tenant.warehouse.post(`/delivery/deliveries/${id}/exceptions`, { type: "damaged", items });

  test("is not offered while the parcel, its leg or things beside it are in question", async () => {
    for (const place of ["leg", "parcel", "beside"] as const) {
      const { parent, a, b } = await newStagedPackage(yard);
      const handoff = await handedTo(yard, b);
      const { entity_id } = await scanned(tenant, parent.barcode);
      expect(entity_id).toBe(handoff);
      if (place === "beside") {
        const [item] = await sql`select id from delivery.delivery_items
          where delivery_id = ${parent.id}`;
        await sql`insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items)
          values (${tenant.id}, ${a}, 'damaged', ${sql.json([{ delivery_item_id: item.id }])})`;
      } else {
        expect(await open(place === "leg" ? b : parent.id)).toSucceed(201);
      }
      const body = await scanned(tenant, parent.barcode);
      expect(body, place).toMatchObject({
        ...itsDetails(parent.id),
        handoff: null,
        delivery: { next_action: "none" },
      });
    }
  });
});

describe("a barcode", () => {
  const written = (barcode: string) =>
    ` ${barcode.toLowerCase().slice(0, 4)} ${
      barcode.slice(4).replace(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit)))
    }\r\n`;

  test("is found however the scanner writes it, as sent first; a code in any digits", async () => {
    const parcel = await newPackage(yard);
    expect((await scanned(tenant, written(parcel.barcode))).delivery.id).toBe(parcel.id);
    const code = [...String(parcel.delivery_code)].map((d) => "۰۱۲۳۴۵۶۷۸۹"[Number(d)]).join("");
    expect((await scanned(tenant, code)).delivery.id).toBe(parcel.id);
    const exact = await newPackage(yard);
    await sql`update delivery.deliveries set barcode = ${parcel.barcode.toLowerCase()}
      where id = ${exact.id}`;
    expect((await scanned(tenant, parcel.barcode.toLowerCase())).delivery.id).toBe(exact.id);
    expect((await scanned(tenant, parcel.barcode)).delivery.id).toBe(parcel.id);
    const blank = await tenant.warehouse.get(`${packageScan}/${encodeURIComponent("\u200b")}`);
    expect(blank).toFailWith(404, "delivery_not_found");
  });

  test("also in transfers, where the same parcel is itself however it is written", async () => {
    const parcel = await newPackage(yard);
    const { body } = transferSteps(tenant, yard);
    const answer = await tenant.warehouse.post(
      `${packageTransfers}/validate`,
      body("delivery_operation", { package_barcodes: [written(parcel.barcode), parcel.barcode] }),
    );
    expect(answer).toSucceed(200);
    expect(answer.body.valid).toMatchObject([{ delivery_id: parcel.id }]);
    expect(answer.body.invalid).toEqual([{ barcode: parcel.barcode, reason: "duplicate" }]);
    expect(await move(tenant.ops, parcel.id, "cancel", { reason: "no" })).toSucceed(200);
  });
});
