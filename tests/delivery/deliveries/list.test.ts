import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  order,
  path,
  stagedInWarehouse,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
const made: Record<string, string> = {};
const codes: Record<string, number> = {};

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  const orders: [string, Record<string, unknown>][] = [
    ["first", {
      external_reference_id: "REF-100%",
      recipient: { name: "Zainab", phone: "+964123" },
    }],
    ["second", { recipient: { name: "Omar" }, cod_amount: 5000, barcode: "BOX-0001" }],
    ["third", { customer_id: tenant.institution.id, recipient: { name: "Sara_1" } }],
    ["draft", { status: "draft" }],
  ];
  for (const [name, more] of orders) {
    const delivery = await newDelivery(ground, more);
    made[name] = delivery.id;
    codes[name] = delivery.delivery_code;
  }
  await assign(tenant, made.second);
});

const list = async (query: Record<string, unknown>, person = tenant.ops) => {
  const answer = await person.get(path, { query: query as Record<string, string> });
  expect(answer).toSucceed(200);
  return answer.body;
};
const ids = async (query: Record<string, unknown>, person = tenant.ops) =>
  (await list(query, person)).data.map(({ id }: { id: string }) => id);

describe("the list of deliveries", () => {
  test("shows the newest first, twenty of a page, with its total", async () => {
    const page = await list({});
    expect(page).toMatchObject({ pagination: { page: 1, limit: 20, total: 4 } });
    expect(page.data.map(({ id }: { id: string }) => id))
      .toEqual([made.draft, made.third, made.second, made.first]);
    expect(await list({ limit: 1000 })).toMatchObject({ pagination: { limit: 100 } });
    expect((await list({ limit: 3, page: 2 })).data).toHaveLength(1);
    expect(page.data[2]).toMatchObject({
      status: "accepted",
      cod_amount: 5000,
      price: 2000,
      customer: { id: tenant.customer.id },
      assignment: { driver_id: tenant.driver.id, status: "accepted" },
    });
  });

  test("narrows by each filter, alone and in column_filters", async () => {
    const wanted: [Record<string, unknown>, string[]][] = [
      [{ status: "accepted" }, ["second"]],
      [{ status: "draft" }, ["draft"]],
      [{ driver_id: tenant.driver.id }, ["second"]],
      [{ driver_id: tenant.driver2.id }, []],
      [{ customer_id: tenant.customer.id }, ["draft", "second", "first"]],
      [{ institution_user_id: tenant.institution.id }, ["third"]],
      [{ delivery_service_id: ground.service, status: "pending" }, ["third", "first"]],
      [{ delivery_flow: "pnd_parent" }, []],
      [{ external_reference_id: "REF-100%" }, ["first"]],
      [{ date_from: "2020-01-01", date_to: "2020-01-02" }, []],
      [{ column_filters: { cod_amount: { min: 1 } } }, ["second"]],
      [{ column_filters: { external_reference_id: "f-100%" } }, ["first"]],
      [{ column_filters: { status: "pending", payment_method: "cash" } }, ["third", "first"]],
      [{ column_filters: { delivery_code: codes.third } }, ["third"]],
      [{ sort_by: "delivery_code", sort_order: "asc", limit: 2 }, ["first", "second"]],
    ];
    for (const [query, names] of wanted) {
      expect(await ids(query), JSON.stringify(query)).toEqual(names.map((name) => made[name]));
    }
  });

  test("finds parts of number, barcode, reference, name and phone, wildcards being letters", async () => {
    const wanted: [string, string[]][] = [
      ["zain", ["first"]],
      ["100%", ["first"]],
      ["1_0%", []],
      ["a_1", ["third"]],
      ["ox-00", ["second"]],
      ["+964123", ["first"]],
      [String(codes.third).padStart(10, "0"), ["third"]],
      ["nothing like it", []],
    ];
    for (const [search, names] of wanted) {
      expect(await ids({ search }), search).toEqual(names.map((name) => made[name]));
      expect((await list({ search })).pagination.total).toBe(names.length);
    }
  });

  test("refuses filters that are none", async () => {
    for (
      const query of [{ status: "lost" }, { driver_id: "x" }, { sort_by: "price" }, {
        date_from: "soon",
      }]
    ) {
      expect((await tenant.ops.get(path, { query })).status).toBe(
        400,
      );
    }
    expect(await tenant.ops.get(path, { query: { column_filters: "{" } }))
      .toFailWith(400, "invalid_column_filters");
    expect(await nobody.get(path)).toFailWith(401, "unauthorized");
  });

  test("is a person's own, in its search and its total as well", async () => {
    expect(await ids({}, tenant.driver)).toEqual([made.second]);
    expect(await list({ search: "zain" }, tenant.driver)).toMatchObject({
      pagination: { total: 0 },
    });
    expect(await list({}, tenant.institution)).toMatchObject({ pagination: { total: 1 } });
    expect(await list({ status: "pending" }, tenant.customer)).toMatchObject({
      pagination: { total: 1 },
    });
  });
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
      [{ carrier_type: "external" }, 400, "carrier_code_required", "carrier_code"],
      [{ delivery_flow: "customer_return" }, 400, "validation_failed", "original_delivery_id"],
      [{ original_delivery_id: id, delivery_flow: "customer_return" }, 404, "delivery_not_found"],
      [{ package: { items: [{ quantity: 5_000_000 }] } }, 400, "invalid_package", "package"],
    ];
    for (const [more, status, code, field] of wrong) {
      const answer = await post(more);
      expect(answer, JSON.stringify(more)).toFailWith(status, code);
      if (field) expect(answer.body.field).toBe(field);
    }
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

describe("handoffs and receipts", () => {
  test("are listed by the record they belong to, and a driver sees only their own", async () => {
    const { b } = await stagedInWarehouse(ground);
    const handoff = await handedTo(ground, b);
    const asked = async (query: Record<string, string>, person = tenant.ops) => {
      const answer = await person.get("/delivery/handoffs", { query });
      expect(answer).toSucceed();
      return answer.body.data.map(({ id }: { id: string }) => id);
    };
    expect(await asked({ status: "pending", warehouse_id: ground.warehouse })).toEqual([handoff]);
    expect(await asked({ driver_id: tenant.driver.id })).toEqual([handoff]);
    expect(await asked({}, tenant.driver)).toEqual([handoff]);
    expect(await asked({}, tenant.driver2)).toEqual([]);
    expect(await tenant.customer.get("/delivery/handoffs")).toFailWith(403, "forbidden");
    const { data: handoffs } = (await tenant.ops.get("/delivery/handoffs")).body;
    expect(handoffs[0]).toMatchObject({
      delivery_id: b,
      driver_id: tenant.driver.id,
      status: "pending",
      custody: "warehouse",
      warehouse_id: ground.warehouse,
    });
    expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`)).toSucceed();
    await moves(tenant.driver, b, "return");
    const orders = async (query: Record<string, string>) =>
      (await tenant.warehouse.get("/warehousing/receiving-orders", { query })).body;
    const { data: pending } = await orders({ status: "pending" });
    expect(pending).toMatchObject([{ source: "delivery_return_handoff", delivery: { id: b } }]);
    expect(await orders({ search: pending[0].reference_number })).toMatchObject({
      pagination: { total: 1 },
    });
    expect(await orders({ search: "%" })).toMatchObject({ pagination: { total: 0 } });
    expect(await orders({ source: "inbound" })).toMatchObject({ pagination: { total: 1 } });
    expect(await orders({ warehouse_id: ground.warehouse })).toMatchObject({
      pagination: { total: 2 },
    });
    expect(await tenant.driver.get("/warehousing/receiving-orders")).toFailWith(403, "forbidden");
  });
});
