/** A picker is told that an order is not theirs to pick any more. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { newPerson } from "../../support/people.ts";
import { newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";

let { tenant, newOrder } = {} as Picking;
let [picker, second] = [] as Person[];
beforeAll(async () => {
  ({ tenant, newOrder } = await newPicking());
  [picker, second] = [
    await newPerson(tenant.id, "staff", "warehouse_staff"),
    await newPerson(tenant.id, "staff", "warehouse_staff"),
  ];
});

const put = (id: string, body: object) => tenant.ops.put(`${path}/${id}`, body);
/** Reasons and texts of the notifications that took an order from a person. */
async function told(person: Person, order: string, language: "en" | "ar" | "ku" = "en") {
  const { body } = await person.in(language).get("/tenants/me/notifications", {
    query: { type: "picking_withdrawn", limit: 100 },
  });
  return body.data
    .filter(({ payload }: { payload: { picking_order_id: string } }) =>
      payload.picking_order_id === order
    )
    .map((
      { payload, message }: { payload: { reason: string }; message: string },
    ) => [payload.reason, message]);
}

describe("an order that is taken from its picker", () => {
  test("by its end is cancelled, in their language, pending or in progress", async () => {
    for (const status of ["pending", "in_progress"]) {
      const { id, reference_number } = await newOrder({ assigned_to: picker.id, status });
      expect(await put(id, { status: "cancelled" })).toSucceed();
      expect(await told(picker, id, "en")).toEqual([
        ["cancelled", `Picking order ${reference_number}, which was yours, was cancelled.`],
      ]);
      expect((await told(picker, id, "ku"))[0][1]).toContain("هەڵوەشێنرایەوە");
    }
  });

  test("by another picker is given to them, and cancelled for the other alone", async () => {
    const { id, reference_number } = await newOrder({ assigned_to: picker.id });
    expect(await put(id, { assigned_to: second.id })).toSucceed();
    expect(await put(id, { status: "cancelled" })).toSucceed();
    expect(await told(picker, id)).toEqual([[
      "reassigned",
      `Picking order ${reference_number} is not yours to pick any more.`,
    ]]);
    expect((await told(second, id)).map(([reason]: string[]) => reason)).toEqual(["cancelled"]);
  });

  test("is nothing to tell once it was picked, or where the picker did it", async () => {
    const picked = await newOrder({ assigned_to: picker.id });
    expect(await put(picked.id, { status: "completed" })).toSucceed();
    expect(await put(picked.id, { assigned_to: second.id })).toSucceed();
    expect(await told(picker, picked.id)).toEqual([]);
    const own = await newOrder({ assigned_to: tenant.ops.id });
    expect(await put(own.id, { status: "cancelled" })).toSucceed();
    expect(await told(tenant.ops, own.id)).toEqual([]);
    const begun = await newOrder({ assigned_to: picker.id });
    expect(await put(begun.id, { notes: "soon", status: "in_progress" })).toSucceed();
    expect(await told(picker, begun.id)).toEqual([]);
    // They never heard of it.
    const cancelled = await newOrder({ assigned_to: picker.id, status: "cancelled" });
    expect(cancelled).toMatchObject({ status: "cancelled", assigned_to: picker.id });
    expect(await told(picker, cancelled.id)).toEqual([]);
  });
});
