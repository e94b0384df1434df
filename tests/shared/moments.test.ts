/** Days and instants as clients send them: those that PostgreSQL keeps and answers as ISO 8601, and no others. */
import { beforeAll, describe, expect, test } from "vitest";
import { Approve } from "../../functions/storefront/orders/decision-schemas.ts";
import { DayOrInstant, ExactInstant, Instant } from "../../shared/schemas/schemas.ts";
import { moment } from "../../shared/pdf/values.ts";
import { newDriver } from "../support/assignments.ts";
import { type Ground, newDelivery, newGround } from "../support/deliveries.ts";
import { newTenant, type Tenant } from "../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

describe("an instant", () => {
  test.each([
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59+12:00",
    "0001-01-01T00:00:00-12:00",
    "2028-02-29T12:00+15:59",
    "2026-03-10T00:00:00.123456789+03:00",
  ])("%s is taken", (text) => {
    for (const schema of [Instant, ExactInstant, DayOrInstant]) {
      expect(schema.safeParse(text).success).toBe(true);
    }
  });

  test.each(["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])(
    "%s ends a period and is not kept",
    (text) => {
      expect(Instant.safeParse(text).success).toBe(false);
      expect(ExactInstant.safeParse(text).success).toBe(false);
      expect(DayOrInstant.safeParse(text).success).toBe(true);
    },
  );

  test.each([
    "0000-06-01T00:00:00Z",
    "2026-01-01T00:00:00+16:00",
    "2026-01-01T00:00:00-23:59",
    "2027-02-29T12:00Z",
  ])("%s is refused", (text) => {
    for (const schema of [Instant, ExactInstant, DayOrInstant]) {
      expect(schema.safeParse(text).success).toBe(false);
    }
  });

  test("without an offset may not lie on the first or last day, whose clock is not known", () => {
    expect(Instant.safeParse("9999-12-30T23:59:59").success).toBe(true);
    expect(Instant.safeParse("0001-01-02T00:00").success).toBe(true);
    for (const text of ["9999-12-31T12:00:00", "0001-01-01T12:00", "0000-06-01T12:00"]) {
      expect(Instant.safeParse(text).success).toBe(false);
    }
    expect(DayOrInstant.safeParse("9999-12-31T23:59:59.9999999").success).toBe(true);
  });
});

test("a day is one of a year that there was", () => {
  expect(DayOrInstant.safeParse("0001-01-01").success).toBe(true);
  expect(DayOrInstant.safeParse("9999-12-31").success).toBe(true);
  expect(DayOrInstant.safeParse("0000-01-01").success).toBe(false);
});

test("the expected day of a store's order is kept, so it is one that can be answered", () => {
  const takes = (estimated_delivery_date: string) =>
    Approve.safeParse({ estimated_delivery_date }).success;
  expect(takes("2026-12-01")).toBe(true);
  expect(takes("2026-12-01T10:00")).toBe(true);
  expect(takes("9999-12-31T23:59:59-12:00")).toBe(false);
});

test.each(["0000-01-01", "2026-01-01T00:00:00+23:59"])(
  "a list refuses %s and names the parameter",
  async (date_from) => {
    const answer = await tenant.admin.get("/delivery/deliveries", { query: { date_from } });
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe("date_from");
  },
);

test("a promise beyond the year 9999 is refused, before it stands in a driver's stops", async () => {
  const driver = await newDriver(tenant);
  const given = async (delivery_id: string) =>
    expect(
      await tenant.ops.post("/delivery/assignments", { delivery_id, driver_id: driver.id }),
    ).toSucceed(201);
  const [first, second] = [await newDelivery(ground), await newDelivery(ground)];
  const promise = (promised_at: string) =>
    tenant.ops.put(`/delivery/deliveries/${second.id}`, { promised_at });
  const refused = await promise("9999-12-31T23:59:59-12:00");
  expect(refused).toFailWith(400, "validation_failed");
  expect(refused.body.field).toBe("promised_at");
  // The last one that there is.
  expect(await promise("9999-12-31T23:59:59Z")).toSucceed(200);
  await given(first.id);
  await given(second.id);
  const path = `/delivery/assignments/driver/${driver.id}/sequence/suggest`;
  const suggested = await tenant.ops.post(path);
  expect(suggested).toSucceed(200);
  expect(suggested.body.stops).toHaveLength(4);
});

test("a document says times in UTC where the runtime does not know the zone", () => {
  const at = "2026-03-09T21:00:00Z";
  expect(moment(at, "Asia/Baghdad")).toBe("2026-03-10 00:00");
  expect(moment(at, "Factory")).toBe("2026-03-09 21:00");
});
