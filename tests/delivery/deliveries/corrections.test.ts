/** Drafts whose values are taken away, and what may still be put right once a delivery is ordered. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  deliveryIn,
  type Ground,
  newDelivery,
  newGround,
  path,
} from "../../support/deliveries.ts";
import { broughtIn } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const read = async (id: string) => (await tenant.ops.get(`${path}/${id}`)).body.delivery;

test.each(["draft", "pending"])("a null takes the recipient of what is %s away", async (status) => {
  const { id } = await newDelivery(ground, { status });
  expect((await read(id)).recipient).not.toEqual({});
  expect(await tenant.ops.patch(`${path}/${id}`, { recipient: null })).toSucceed(200);
  expect((await read(id)).recipient).toEqual({});
});

test.each(["draft", "pending"])(
  "of the recipient of a %s delivery what is not sent stays, and null clears",
  async (status) => {
    const { id } = await newDelivery(ground, { status });
    const correct = async (recipient: Record<string, unknown>) => {
      expect(await tenant.ops.patch(`${path}/${id}`, { recipient })).toSucceed(200);
      return (await read(id)).recipient;
    };
    expect(await correct({ phone: "+9647700000001" }))
      .toEqual({ name: "Recipient", phone: "+9647700000001" });
    expect(await correct({ name: "Sara", floor: 3 }))
      .toEqual({ name: "Sara", phone: "+9647700000001", floor: 3 });
    expect(await correct({ phone: null })).toEqual({ name: "Sara", floor: 3 });
    expect(await correct({})).toEqual({ name: "Sara", floor: 3 });
  },
);

describe("a draft", () => {
  test("loses what is set to null, and keeps what is not named", async () => {
    const { id } = await newDelivery(ground, {
      status: "draft",
      notes: "Ring twice",
      external_reference_id: "PO-7",
      promised_at: "2096-12-01T09:00:00Z",
      cod_amount: 5000,
    });
    expect(await tenant.ops.patch(`${path}/${id}`, { notes: null, promised_at: null }))
      .toSucceed(200);
    expect(await read(id)).toMatchObject({
      notes: null,
      promised_at: null,
      external_reference_id: "PO-7",
      cod_amount: 5000,
    });
    expect(await tenant.ops.patch(`${path}/${id}`, { cod_amount: null, unit_size: 3 }))
      .toSucceed(200);
    expect(await read(id)).toMatchObject({ cod_amount: 0, unit_size: 3 });
  });

  test.each(["package", "package_details"])("loses its package by a null in %s", async (name) => {
    const { id } = await newDelivery(ground, {
      status: "draft",
      package: { items: [{ name: "Cap", quantity: 2 }] },
    });
    expect((await read(id)).items).toMatchObject([{ name: "Cap", quantity: 2 }]);
    expect(await tenant.ops.patch(`${path}/${id}`, { [name]: null })).toSucceed(200);
    const { package_details, items } = await read(id);
    expect(package_details).toBeNull();
    expect(items).toMatchObject([{ name: expect.stringMatching(/^Parcel /), quantity: 1 }]);
  });

  test("keeps its place when only another way of saying it is null", async () => {
    const { id } = await newDelivery(ground, { status: "draft" });
    expect(
      await tenant.ops.patch(`${path}/${id}`, {
        dropoff_warehouse_id: null,
        delivery_location: null,
      }),
    ).toSucceed(200);
    expect(await read(id)).toMatchObject({ dropoff_address_id: ground.to });
    expect(await tenant.ops.patch(`${path}/${id}`, { dropoff_address_id: null }))
      .toFailWith(400, "delivery_place_required");
  });
});

describe("an ordered delivery", () => {
  const corrections = {
    recipient: { name: "Zainab", phone: "+9647709998877" },
    notes: "Behind the mosque",
    external_reference_id: "PO-8",
    promised_at: "2096-12-02T10:00:00+00:00",
  };

  test.each(["pending", "accepted", "picked_up", "in_transit", "failed"])(
    "is corrected by operations while it is %s, at the same price",
    async (status) => {
      const { id } = await deliveryIn(ground, status);
      const before = await read(id);
      const answer = await tenant.ops.patch(`${path}/${id}`, corrections);
      expect(answer).toSucceed(200);
      expect(answer.body.delivery).toMatchObject({ status, price: before.price });
      expect(await read(id)).toMatchObject(corrections);
    },
  );

  test.each(["delivered", "cancelled", "returned"])("stays as it was once %s", async (status) => {
    const { id } = await deliveryIn(ground, status);
    expect(await tenant.ops.patch(`${path}/${id}`, { notes: "Late" }))
      .toFailWith(409, "delivery_ended");
  });

  test("keeps what costs or leads elsewhere, and none of the change is made", async () => {
    const { id } = await newDelivery(ground, { notes: "As ordered" });
    for (const more of [{ cod_amount: 1 }, { unit_size: 9 }, { dropoff_address_id: ground.from }]) {
      const answer = await tenant.ops.patch(`${path}/${id}`, { notes: "Other", ...more });
      expect(answer).toFailWith(409, "delivery_already_ordered");
      expect(answer.body.field).toBe(Object.keys(more)[0]);
    }
    expect(await read(id)).toMatchObject({ notes: "As ordered", cod_amount: 0 });
  });

  test("is its customer's to correct until it is picked up", async () => {
    const { id } = await deliveryIn(ground, "accepted");
    expect(await tenant.customer.patch(`${path}/${id}`, { notes: "Third floor" })).toSucceed(200);
    const gone = await deliveryIn(ground, "picked_up");
    expect(await tenant.customer.patch(`${path}/${gone.id}`, { notes: "Late" }))
      .toFailWith(409, "delivery_already_picked_up");
    expect(await tenant.driver.patch(`${path}/${id}`, { notes: "Mine" }))
      .toFailWith(403, "forbidden");
  });

  test("is the office's alone to correct while it waits in a warehouse for its next driver", async () => {
    const { id } = await deliveryIn(ground, "failed");
    await broughtIn(ground, id);
    expect(await read(id)).toMatchObject({ status: "pending" });
    for (const body of [{ notes: "Late" }, { recipient: { phone: "+9647701112233" } }]) {
      expect(await tenant.customer.patch(`${path}/${id}`, body))
        .toFailWith(409, "delivery_already_picked_up");
      expect(await tenant.ops.patch(`${path}/${id}`, body)).toSucceed(200);
    }
  });

  test("tells its driver", async () => {
    const { id, delivery_code } = await newDelivery(ground);
    const assignment = await assign(tenant, id);
    expect(await tenant.customer.patch(`${path}/${id}`, { recipient: { phone: "+9647701" } }))
      .toSucceed(200);
    const [told] = await sql`select user_id, payload from tenancy.notifications
      where tenant_id = ${tenant.id} and type = 'delivery_changed' and payload ->> 'delivery_id' = ${id}`;
    expect(told).toEqual({
      user_id: tenant.driver.id,
      payload: {
        assignment_id: assignment,
        delivery_id: id,
        delivery_code,
        changed: ["recipient"],
      },
    });
  });
});

describe("a leg that waits as a draft", () => {
  test.each(["ops", "customer"] as const)(
    "is part of an order: %s cannot write it anew",
    async (who) => {
      const parcel = await newDelivery(ground, {
        staged: true,
        warehouse_id: ground.warehouse,
        cod_amount: 7000,
      });
      const leg = parcel.legs.find((each: { leg: string }) => each.leg === "B");
      const answer = await tenant[who].patch(`${path}/${leg.id}`, {
        cod_amount: 9000,
        dropoff_address_id: ground.from,
      });
      expect(answer).toFailWith(409, "delivery_already_ordered");
      expect(await read(leg.id)).toMatchObject({ cod_amount: 7000, price: 2000, unit_size: 2 });
    },
  );

  test("is corrected with its parcel, whichever is named", async () => {
    const parcel = await newDelivery(ground, { staged: true, warehouse_id: ground.warehouse });
    const recipient = { name: "Zainab", phone: "+9647709998877" };
    expect(await tenant.ops.patch(`${path}/${parcel.legs[1].id}`, { recipient })).toSucceed(200);
    const rows = await sql`select recipient from delivery.deliveries
      where id = ${parcel.id} or parent_id = ${parcel.id}`;
    expect(rows).toHaveLength(3);
    expect(rows.map((row) => row.recipient)).toEqual([recipient, recipient, recipient]);
  });
});

describe("a staged parcel", () => {
  const external = { carrier_type: "external", carrier_code: "easypost" };

  test("is given to another company leg by leg, never as a whole", async () => {
    const staged = { staged: true, warehouse_id: ground.warehouse };
    const parcel = await newDelivery(ground, staged);
    expect(await tenant.ops.patch(`${path}/${parcel.id}/carrier`, external))
      .toFailWith(409, "delivery_goes_in_legs");
    expect(await read(parcel.id)).toMatchObject({ carrier_type: "internal", carrier_code: null });
    expect(await tenant.ops.patch(`${path}/${parcel.legs[0].id}/carrier`, external)).toSucceed(200);
  });
});

describe("a driver whose connection was lost", () => {
  test.each(["complete", "return"])(
    "repeating %s fails with the code that it is done",
    async (step) => {
      const { id } = await deliveryIn(ground, "in_transit");
      expect(await tenant.driver.post(`${path}/${id}/${step}`, {})).toSucceed(200);
      expect(await tenant.driver.post(`${path}/${id}/${step}`, {}))
        .toFailWith(409, "assignment_ended");
      expect(await tenant.driver2.post(`${path}/${id}/${step}`, {}))
        .toFailWith(404, "delivery_not_found");
      const again = { headers: { "idempotency-key": `${step}-1` } };
      const other = await deliveryIn(ground, "in_transit");
      const first = await tenant.driver.post(`${path}/${other.id}/${step}`, {}, again);
      const second = await tenant.driver.post(`${path}/${other.id}/${step}`, {}, again);
      expect(second.body).toEqual(first.body);
    },
  );
});
