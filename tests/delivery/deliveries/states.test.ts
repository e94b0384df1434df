import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  order,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const steps: Record<string, [allowed: string[], to: string, body?: Record<string, unknown>]> = {
  submit: [["draft"], "pending"],
  pickup: [["assigned", "accepted"], "picked_up"],
  depart: [["picked_up"], "in_transit"],
  complete: [["picked_up", "in_transit"], "delivered"],
  fail: [["picked_up", "in_transit"], "failed", { reason: "absent" }],
  retry: [["failed"], "in_transit", { override_reason: "the customer called" }],
  return: [["picked_up", "in_transit", "failed"], "returned"],
  cancel: [["draft", "pending", "assigned", "accepted"], "cancelled", { reason: "no" }],
};
const statuses = [
  "draft",
  "pending",
  "assigned",
  "accepted",
  "picked_up",
  "in_transit",
  "delivered",
  "failed",
  "returned",
  "cancelled",
];

const from = (status: string) =>
  Object.entries(steps).filter(([, [allowed]]) => allowed.includes(status));

test.each(statuses.flatMap((status) => from(status).map(([step]) => [status, step] as const)))(
  "from %s, %s is a legal move",
  async (status, step) => {
    const [, to, body] = steps[step]!;
    const { id } = await deliveryIn(ground, status);
    expect(await statusOf(id)).toBe(status);
    expect(await move(tenant.ops, id, step, body)).toSucceed(200);
    expect(await statusOf(id)).toBe(to);
  },
);

test.each(statuses)("from %s every other move is refused, and moves nothing", async (status) => {
  const { id } = await deliveryIn(ground, status);
  expect(await statusOf(id)).toBe(status);
  for (const [step, [allowed, to, body]] of Object.entries(steps)) {
    if (allowed.includes(status)) continue;
    const answer = await move(tenant.ops, id, step, body);
    expect(answer, step).toFailWith(409, "invalid_status_transition");
    expect(answer.body).toMatchObject({ from: status, to });
    expect(await statusOf(id), step).toBe(status);
  }
});

test("the database refuses what no core may do", async () => {
  const { id } = await deliveryIn(ground, "delivered");
  await expect(sql`update delivery.deliveries set status = 'pending' where id = ${id}`).rejects
    .toMatchObject({ message: "invalid_status_transition" });
});

test("the database knows these moves of a delivery, and no other", async () => {
  const known: Record<string, string[]> = {
    draft: ["pending", "cancelled"],
    pending: ["assigned", "accepted", "in_transit", "cancelled", "returned"],
    assigned: ["pending", "accepted", "picked_up", "returned", "cancelled"],
    accepted: ["pending", "picked_up", "returned", "cancelled"],
    picked_up: ["in_transit", "delivered", "failed", "returned"],
    in_transit: ["pending", "delivered", "failed", "returned"],
    failed: ["in_transit", "pending", "returned", "cancelled"],
    returned: [],
    delivered: [],
    cancelled: [],
  };
  const all = Object.keys(known);
  const rows = await sql<{ was: string; becomes: string }[]>`
    select f.was, t.becomes from unnest(${all}::text[]) f (was) cross join unnest(${all}::text[]) t (becomes)
    where delivery.move_is_legal('standard', f.was, t.becomes)`;
  for (const was of all) {
    expect(rows.filter((row) => row.was === was).map(({ becomes }) => becomes).sort(), was)
      .toEqual([...known[was]].sort());
  }
});

