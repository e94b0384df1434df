/** A copy of assignments that is kept by `updated_since` and its cursor shows each delivery as the list does, whatever changed of it. */
import { beforeEach, describe, expect, test } from "vitest";
import { amountChanges, change } from "../../support/amount-changes.ts";
import type { Answer, Body, Person } from "../../support/api.ts";
import { handOver, newDriver } from "../../support/assignments.ts";
import { settled } from "../../support/changes.ts";
import {
  assign,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  path,
} from "../../support/deliveries.ts";
import { dayIn, failed, report, undo } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { redirect } from "../../support/redirects.ts";
import { newAddress, newProcessingPoint } from "../../support/make.ts";

const list = "/delivery/assignments";
const all = { include: "customer,delivery_details,route", limit: 100 };

let tenant: Tenant;
let ground: Ground;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

/** A copy of somebody's assignments; each call reads on, compares it with the list, and answers how many rows came. */
function newCopy(by: Person, query: Record<string, string | number>) {
  const rows = new Map<string, Body>();
  let from: Record<string, string> = { updated_since: "2000-01-01" };
  return async (after: string): Promise<number> => {
    let came = 0;
    for (let more = true; more;) {
      const { body } = await by.get(list, { query: { ...query, ...from } });
      for (const row of body.assignments) rows.set(row.id, row);
      came += body.assignments.length;
      if (body.next_cursor) from = { cursor: body.next_cursor };
      more = body.has_more;
    }
    const { body } = await by.get(list, { query });
    expect([...rows.values()].toSorted(byId), after).toEqual(body.assignments.toSorted(byId));
    return came;
  };
}
const byId = (one: Body, other: Body) => one.id < other.id ? -1 : 1;

/** The driver's, the other driver's and the office's copies, whole and of some fields. */
function newCopies(drivers: Person[]) {
  const copies = [...drivers, tenant.ops].flatMap((by) => [
    newCopy(by, all),
    newCopy(by, { limit: 100 }),
    newCopy(by, { limit: 100, fields: "status,delivery" }),
  ]);
  return async (after: string): Promise<number> => {
    await settled(tenant.id, ["delivery.assignments"]);
    const came = [];
    for (const copy of copies) came.push(await copy(after));
    return Math.max(...came);
  };
}

describe("a copy of assignments", () => {
  test("follows a parcel from door to door, also that of the driver who had it before", async () => {
    const later = await newDriver(tenant);
    const { id } = await newDelivery(ground, { cod_amount: 20_000, payer_type: "sender" });
    const other = await newDelivery(ground);
    await assign(tenant, id, tenant.driver);
    await assign(tenant, other.id, tenant.driver);
    const read = newCopies([tenant.driver, later]);
    await read("the first time");
    const step = async (what: string, answer: Promise<Answer>) => {
      expect(await answer, what).toSucceed();
      expect(await read(what), what).toBeGreaterThan(0);
    };
    await step(
      "a corrected recipient",
      tenant.ops.patch(`${path}/${id}`, {
        recipient: { name: "Huda", phone: "+9647709999999" },
      }),
    );
    await step(
      "the pickup, which takes the sender's cash",
      move(tenant.driver, id, "pickup"),
    );
    await step("the departure", move(tenant.driver, id, "depart"));
    await step("an amount that the office changed", change(tenant.ops, id, 15_000));
    const asked = await change(tenant.driver, id, 12_000);
    expect(await read("a request alone")).toBe(0);
    await step(
      "the request that its owner approved",
      tenant.customer.post(
        `${amountChanges(id)}/${asked.body.data.amount_change.id}/approve`,
      ),
    );
    await step(
      "a postponement",
      report(tenant.driver, id, {
        result: "postponed",
        reason_code: "postponed",
        postponed_to: dayIn(2),
      }),
    );
    await step("a retry", move(tenant.driver, id, "retry"));
    const place = await newAddress(tenant);
    await newProcessingPoint(tenant, place);
    await step("a redirect", redirect(tenant.ops, id, place, { recipient: { name: "Ali" } }));
    await step("a failed attempt", report(tenant.driver, id, failed));
    await step("its undo", undo(tenant.driver, id));
    await step("a handover", handOver(tenant.ops, tenant.driver, later, [id]));
    const [{ id: given }] = (await later.get(list)).body.assignments;
    await step("its confirmation", later.put(`${list}/${given}`, { status: "accepted" }));
    await step("another amount", change(tenant.ops, id, 11_000));
    await step("the delivery", move(later, id, "complete"));
    expect(await read("nothing")).toBe(0);
  });

  test("follows what a staged parcel owes on both of its legs", async () => {
    const parent = await newDelivery(ground, {
      staged: true,
      warehouse_id: ground.warehouse,
      cod_amount: 20_000,
      payer_type: "sender",
    });
    const [a, b] = parent.legs.map(({ id }: Body) => id);
    await assign(tenant, a);
    const read = newCopies([tenant.driver, tenant.driver2]);
    await read("the first time");
    const step = async (what: string, answer: Promise<Answer>) => {
      expect(await answer, what).toSucceed();
      expect(await read(what), what).toBeGreaterThan(0);
    };
    await step("the pickup", move(tenant.driver, a, "pickup"));
    await step("its undo", tenant.driver.post(`${path}/${a}/pickup/undo`, { reason: "Wrong" }));
    await moves(tenant.driver, a, "pickup", "depart", "complete");
    const handoff = await handedTo(ground, b, tenant.driver2);
    await read("the handoff");
    await step(
      "a reference",
      tenant.ops.patch(`${path}/${parent.id}`, {
        external_reference_id: "R-7",
      }),
    );
    await step("the handover", tenant.driver2.post(`/delivery/handoffs/${handoff}/pickup`));
    await step("an amount of the parcel", change(tenant.ops, parent.id, 15_000));
    await step("an amount by its leg", change(tenant.ops, b, 14_000));
    await step("the departure", move(tenant.driver2, b, "depart"));
    await step(
      "a postponement",
      report(tenant.driver2, b, {
        result: "postponed",
        reason_code: "postponed",
        postponed_to: dayIn(2),
      }),
    );
    await step("a retry", move(tenant.driver2, b, "retry"));
    await step("the delivery", move(tenant.driver2, b, "complete"));
    await step("its undo", undo(tenant.driver2, b));
    expect(await read("nothing")).toBe(0);
  });
});
