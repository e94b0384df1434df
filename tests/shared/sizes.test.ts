/** Size limits of stored values: larger ones are refused by name, before the write and by the database itself. */
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { Settle } from "../../functions/delivery/cod/schemas.ts";
import { Lot } from "../../functions/warehousing/inventory/schemas.ts";
import { UpdateSubscription } from "../../functions/webhooks/subscriptions/schemas.ts";
import { MarkEvent } from "../../functions/system/events/schemas.ts";
import { refusalOf } from "../../shared/db/refusal.ts";
import { accept } from "../../shared/schemas/input.ts";
import { WebUrl } from "../../shared/schemas/schemas.ts";
import { maxBytes, maxText } from "../../shared/schemas/sizes.ts";
import { sql } from "../support/db.ts";
import { newAddress } from "../support/make.ts";
import { newService } from "../support/money.ts";
import { newTenant, type Tenant } from "../support/people.ts";

const big = (bytes: number) => ({ note: "x".repeat(bytes) });
let tenant: Tenant;
let address: string;
let service: string;
beforeAll(async () => {
  tenant = await newTenant();
  [address, service] = await Promise.all([newAddress(tenant), newService(tenant)]);
});

describe("the schemas", () => {
  test("take what fits to the byte and name what does not", () => {
    const schema = z.object({ contact: maxBytes(20, z.record(z.string(), z.unknown())).nullish() });
    expect(accept(schema, { contact: { n: "x".repeat(12) } })).toBeTruthy();
    expect(accept(schema, { contact: null })).toEqual({ contact: null });
    expect(() => accept(schema, { contact: { n: "x".repeat(13) } })).toThrowError(
      expect.objectContaining({
        code: "field_too_large",
        params: { field: "contact", bytes_max: 20 },
      }),
    );
  });

  test("count Arabic letters as two bytes and emoji as four", () => {
    const schema = z.object({ text: maxText(10) });
    expect(accept(schema, { text: "ش".repeat(10) })).toBeTruthy();
    expect(accept(schema, { text: "😀".repeat(5) })).toBeTruthy();
    expect(() => accept(schema, { text: "√".repeat(7) })).toThrowError(
      expect.objectContaining({ code: "field_too_large" }),
    );
    expect(() => accept(schema, { text: "x".repeat(11) })).toThrowError(
      expect.objectContaining({ code: "validation_failed" }),
    );
  });

  test.each([
    ["the reference of a settlement", Settle, "reference", 500, {
      scope: "all",
      driver_id: crypto.randomUUID(),
    }],
    ["the lot of goods", z.object({ lot_number: Lot }), "lot_number", 200, {}],
    ["the fault of an event", MarkEvent, "error_message", 2_000, { status: "failed" }],
  ])("name %s that has more bytes than its column", (_, schema, field, characters, rest) => {
    expect(accept(schema, { ...rest, [field]: "ش".repeat(characters) })).toBeTruthy();
    // A letter of three bytes, as the joiner that Kurdish is written with.
    expect(() => accept(schema, { ...rest, [field]: "√".repeat(characters) })).toThrowError(
      expect.objectContaining({
        code: "field_too_large",
        params: { field, bytes_max: characters * 2 },
      }),
    );
  });

  test.each([
    ["a picture", z.object({ url: WebUrl })],
    ["a subscriber", UpdateSubscription],
  ])("name the address of %s that has more bytes than its column", (_, schema) => {
    const at = (letter: string) => ({ url: `https://a.example/${letter.repeat(1_900)}` });
    expect(accept(schema, at("ش"))).toBeTruthy();
    expect(() => accept(schema, at("√"))).toThrowError(
      expect.objectContaining({
        code: "field_too_large",
        params: { field: "url", bytes_max: 4_000 },
      }),
    );
  });

  test("a violated size constraint is reported as one, others are not", () => {
    expect(refusalOf("23514", "contact_info_above_4096_bytes", "")).toMatchObject({
      code: "field_too_large",
      params: { field: "contact_info", bytes_max: 4096 },
    });
    expect(refusalOf("23514", "texts_within_bounds", "")).toMatchObject({
      code: "validation_failed",
    });
    expect(refusalOf("23514", "deliveries_cod_amount_check", "")).toBeUndefined();
  });
});

describe("over HTTP", () => {
  const counted = async () => {
    const [{ n }] =
      await sql`select (select count(*) from delivery.addresses where tenant_id = ${tenant.id})
      + (select count(*) from delivery.deliveries where tenant_id = ${tenant.id}) as n`;
    return Number(n);
  };
  const place = { latitude: 33.3, longitude: 44.3 };
  const delivery = (more: object) => ({
    delivery_service_id: service,
    pickup_address_id: address,
    payer_type: "sender",
    payment_method: "cash",
    ...more,
  });

  test.each([
    ["a contact of an address", "/delivery/addresses", {
      full_address: "A",
      contact_info: big(4_096),
    }, "contact_info"],
    [
      "a recipient",
      "/delivery/deliveries",
      delivery({ dropoff_address_id: "", recipient: big(4_096) }),
      "recipient",
    ],
    [
      "a place",
      "/delivery/deliveries",
      delivery({ delivery_location: { ...place, contact_info: big(4_090) } }),
      "delivery_location",
    ],
    [
      "a package",
      "/delivery/deliveries",
      delivery({ package: { items: [], ...big(65_536) } }),
      "package",
    ],
    ["metadata", "/delivery/transfer-processing-points", {
      name: "P",
      code: "P",
      address_id: "",
      metadata: big(8_192),
    }, "metadata"],
  ])("%s that is too large is refused and nothing is written", async (_, path, body, field) => {
    const before = await counted();
    const filled = Object.fromEntries(
      Object.entries(body).map(([key, value]) => [key, value === "" ? address : value]),
    );
    const answer = await tenant.admin.post(path, filled);
    expect(answer).toFailWith(400, "field_too_large");
    expect(answer.body).toMatchObject({ field });
    expect(answer.body.message).toMatch(/bytes/);
    for (const language of ["ar", "ku"] as const) {
      expect((await tenant.admin.in(language).post(path, filled)).body.message).toMatch(
        /بايت|بایت/,
      );
    }
    expect(await counted()).toBe(before);
  });

  test("numbers that take more room than they were sent with meet the database's bound", async () => {
    const before = await counted();
    const answer = await tenant.admin.post("/delivery/addresses", {
      full_address: "A",
      contact_info: { n: Array.from({ length: 100 }, () => 1e300) },
    });
    expect(answer).toFailWith(400, "field_too_large");
    expect(answer.body).toMatchObject({ field: "address", bytes_max: 4_096 });
    expect(await counted()).toBe(before);
  });

  test("an address whose parts are too large together is refused", async () => {
    const answer = await tenant.admin.post("/delivery/addresses", {
      full_address: "x".repeat(2_000),
      contact_info: big(3_000),
    });
    expect(answer).toFailWith(400, "field_too_large");
    expect(answer.body).toMatchObject({ field: "address", bytes_max: 4_096 });
  });
});
