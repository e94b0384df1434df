/** Previews of a price as older clients ask for them, by coordinates in the query. */
import { beforeAll, describe, expect, test } from "vitest";
import { newService } from "../../support/money.ts";
import type { Tenant } from "../../support/people.ts";
import { newMeasuring, pricePath as path } from "../../support/price.ts";

let tenant: Tenant;
/** 1,000 a unit, 2 to 40 units. */
let service: string;

beforeAll(async () => {
  ({ tenant, service } = await newMeasuring());
});

describe("the legacy preview", () => {
  const query = {
    pickup_lat: 33.3,
    pickup_lng: "44.3",
    dropoff_lat: 33.4,
    dropoff_lng: 44.4,
    units: 3,
  };

  test("prices units between two places", async () => {
    const far = await newService(tenant, { price_per_km: 100 });
    const answer = await tenant.customer.get(path, {
      query: { ...query, delivery_service_id: far },
    });
    expect(answer).toSucceed(200);
    // 14.489 km on the great circle.
    expect(answer.body).toEqual({
      success: true,
      message: "Price calculated.",
      price: 4449,
      unit_size: 3,
      unit_size_source: "unit_size",
    });
  });

  test("needs places where distance costs", async () => {
    const far = await newService(tenant, { price_per_km: 100 });
    const answer = await tenant.staff.get(path, { query: { delivery_service_id: far, units: 3 } });
    expect(answer).toFailWith(400, "invalid_coordinates");
    expect(answer.body.field).toBe("pickup_lat");
  });

  test.each(
    [
      ["units", undefined, "validation_failed"],
      ["units", "0", "validation_failed"],
      ["units", "-1", "validation_failed"],
      ["units", "many", "validation_failed"],
      ["units", "1e3", "validation_failed"],
      ["delivery_service_id", undefined, "validation_failed"],
      ["delivery_service_id", "x", "invalid_uuid"],
      ["pickup_lat", "91", "invalid_coordinates"],
      ["pickup_lng", "x", "invalid_coordinates"],
      ["dropoff_lat", "", "invalid_coordinates"],
      ["dropoff_lng", undefined, "invalid_coordinates"],
      ["dropoff_lng", "-180.5", "invalid_coordinates"],
    ],
  )("is refused for %s=%s", async (name, value, code) => {
    const answer = await tenant.staff.get(path, {
      query: { delivery_service_id: service, ...query, [name]: value },
    });
    expect(answer).toFailWith(400, code);
    expect(answer.body.field).toBe(name);
  });
});