describe("a delivery", () => {
  test("is moved by its driver and operations, and by nobody else", async () => {
    const { id } = await deliveryIn(ground, "picked_up");
    const wrong: [Person, number, string][] = [
      [tenant.driver2, 404, "delivery_not_found"],
      [tenant.customer, 403, "forbidden"],
      [tenant.institution, 403, "forbidden"],
      [tenant.staff, 403, "forbidden"],
      [tenant.warehouse, 403, "forbidden"],
      [nobody, 401, "unauthorized"],
    ];
    for (const step of ["pickup", "depart", "complete", "fail", "retry", "return"]) {
      for (const [person, status, code] of wrong) {
        expect(await move(person, id, step, { reason: "x" })).toFailWith(status, code);
      }
    }
    expect(await statusOf(id)).toBe("picked_up");
  });

  test("is not moved by the driver who had it before", async () => {
    const { id } = await deliveryIn(ground, "failed");
    await sql`update delivery.delivery_services set allowed_delivery_attempts = 9 where id = ${ground.service}`;
    await moves(tenant.ops, id, ["retry", { reassign: true }]);
    expect((await tenant.driver.get(`${path}/${id}`)).status).toBe(200);
    await assign(tenant, id, tenant.driver2);
    for (const step of ["pickup", "depart", "complete", "fail"]) {
      expect(await move(tenant.driver, id, step, { reason: "x" }))
        .toFailWith(409, "assignment_ended");
    }
    await moves(tenant.driver2, id, "pickup", "complete");
  });

  test("is not moved before its driver has accepted it", async () => {
    const { id } = await newDelivery(ground);
    await assign(tenant, id, tenant.driver, "pending");
    expect(await move(tenant.driver, id, "pickup")).toFailWith(409, "assignment_not_accepted");
  });

  test("is ordered by customers and institutions for themselves, by drivers and warehouses for nobody", async () => {
    const own = await tenant.customer.post(path, order(ground, { customer_id: undefined }));
    expect(own).toSucceed(201);
    const [row] =
      await sql`select customer_id, created_by from delivery.deliveries where id = ${own.body.id}`;
    expect(row).toEqual({ customer_id: tenant.customer.id, created_by: tenant.customer.id });
    const its = await tenant.institution.post(path, order(ground, { customer_id: undefined }));
    expect(its).toSucceed(201);
    expect(await tenant.institution.post(path, order(ground))).toFailWith(403, "forbidden");
    for (const person of [tenant.driver, tenant.warehouse, tenant.staff]) {
      expect(await person.post(path, order(ground))).toFailWith(403, "forbidden");
    }
    expect(await nobody.post(path, order(ground))).toFailWith(401, "unauthorized");
    expect(await move(tenant.institution, own.body.id, "cancel", { reason: "x" }))
      .toFailWith(404, "delivery_not_found");
    await moves(tenant.customer, own.body.id, ["cancel", { reason: "mine" }]);
    await assign(tenant, its.body.id);
    expect(await move(tenant.institution, its.body.id, "cancel", { reason: "late" }))
      .toFailWith(409, "invalid_status_transition");
  });

  test("is read by the people whose own it is, in the list as by id", async () => {
    const { id } = await deliveryIn(ground, "accepted");
    for (
      const [person, sees] of [
        [tenant.ops, true],
        [tenant.staff, true],
        [tenant.driver, true],
        [tenant.customer, true],
        [tenant.driver2, false],
        [tenant.institution, false],
      ] as const
    ) {
      expect((await person.get(`${path}/${id}`)).status).toBe(sees ? 200 : 404);
      const { data: deliveries } = (await person.get(path, { query: { limit: 100 } })).body;
      expect(deliveries.some((row: { id: string }) => row.id === id)).toBe(sees);
    }
  });
});

describe("attempts", () => {
  test("beyond what the service allows need an override of operations", async () => {
    await sql`update delivery.delivery_services set allowed_delivery_attempts = 2 where id = ${ground.service}`;
    const { id } = await deliveryIn(ground, "in_transit");
    await moves(tenant.driver, id, "fail", "retry", "fail");
    const refused = await move(tenant.driver, id, "retry");
    expect(refused).toFailWith(409, "delivery_attempts_exhausted");
    expect(refused.body).toMatchObject({ attempts_used: 2, allowed_delivery_attempts: 2 });
    expect(await move(tenant.driver, id, "retry", { override_reason: "please" }))
      .toFailWith(403, "forbidden");
    expect(await move(tenant.ops, id, "retry")).toFailWith(409, "delivery_attempts_exhausted");
    const { delivery } = await moves(tenant.ops, id, ["retry", {
      override_reason: "the customer called",
    }]);
    expect(delivery).toMatchObject({
      status: "in_transit",
      attempts_used: 2,
      status_reason: "the customer called",
    });
    await moves(tenant.driver, id, "complete");
  });

  test("of an outbound leg are its parcel's, and another driver gets it through the warehouse", async () => {
    const { parent, b } = await stagedInWarehouse(ground);
    await takenOver(ground, b);
    await moves(tenant.driver, b, "fail");
    const [row] =
      await sql`select status, status_reason, attempts_used from delivery.deliveries where id = ${parent.id}`;
    expect(row).toEqual({ status: "failed", status_reason: "absent", attempts_used: 1 });
    expect(await move(tenant.ops, b, "retry", { reassign: true })).toFailWith(
      409,
      "return_through_warehouse",
    );
    await moves(tenant.driver, b, "retry", "complete");
  });
});

