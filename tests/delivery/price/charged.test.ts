/** The price of a preview is the one that set-destination charges. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { fundWallet, newService } from "../../support/money.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { item, newMeasuring, pricePath as path } from "../../support/price.ts";

let tenant: Tenant;

beforeAll(async () => {
  ({ tenant } = await newMeasuring());
});

describe("the preview is what set-destination charges", () => {
  test.each(
    [
      ["processing_point", { items: [item({ weight: 33, quantity: 2 })] }],
      ["source_location", { items: [item({ length: 333 })] }],
      ["processing_point", { items: [item({ weight: 0 })] }],
      ["source_location", undefined],
    ] as const,
  )("from the %s for %j", async (delivery_fee_origin, packageDetails) => {
    await saveSettings(tenant.id, "general.unit_size", {
      missing_unit_size_fallback: "service_half",
    });
    await saveSettings(tenant.id, "delivery.transfer_manifest", { delivery_fee_origin });
    await saveSettings(tenant.id, "general.currency", { currency_code: "IQD", decimals: 2 });
    const places = {
      point: { latitude: 33.31, longitude: 44.36 },
      source: { latitude: 33.5, longitude: 44.1 },
      to: { latitude: 36.19, longitude: 44.01 },
    };
    const far = await newService(tenant, {
      default_price: 1234.567,
      price_per_km: 7.77,
      free_km: 3,
      unit_min: 1,
      unit_max: 20,
    });
    await fundWallet(tenant, "institution", tenant.institution.id, 1_000_000);
    const point = await newProcessingPoint(tenant, await newAddress(tenant, places.point));
    const branch = await newBranch(tenant, {
      point,
      address: await newAddress(tenant, places.source),
    });
    const manifest = await newManifest(tenant, { branch, items: [{ packageDetails }] });
    const answer = await tenant.dispatcher.post(
      "/delivery/transfer-manifest-items/bulk/set-destination",
      {
        item_ids: manifest.itemIds,
        destination_address_id: await newAddress(tenant, places.to),
        delivery_service_id: far,
      },
    );
    expect(answer.body.data).toMatchObject({ created_count: 1 });
    const [charged] = await sql`select delivery_fee as price, unit_size, unit_size_source
      from delivery.deliveries where manifest_item_id = ${manifest.itemIds[0]}`;
    const preview = await tenant.institution.post(path, {
      delivery_service_id: far,
      pickup_location: delivery_fee_origin === "source_location" ? places.source : places.point,
      delivery_location: places.to,
      package_details: packageDetails,
    });
    expect(preview.body).toMatchObject(charged);
    expect(charged.price).toBeGreaterThan(2000);
  });
});
