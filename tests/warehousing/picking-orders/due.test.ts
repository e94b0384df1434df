/** When a picking order is due: a time, or a day until it ends where the company is. */
import { expect, test } from "vitest";
import { saveSettings } from "../../support/people.ts";
import { newPicking, pickingOrders as path } from "../../support/picking.ts";

test("a day is due until it ends in the company's time zone, a time when it says", async () => {
  const { tenant, wanted, newOrder } = await newPicking();
  await saveSettings(tenant.id, "general.timezone", { name: "Asia/Baghdad" });
  const order = await newOrder();
  for (
    const [due_date, end] of [
      ["2037-12-01", "2037-12-01T20:59:59.999999+00:00"],
      ["2037-12-01T10:00", "2037-12-01T07:00:00+00:00"],
      ["2037-12-01T10:00:00Z", "2037-12-01T10:00:00+00:00"],
      ["9999-12-31", "9999-12-31T20:59:59.999999+00:00"],
      [null, null],
    ]
  ) {
    const made = await tenant.ops.post(path, wanted({ due_date }));
    expect(made).toSucceed(201);
    expect(made.body.order.due_date).toBe(end);
    const changed = await tenant.ops.put(`${path}/${order.id}`, { due_date });
    expect(changed).toSucceed(200);
    expect(changed.body.order.due_date).toBe(end);
    // As it was answered it stays.
    const again = await tenant.ops.put(`${path}/${order.id}`, { due_date: end });
    expect(again.body.order.due_date).toBe(end);
  }
  const refused = await tenant.ops.post(path, wanted({ due_date: "2037-02-30" }));
  expect(refused).toFailWith(400, "validation_failed");
  expect(refused.body).toMatchObject({
    field: "due_date",
    message: expect.stringContaining("must be a date, as 2026-12-01, or"),
  });
});
