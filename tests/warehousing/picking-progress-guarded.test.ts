/** A pick is reported by those who may see it. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newTenant } from "../support/people.ts";

test("a customer reports no progress", async () => {
  const { customer } = await newTenant();
  const answer = await customer.post(`/warehousing/picking-orders/${randomUUID()}/progress`, {
    status: "in_progress",
    items: [],
  });
  expect([400, 403, 404]).toContain(answer.status);
});
