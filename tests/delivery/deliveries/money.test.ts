import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  bookOf,
  checkAll,
  deliveryIn,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  order,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import { balanceOf, fundWallet, paymentsOf } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
let wallet: string;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
});
afterAll(() => checkAll(tenant));

const rowsOf = (id: string) =>
  sql`select collection_stage, cod_amount, delivery_fee_amount, amount, status, currency, driver_id
    from money.cod_collections where delivery_id = ${id} order by collected_at`;

const due = (cod: number, delivery_fee: number) => ({ cod, delivery_fee, currency: "IQD" });
const dueOf = async (person: Person, id: string) =>
  (await person.get(`${path}/${id}`)).body.delivery.cash_due;

describe("cash", () => {
  test("that is due is shown to the driver, at either end, until it is collected", async () => {
    const { id } = await newDelivery(ground, { payer_type: "sender", cod_amount: 50_000 });
    await assign(tenant, id);
    expect(await dueOf(tenant.driver, id)).toEqual({
      pickup: due(0, 2000),
      delivery: due(50_000, 0),
    });
    await moves(tenant.driver, id, "pickup");
    expect(await dueOf(tenant.driver, id)).toEqual({ pickup: due(0, 0), delivery: due(50_000, 0) });
    await moves(tenant.driver, id, "fail");
    expect(await dueOf(tenant.driver, id)).toEqual({ pickup: due(0, 0), delivery: due(50_000, 0) });
    await moves(tenant.driver, id, "return");
    expect(await dueOf(tenant.ops, id)).toEqual({ pickup: due(0, 0), delivery: due(0, 0) });
    const staged = await newDelivery(ground, {
      staged: true,
      warehouse_id: ground.warehouse,
      payer_type: "receiver",
      cod_amount: 3000,
    });
    expect(await dueOf(tenant.ops, staged.id)).toEqual({
      pickup: due(0, 0),
      delivery: due(3000, 2000),
    });
    expect(await dueOf(tenant.ops, staged.legs[0].id)).toEqual({
      pickup: due(0, 0),
      delivery: due(0, 0),
    });
  });

  test("of a sender who pays the fee is taken with the parcel, the COD at the door", async () => {
    const { id } = await newDelivery(ground, { payer_type: "sender", cod_amount: 50_000 });
    await assign(tenant, id);
    expect(await paymentsOf(id)).toEqual([]);
    const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
    await moves(tenant.driver, id, "pickup");
    expect(await rowsOf(id)).toEqual([{
      collection_stage: "pickup",
      cod_amount: 0,
      delivery_fee_amount: 2000,
      amount: 2000,
      status: "collected",
      currency: "IQD",
      driver_id: tenant.driver.id,
    }]);
    const owner = await balanceOf(wallet);
    const clearing = await bookOf(tenant, "cod_clearing");
    await moves(tenant.driver, id, "depart", ["complete", {
      cash_collected: { cod: 50_000, delivery_fee: 0 },
    }]);
    expect((await rowsOf(id))[1]).toMatchObject({
      collection_stage: "dropoff",
      cod_amount: 50_000,
      delivery_fee_amount: 0,
    });
    expect(await paymentsOf(id)).toEqual([
      { type: "COD_COLLECTION", status: "SUCCESS", payment_method: "cash", amount: 50_000 },
      { type: "DELIVERY_FEE", status: "SUCCESS", payment_method: "cash", amount: 2000 },
    ]);
    expect(await balanceOf(wallet) - owner).toBe(50_000);
    expect(await bookOf(tenant, "cod_clearing") - clearing).toBe(-50_000);
    expect(await bookOf(tenant, "driver_cash", tenant.driver.id) - held).toBe(52_000);
  });

  test("of a receiver who pays both is one row", async () => {
    const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 7000 });
    await moves(tenant.driver, id, "complete");
    expect(await rowsOf(id)).toMatchObject([{
      collection_stage: "dropoff",
      cod_amount: 7000,
      delivery_fee_amount: 2000,
      amount: 9000,
    }]);
    const { collections } = (await tenant.ops.get(`${path}/${id}`)).body.delivery;
    expect(collections).toMatchObject([{ allocations: { cod: 7000, delivery_fee: 2000 } }]);
  });

  test("that is not what is due refuses the completion and says what is", async () => {
    const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 7000 });
    for (const cash of [{ cod: 7000 }, { cod: 6999, delivery_fee: 2000 }, { delivery_fee: 2000 }]) {
      const answer = await move(tenant.driver, id, "complete", { cash_collected: cash });
      expect(answer).toFailWith(400, "cash_amount_mismatch");
      expect(answer.body).toMatchObject({
        field: "cash_collected",
        due: { cod: 7000, delivery_fee: 2000, currency: "IQD" },
        message: expect.stringMatching(/7000 IQD for the parcel and 2000 IQD for its delivery/),
      });
    }
    expect(await rowsOf(id)).toEqual([]);
    expect(await statusOf(id)).toBe("in_transit");
  });

  test("of a staged parcel is the parcel's: the fee with its first leg, the COD with its last", async () => {
    const { parent, b } = await stagedInWarehouse(ground, {
      payer_type: "sender",
      cod_amount: 3000,
    });
    expect(await rowsOf(parent.id)).toMatchObject([{ collection_stage: "pickup", amount: 2000 }]);
    const handoff = await handedTo(ground, b, tenant.driver2);
    // The cash of the first leg is not due again; the driver need not know about it.
    expect(await dueOf(tenant.driver2, b)).toEqual({ pickup: due(0, 0), delivery: due(3000, 0) });
    expect(
      await tenant.driver2.post(`/delivery/handoffs/${handoff}/pickup`, {
        cash_collected: { cod: 0, delivery_fee: 0 },
      }),
    ).toSucceed();
    await moves(tenant.driver2, b, ["complete", { cash_collected: { cod: 3000 } }]);
    expect(await dueOf(tenant.driver2, b)).toEqual({ pickup: due(0, 0), delivery: due(0, 0) });
    expect(await rowsOf(parent.id)).toMatchObject([
      { collection_stage: "pickup", driver_id: tenant.driver.id },
      { collection_stage: "dropoff", cod_amount: 3000, driver_id: tenant.driver2.id },
    ]);
  });

  test("of a sender is taken once, however many drivers have the parcel", async () => {
    await sql`update delivery.delivery_services set allowed_delivery_attempts = 5 where id = ${ground.service}`;
    const { id } = await deliveryIn(ground, "failed", { payer_type: "sender" });
    await moves(tenant.ops, id, ["retry", { reassign: true }]);
    await assign(tenant, id, tenant.driver2);
    await moves(tenant.driver2, id, "pickup", "complete");
    expect(await rowsOf(id)).toMatchObject([{
      collection_stage: "pickup",
      driver_id: tenant.driver.id,
    }]);
  });

  test("has the decimals of the tenant's currency", async () => {
    const answer = await tenant.ops.post(path, order(ground, { cod_amount: 10.5 }));
    expect(answer).toFailWith(400, "too_many_decimals");
    expect(answer.body).toMatchObject({ field: "cod_amount", decimals: 0 });
  });

  test("to be credited needs somebody to credit", async () => {
    const answer = await tenant.ops.post(
      path,
      order(ground, { customer_id: null, cod_amount: 10 }),
    );
    expect(answer).toFailWith(400, "customer_required_for_cod");
    expect(await tenant.ops.post(path, order(ground, { customer_id: null }))).toSucceed(201);
  });

  test("of an institution goes to the institution", async () => {
    const its = await fundWallet(tenant, "institution", tenant.institution.id, 0);
    const { id } = await newDelivery(ground, {
      customer_id: tenant.institution.id,
      cod_amount: 4000,
    });
    await assign(tenant, id);
    await moves(tenant.driver, id, "pickup", "complete");
    expect(await balanceOf(its)).toBe(4000);
  });
});

