/** The unit size when the tenant's settings are incomplete, and sizes that no parcel has. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Ground, newGround, order, path as deliveries } from "../../support/deliveries.ts";
import { newService } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const box = (more: Record<string, unknown> = {}) => ({
  items: [{ name: "Box", weight: 24, length: 60, width: 20, height: 20, ...more }],
});
const preview = async (more: Record<string, unknown>) =>
  await tenant.ops.post("/delivery/price", { delivery_service_id: ground.service, ...more });

describe("the units of a measured package", () => {
  test.each(
    [
      ["neither, so those submitted count", { unit_weight: null, unit_length: null }, 4, 4],
      ["only what a unit weighs", { unit_weight: 4, unit_length: null }, 4, 6],
      ["only how long a unit is", { unit_weight: null, unit_length: 20 }, 4, 3],
      ["both, of which the larger counts", { unit_weight: 4, unit_length: 20 }, 4, 6],
      ["neither, so the fallback counts", { unit_weight: null, unit_length: null }, undefined, 1],
    ],
  )("where the tenant has said %s", async (_what, settings, unit_size, units) => {
    await saveSettings(tenant.id, "general.unit_size", settings);
    const answer = await preview({ package: box(), unit_size });
    expect(answer).toSucceed(200);
    const measured = settings.unit_weight !== null || settings.unit_length !== null;
    expect(answer.body).toMatchObject({
      unit_size: units,
      unit_size_source: measured ? "package_details" : unit_size ? "unit_size" : "service_min",
    });
    const made = await tenant.ops.post(deliveries, order(ground, { package: box(), unit_size }));
    const { price, unit_size: told, unit_size_source } = answer.body;
    expect(made.body.delivery).toMatchObject({ price, unit_size: told, unit_size_source });
  });

  test("are asked for where nothing says them", async () => {
    const bare = await newTenant({ settings: { "general.unit_size": {} } });
    const { service } = await newGround(bare);
    expect(
      await bare.ops.post("/delivery/price", { delivery_service_id: service, package: box() }),
    ).toFailWith(400, "unit_size_or_dimensions_required");
  });
});

test.each<[string, Record<string, unknown>, number, string]>([
  ["the least that a service takes, which may be nothing", {}, 0, "service_min"],
  ["more decimals than are kept", { unit_size: 2.33351 }, 2.334, "unit_size"],
  ["less than the last decimal that is kept", { unit_size: 0.0001 }, 0, "unit_size"],
  ["no units, said so", { unit_size: 0 }, 0, "unit_size"],
])("%s: what the preview tells is what is ordered", async (_what, sent, unit_size, source) => {
  const own = await newTenant({
    settings: {
      "general.unit_size": { missing_unit_size_fallback: "service_min" },
      "general.currency": { currency_code: "IQD", decimals: 3 },
    },
  });
  const its = await newGround(own);
  const delivery_service_id = await newService(own, { unit_min: 0, default_price: 1000 });
  const told = await own.ops.post("/delivery/price", { delivery_service_id, ...sent });
  expect(told).toSucceed(200);
  const expected = { price: unit_size * 1000, unit_size, unit_size_source: source };
  expect(told.body).toMatchObject(expected);
  const { unit_size: _two, ...wanted } = order(its, { delivery_service_id });
  const made = await own.ops.post(deliveries, { ...wanted, ...sent });
  expect(made).toSucceed(201);
  expect(made.body.delivery).toMatchObject(expected);
  const given = { delivery_id: made.body.id, driver_id: own.driver.id };
  expect(await own.ops.post("/delivery/assignments", given)).toSucceed(201);
});

test("a preview falls back to the middle in the decimals that are kept", async () => {
  const own = await newTenant({
    settings: { "general.unit_size": { missing_unit_size_fallback: "service_half" } },
  });
  const delivery_service_id = await newService(own, { unit_min: 1.001, unit_max: 2 });
  const { body } = await own.ops.post("/delivery/price", { delivery_service_id });
  expect(body).toMatchObject({ unit_size: 1.501, unit_size_source: "service_half" });
});

test.each(["weight", "length", "width", "height", "quantity"])(
  "a %s above a million is refused by preview and creation alike, naming the package sent",
  async (name) => {
    for (const field of ["package", "package_details"]) {
      for (const draft of [{}, { status: "draft" }]) {
        const sent = { [field]: box({ [name]: 1_000_001 }), unit_size: 2 };
        for (
          const answer of [
            await preview(sent),
            await tenant.ops.post(deliveries, order(ground, { ...sent, ...draft })),
          ]
        ) {
          expect(answer).toFailWith(400, "invalid_package");
          expect(answer.body.field).toBe(field);
        }
      }
    }
    await saveSettings(tenant.id, "general.unit_size", { unit_weight: null, unit_length: null });
    const sent = { package: box({ [name]: 1_000_000 }), unit_size: 2 };
    expect(await preview(sent)).toSucceed(200);
    expect(await tenant.ops.post(deliveries, order(ground, sent))).toSucceed(201);
  },
);
