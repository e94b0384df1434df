/** References and priorities of picking orders. */
import { beforeAll, describe, expect, test } from "vitest";
import { newStaff } from "../../support/packages.ts";
import { line, newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";
import { expectRefused } from "../../support/promises.ts";

let { tenant, shelf, newOrder } = {} as Picking;
beforeAll(async () => {
  ({ tenant, shelf, newOrder } = await newPicking());
  await newStaff(tenant, shelf.warehouse, tenant.staff.id);
});

describe("what identifies and ranks an order", () => {
  test("changes while it is pending, and not after", async () => {
    const order = await newOrder();
    const taken = await newOrder();
    const put = (body: object, id = order.id) => tenant.ops.put(`${path}/${id}`, body);
    const wanted = { priority: 7, reference_number: `R-${order.id}`, external_reference: "ERP-7" };
    expect(
      (await put({
        ...wanted,
        assigned_to: tenant.staff.id,
        item_details: [line(shelf, { quantity: 3 })],
      })).body.order,
    )
      .toMatchObject({ ...wanted, assigned_to: tenant.staff.id, item_details: [{ quantity: 3 }] });
    expect((await put({ external_reference: null })).body.order.external_reference).toBeNull();
    expect(await put({ reference_number: taken.reference_number }))
      .toFailWith(409, "picking_reference_exists");
    await expectRefused(tenant.ops, { method: "PUT", path: `${path}/${order.id}` }, [
      [{ priority: 1.5 }, "priority"],
      [{ priority: null }, "priority"],
      [{ reference_number: "" }, "reference_number"],
      [{ reference_number: null }, "reference_number"],
      [{ external_reference: "x".repeat(201) }, "external_reference"],
    ]);
    expect(await put({ status: "in_progress" })).toSucceed(200);
    for (const field of ["priority", "reference_number", "external_reference"] as const) {
      const answer = await put({ [field]: field === "priority" ? 8 : "other" });
      expect(answer).toFailWith(409, "picking_not_pending");
      expect(answer.body).toMatchObject({ field, status: "in_progress" });
    }
    // As it is, it may be sent along.
    expect(await put({ priority: 7, reference_number: wanted.reference_number, notes: "now" }))
      .toSucceed(200);
  });

  test("a quantity is a number of whole units, and a fraction is refused by the line's name", async () => {
    const text = (quantity: string) =>
      `{"item_details": [{"item_id": "${shelf.item}", "bin_id": "${shelf.bin}", "quantity": 1}, {"item_id": "${shelf.item}", "bin_id": "${shelf.bin}", "quantity": ${quantity}}]}`;
    const order = await newOrder();
    const put = (quantity: string) => tenant.ops.put(`${path}/${order.id}`, text(quantity));
    expect((await put("1.0")).body.order.item_details[1].quantity).toBe(1);
    const half = await put("1.5");
    expect(half).toFailWith(400, "quantity_must_be_whole");
    expect(half.body.field).toBe("item_details.1.quantity");
    expect(half.body.message).toContain("item_details.1.quantity");
  });
});
