/** An exception of a parcel that was refused and sent back from the door: it travels as its return, and its leg is expected nowhere. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  moves,
  newGround,
  outboundOnRoad,
  statusOf,
} from "../../support/deliveries.ts";
import { photoOf, refused, report } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";
import { follow, offerTracking, tokenOf } from "../../support/tracking.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant({ settings: { "delivery.attempts": { after_last: "return" } } });
  ground = await newGround(tenant);
  await offerTracking(ground);
});
afterAll(() => checkAll(tenant));

const opened = (by: Person, id: string) =>
  by.post(`/delivery/deliveries/${id}/exceptions`, { type: "other", notes: "The box is wet" });
const pendingOf = async (id: string) =>
  (await sql`select id from warehousing.receiving_orders
    where delivery_id = ${id} and status = 'pending'`).map((row) => row.id);

describe("while the return of a refused parcel is in the van", () => {
  test.each(["the parcel", "its leg"])("an exception of %s expects nothing back", async (which) => {
    const { parent, b } = await outboundOnRoad(ground, { cod_amount: 5000 });
    const token = await tokenOf(tenant.ops, parent.id);
    const answer = await report(tenant.driver, b, refused);
    expect(answer).toSucceed(200);
    const [back] = answer.body.data.returns;
    const made = await opened(tenant.ops, which === "its leg" ? b : parent.id);
    expect(made).toSucceed(201);
    expect(made.body.receiving_order_id).toBeNull();
    expect(await pendingOf(b)).toEqual([]);
    const link = await follow(token);
    expect(link.body.data).toMatchObject({
      status: "returned",
      cash_due: null,
      trackable_until: expect.any(String),
    });
    await moves(tenant.driver, back.id, "depart", [
      "complete",
      { proof: await photoOf(tenant.driver, back.id) },
    ]);
    expect([await statusOf(parent.id), await statusOf(b)]).toEqual(["returned", "returned"]);
  });
});

test.each(["ops", "driver"] as const)(
  "a leg that is on its way into its warehouse stays expected by one receipt, of an exception by %s",
  async (by) => {
    const { b } = await outboundOnRoad(ground);
    await moves(tenant.driver, b, "fail");
    const { receiving_order_id } = await moves(tenant.driver, b, "return");
    const made = await opened(tenant[by], b);
    expect(made).toSucceed(201);
    expect(made.body.receiving_order_id).toBe(receiving_order_id);
    const [{ exception_id }] = await sql`select exception_id from warehousing.receiving_orders
      where id = ${receiving_order_id}`;
    expect(exception_id).toBe(made.body.exception.id);
    await received(ground, receiving_order_id);
    expect(await statusOf(b)).toBe("pending");
  },
);
