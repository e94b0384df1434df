/** Orders of a delivery: the answer, its places, and what is refused. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  type Ground,
  move,
  newDelivery,
  newGround,
  order,
  path,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

describe("an order", () => {
  const post = (more: Record<string, unknown>, person = tenant.ops) =>
    person.post(path, order(ground, more));

  test("answers exactly what was made", async () => {
    const answer = await post({ unit_size: 3, cod_amount: 250 });
    expect(answer.status).toBe(201);
    const { delivery_code } = answer.body.delivery;
    expect(answer.body).toEqual({
      success: true,
      message: "Created.",
      id: answer.body.id,
      delivery: {
        id: answer.body.id,
        delivery_code,
        barcode: `PD${String(delivery_code).padStart(10, "0")}`,
        status: "pending",
        delivery_flow: "standard",
        price: 3000,
        unit_size: 3,
        unit_size_source: "unit_size",
        currency: "IQD",
        cod_amount: 250,
        original_delivery_id: null,
        legs: [],
      },
    });
  });

  test("takes places as addresses, as coordinates and as warehouses", async () => {
    const answer = await post({
      pickup_address_id: undefined,
      pickup_warehouse_id: ground.warehouse,
      dropoff_address_id: undefined,
      delivery_location: { lat: 33.3, lng: 44.4, contact_info: { phone: "+1" } },
    });
    expect(answer).toSucceed(201);
    const { delivery } = (await tenant.ops.get(`${path}/${answer.body.id}`)).body;
    expect(delivery).toMatchObject({
      pickup_warehouse_id: ground.warehouse,
      dropoff_address: { latitude: 33.3, longitude: 44.4, contact_info: { phone: "+1" } },
    });
    expect(delivery.distance_km).toBeGreaterThan(0);
    // As previews of prices spell it.
    const spelled = await post({
      dropoff_address_id: undefined,
      delivery_location: { lat: 33.3, long: 44.4 },
    });
    const found = await tenant.ops.get(`${path}/${spelled.body.id}`);
    expect(found.body.delivery.dropoff_address).toMatchObject({ latitude: 33.3, longitude: 44.4 });
  });

  test("that is not whole or names what is not there is refused by name", async () => {
    const id = randomUUID();
    const outside = { carrier_type: "external" };
    const wrong: [Record<string, unknown>, number, string, string?][] = [
      [{ payer_type: undefined }, 400, "validation_failed", "payer_type"],
      [{ payer_type: "both" }, 400, "validation_failed", "payer_type"],
      [{ payment_method: 1 }, 400, "validation_failed", "payment_method"],
      [{ delivery_service_id: undefined }, 400, "validation_failed", "delivery_service_id"],
      [{ delivery_service_id: "x" }, 400, "invalid_uuid", "delivery_service_id"],
      [{ delivery_service_id: id }, 404, "service_not_found", "delivery_service_id"],
      [{ pickup_address_id: id }, 404, "address_not_found", "pickup_address_id"],
      [{ pickup_address_id: null }, 400, "delivery_place_required", "pickup_address_id"],
      [{ pickup_address_id: null, pickup_location: { latitude: 1 } }, 400, "invalid_coordinates"],
      [{ pickup_warehouse_id: id }, 404, "warehouse_not_found", "pickup_warehouse_id"],
      [{ customer_id: id }, 404, "customer_not_found", "customer_id"],
      [{ customer_id: tenant.driver.id }, 404, "customer_not_found", "customer_id"],
      [{ cod_amount: -1 }, 400, "validation_failed", "cod_amount"],
      [{ notes: "x".repeat(2001) }, 400, "validation_failed", "notes"],
      [{ notes: "a\u0000b" }, 400, "validation_failed"],
      [{ unit_size: "some" }, 400, "validation_failed", "unit_size"],
      [{ unit_size: 0 }, 400, "can_not_use_this_delivery_for_this_unit_size"],
      [{ barcode: "PD0000000999" }, 400, "validation_failed", "barcode"],
      [{ barcode: "DM0000000014IQ" }, 400, "validation_failed", "barcode"],
      [{ staged: true }, 400, "staging_warehouse_required", "warehouse_id"],
      [{ staged: true, warehouse_id: id }, 404, "warehouse_not_found", "warehouse_id"],
      [
        {
          ...outside,
          carrier_code: "easypost",
          staged: true,
          warehouse_id: ground.warehouse,
        },
        409,
        "delivery_goes_in_legs",
      ],
      [{ carrier_type: "external" }, 400, "carrier_code_required", "carrier_code"],
      [{ ...outside, carrier_code: "internal" }, 404, "carrier_not_found", "carrier_code"],
      [{ delivery_flow: "customer_return" }, 400, "validation_failed", "original_delivery_id"],
      [{ original_delivery_id: id, delivery_flow: "customer_return" }, 404, "delivery_not_found"],
      [{ package: { items: [{ quantity: 5_000_000 }] } }, 400, "invalid_package", "package"],
    ];
    for (const [more, status, code, field] of wrong) {
      const answer = await post(more);
      expect(answer, JSON.stringify(more)).toFailWith(status, code);
      if (field) expect(answer.body.field).toBe(field);
    }
    await newDelivery(ground, { barcode: "BOX-0001" });
    expect(await post({ barcode: "BOX-0001" })).toFailWith(409, "delivery_barcode_taken");
    const [{ n }] = await sql`select count(*)::int as n from delivery.deliveries
      where tenant_id = ${tenant.id} and parent_id is null and notes like 'xx%'`;
    expect(n).toBe(0);
  });

  test("is refused in the caller's language", async () => {
    const [ar, ku] = await Promise.all(
      (["ar", "ku"] as const).map((language) =>
        tenant.ops.in(language).post(path, order(ground, { customer_id: null, cod_amount: 1 }))
      ),
    );
    expect(ar.body.message).toContain("الدفع عند الاستلام");
    expect(ku.body.message).toContain("پارەدان لە کاتی گەیاندن");
  });

  test("knows nothing of another tenant", async () => {
    const other = await newTenant();
    const theirs = await newGround(other);
    const delivery = await newDelivery(theirs);
    expect(await tenant.ops.get(`${path}/${delivery.id}`)).toFailWith(404, "delivery_not_found");
    for (
      const step of [
        "pickup",
        "depart",
        "complete",
        "fail",
        "retry",
        "return",
        "cancel",
        "execute",
        "submit",
      ]
    ) {
      expect(await move(tenant.ops, delivery.id, step, { reason: "x" })).toFailWith(
        404,
        "delivery_not_found",
      );
    }
    expect(await post({ pickup_address_id: theirs.from })).toFailWith(404, "address_not_found");
    expect(await post({ customer_id: other.customer.id })).toFailWith(404, "customer_not_found");
    expect(await post({ delivery_service_id: theirs.service })).toFailWith(
      404,
      "service_not_found",
    );
  });
});