test("a fee that is unpaid at the gateway is collected in cash", async () => {
  const { id } = await newDelivery(ground, { payer_type: "sender", payment_method: "gateway" });
  expect(await paymentsOf(id)).toEqual([]);
  const { delivery } = (await tenant.ops.get(`/delivery/deliveries/${id}`)).body;
  expect(delivery.cash_due).toMatchObject({
    pickup: { cod: 0, delivery_fee: delivery.delivery_fee },
    delivery: { cod: 0, delivery_fee: 0 },
  });
  expect(delivery.delivery_fee).toBeGreaterThan(0);
});

describe("the price", () => {
  const box = {
    items: [{ name: "Box", weight: 12, length: 20, width: 20, height: 20, quantity: 2 }],
  };

  test("is that of the preview, whatever the package is called", async () => {
    await saveSettings(tenant.id, "general.unit_size", { unit_weight: 5, unit_length: 10 });
    for (
      const sent of [{ package: box }, { package_details: box }, {
        package_details: box,
        package: {},
      }]
    ) {
      const preview = await tenant.ops.post("/delivery/price", {
        delivery_service_id: ground.service,
        ...sent,
      });
      expect(preview).toSucceed();
      const made = await newDelivery(ground, { unit_size: undefined, ...sent });
      const { price, unit_size, unit_size_source } = preview.body;
      expect(made).toMatchObject({ price, unit_size, unit_size_source });
      expect(unit_size_source).toBe("package_details");
    }
  });

  test("is refused as the preview refuses it", async () => {
    const bad: [Record<string, unknown>, string, Record<string, unknown>][] = [
      [{ unit_size: 500 }, "can_not_use_this_delivery_for_this_unit_size", {
        violation: "above_maximum",
        allowed_unit_max: 100,
      }],
      [{ package: { items: [{ weight: -1 }] } }, "invalid_package", { field: "package" }],
      [{ package_details: { items: [{ weight: "x" }] } }, "invalid_package", {
        field: "package_details",
      }],
    ];
    for (const [more, code, fields] of bad) {
      for (const where of [path, "/delivery/price"]) {
        const answer = await tenant.ops.post(where, order(ground, more));
        expect(answer).toFailWith(400, code);
        expect(answer.body).toMatchObject(fields);
      }
    }
  });
});
