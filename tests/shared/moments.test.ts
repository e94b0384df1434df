/** Days and instants as clients send them: those that PostgreSQL keeps and answers as ISO 8601, and no others. */
import { z } from "zod";
import { beforeAll, describe, expect, test } from "vitest";
import { Approve } from "../../functions/storefront/orders/decision-schemas.ts";
import { languages, template } from "../../shared/i18n/index.ts";
import { accept } from "../../shared/schemas/input.ts";
import {
  Day,
  DayOrInstant,
  DayOrKeptInstant,
  ExactInstant,
  Instant,
} from "../../shared/schemas/schemas.ts";
import { moment } from "../../shared/pdf/values.ts";
import { newDriver } from "../support/assignments.ts";
import { type Ground, newDelivery, newGround, order } from "../support/deliveries.ts";
import { newTenant, type Tenant } from "../support/people.ts";

const exactly = "2026-12-01T14:30:00+03:00";

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

describe.each(
  [
    ["reason_day", Day, ["2026-12-01"]],
    ["reason_instant", Instant, ["2026-12-01T14:30", exactly]],
    ["reason_exact_instant", ExactInstant, [exactly, "2026-12-01T11:30:00Z"]],
    ["reason_day_or_instant", DayOrInstant, ["2026-12-01", "2026-12-01T14:30", exactly]],
    ["reason_day_or_instant", DayOrKeptInstant, ["2026-12-01", "2026-12-01T14:30", exactly]],
  ] as const,
)("in another form (%s)", (reason_key, schema, examples) => {
  test.each([
    "01/12/2026 10:00",
    "2026-12-01 10:00",
    "2026-12-01T10",
    "2026-13-01",
    "",
    1_764_547_200,
    null,
    [],
  ])("%j is refused with the form that is wanted", (sent) => {
    const refused = expect(() => accept(z.object({ at: schema }), { at: sent }));
    refused.toThrow(expect.objectContaining({ code: "validation_failed" }));
    refused.toThrow(expect.objectContaining({ params: { field: "at", reason_key } }));
  });

  test("its examples, which stand in each language, are taken", () => {
    for (const language of languages) {
      const text = template(language, reason_key);
      for (const example of examples) expect(text).toContain(example);
    }
    for (const example of examples) expect(schema.safeParse(example).success).toBe(true);
  });

  test("a value that is missing is required, and one that may be left out may", () => {
    expect(() => accept(z.object({ at: schema }), {}))
      .toThrow(expect.objectContaining({ params: { field: "at", reason_key: "reason_required" } }));
    expect(accept(z.object({ at: schema.nullish() }), { at: null })).toEqual({ at: null });
  });
});

test("a caller reads it, in the language asked for", async () => {
  const made = await tenant.ops.post("/delivery/deliveries", {
    ...order(ground),
    deliver_after: "2026-12-01",
  });
  expect(made).toFailWith(400, "validation_failed");
  expect(made.body).toMatchObject({
    field: "deliver_after",
    message:
      "deliver_after must be a date with a time, as 2026-12-01T14:30 or 2026-12-01T14:30:00+03:00.",
  });
  const listed = await tenant.ops.get("/delivery/deliveries", {
    query: { date_from: "1.12.2026", language: "ku" },
  });
  expect(listed.body).toMatchObject({
    field: "date_from",
    message:
      "خانەی date_from دەبێت بەروار بێت، وەک 2026-12-01، یان بەروار و کات، وەک 2026-12-01T14:30 یان 2026-12-01T14:30:00+03:00.",
  });
});

test("the + of an offset may come as the blank that a query makes of it", async () => {
  for (const form of ["2026-01-01T00:00:00+03:00", "2026-01-01T00:00+03:00"]) {
    const { status, body } = await tenant.ops.get(`/delivery/deliveries?updated_since=${form}`);
    expect([status, body.data]).toEqual([200, []]);
  }
  for (const schema of [Instant, ExactInstant, DayOrInstant]) {
    expect(schema.parse("2026-01-01T00:00:00 03:00")).toBe("2026-01-01T00:00:00+03:00");
    expect(schema.safeParse("2026-01-01 03:00").success).toBe(false);
  }
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
