/** Owners hear of their statements: made, paid, taken as unpaid again, void. */
import { expect, test } from "vitest";
import {
  cancel,
  newMerchant,
  opened,
  pay,
  reverse,
  sound,
} from "../../support/merchant-statements.ts";

test("the owner is notified of each step of a statement, and nobody else", async () => {
  const { tenant } = await newMerchant([7_000]);
  const first = await opened(tenant);
  expect(await pay(tenant.admin, first.id, { reference: "B-77" })).toSucceed(200);
  expect(await reverse(tenant.admin, first.id)).toSucceed(200);
  expect(await cancel(tenant.admin, first.id, { reason: "Doubled" })).toSucceed(200);
  const { body } = await tenant.customer.get("/tenants/me/notifications");
  const said = { statement_id: first.id, number: first.number, net: first.net, currency: "IQD" };
  expect(
    body.data.map(({ type, payload }: Record<string, unknown>) => ({ type, payload })).reverse(),
  )
    .toEqual([
      { type: "statement_opened", payload: said },
      { type: "statement_paid", payload: expect.objectContaining({ ...said, reference: "B-77" }) },
      {
        type: "statement_reversed",
        payload: expect.objectContaining({ ...said, reason: "Typed twice" }),
      },
      { type: "statement_voided", payload: { ...said, reason: "Doubled" } },
    ]);
  const { body: paid } = await tenant.customer.get("/tenants/me/notifications", {
    query: { type: "statement_paid", language: "en" },
  });
  expect(paid.data[0].message).toBe(`Statement ${first.number} was paid: ${first.net} IQD.`);
  for (const person of [tenant.admin, tenant.ops, tenant.institution]) {
    const { body: others } = await person.get("/tenants/me/notifications", {
      query: { type: "statement_opened" },
    });
    expect(others.data).toEqual([]);
  }
  await sound(tenant);
});