describe("proofs", () => {
  test("that the tenant or the service asks for must be there", async () => {
    await saveSettings(tenant.id, "delivery.proof_settings", {
      pickup: { photo_required: true },
      delivery: { signature_required: true },
    });
    const { id } = await newDelivery(ground);
    await assign(tenant, id);
    expect((await tenant.driver.get(`${path}/${id}`)).body.delivery.proof_requirements).toEqual({
      pickup: { photo_required: true, signature_required: false },
      delivery: { photo_required: false, signature_required: true },
    });
    const refused = await move(tenant.driver, id, "pickup");
    expect(refused).toFailWith(400, "delivery_proof_required");
    expect(refused.body).toMatchObject({ field: "proof.photo_urls", stage: "pickup" });
    expect(await statusOf(id)).toBe("accepted");
    const upload = await tenant.driver.post(`${path}/${id}/proof-uploads`, {
      stage: "pickup",
      kind: "photo",
      content_type: "image/jpeg",
    });
    expect(upload).toSucceed(201);
    const put = await fetch(upload.body.data.upload_url, {
      method: "PUT",
      headers: { "content-type": "image/jpeg" },
      body: new Uint8Array([255, 216, 255, 224]),
    });
    expect(put.status).toBe(200);
    const photo = upload.body.data.path;
    expect(photo.startsWith(`${tenant.id}/deliveries/${id}/pickup-photo-`)).toBe(true);
    await moves(tenant.driver, id, ["pickup", { proof: { photo_urls: [photo] } }]);
    expect(await move(tenant.driver, id, "complete", { proof: { photo_urls: [photo] } }))
      .toFailWith(400, "delivery_proof_required");
    expect(
      await move(tenant.driver, id, "complete", {
        proof: { signature_url: photo.replace(tenant.id, ground.service) },
      }),
    ).toFailWith(400, "invalid_proof_url");
    await moves(tenant.driver, id, ["complete", {
      proof: { signature_url: "https://example.com/s.png", signed_by: "Ali" },
    }]);
    const unlinked = await tenant.ops.get(`${path}/${id}`);
    expect(unlinked.body.delivery.proofs[0].link).toBeUndefined();
    const again = { headers: { "if-none-match": unlinked.headers.get("etag")! } };
    expect((await tenant.ops.get(`${path}/${id}`, again)).status).toBe(304);
    const { proofs } =
      (await tenant.ops.get(`${path}/${id}`, { query: { include: "proof_links" } })).body.delivery;
    expect(proofs).toMatchObject([
      { stage: "pickup", kind: "photo", url: photo },
      { stage: "delivery", kind: "signature", signed_by: "Ali", link: "https://example.com/s.png" },
    ]);
    expect((await fetch(proofs[0].link)).status).toBe(200);
    await saveSettings(tenant.id, "delivery.proof_settings", { pickup: {}, delivery: {} });
  });
});

describe("carriers", () => {
  test("take over what waits, and give it back", async () => {
    const { id } = await newDelivery(ground);
    const change = (body: unknown) => tenant.ops.patch(`${path}/${id}/carrier`, body);
    expect(await change({ carrier_type: "external" })).toFailWith(400, "carrier_code_required");
    const unknown = await change({ carrier_type: "external", carrier_code: "internal" });
    expect(unknown).toFailWith(404, "carrier_not_found");
    expect(unknown.body.field).toBe("carrier_code");
    const out = await change({ carrier_type: "external", carrier_code: "easypost" });
    expect(out).toSucceed();
    expect(out.body.delivery).toMatchObject({ carrier_type: "external", carrier_code: "easypost" });
    const known = await change({ carrier_type: "external", carrier_code: "EasyPost" });
    expect(known.body.delivery.carrier_code).toBe("easypost");
    expect((await change({ carrier_type: "internal" })).body.delivery.carrier_code).toBeNull();
    const moving = await deliveryIn(ground, "picked_up");
    const late = await tenant.ops.patch(`${path}/${moving.id}/carrier`, {
      carrier_type: "internal",
    });
    expect(late).toFailWith(409, "invalid_status_transition");
    expect(late.body.message).toBe("In the status picked up a delivery keeps its carrier.");
    expect(await tenant.customer.patch(`${path}/${id}/carrier`, { carrier_type: "internal" }))
      .toFailWith(403, "forbidden");
  });

  test("of the company's own arrangement carry by hand; whose cash is to be accounted for is corrected on the way", async () => {
    const outside = { carrier_type: "external", carrier_code: "Uncle Ali's vans" };
    const { id } = await newDelivery(ground, { ...outside, cod_amount: 5_000 });
    await moves(tenant.ops, id, "depart");
    const took = { cash_collected: { cod: 5_000, delivery_fee: 2_000 } };
    const refused = await move(tenant.ops, id, "complete", took);
    expect(refused).toFailWith(409, "delivery_has_no_driver");
    expect(refused.body.message).toContain("Uncle Ali's vans");
    const change = (body: unknown) => tenant.ops.patch(`${path}/${id}/carrier`, body);
    expect(await change({ carrier_type: "internal" })).toFailWith(409, "invalid_status_transition");
    expect(await change({ carrier_type: "external", carrier_code: "easypost" })).toSucceed(200);
    expect(await move(tenant.ops, id, "complete", took)).toSucceed(200);
    const [owed] =
      await sql`select carrier_code, cod_amount::int as cod from money.carrier_collections
      where delivery_id = ${id}`;
    expect(owed).toEqual({ carrier_code: "easypost", cod: 5_000 });
    const free = await newDelivery(ground, {
      ...outside,
      payer_type: "sender",
      payment_method: "wallet",
    });
    await moves(tenant.ops, free.id, "depart", "complete");
  });
});
