/** The API reference names of each keeper of subscriptions only its own: what it may answer, and no word of the other. */
import { expect, test } from "vitest";
import type { z } from "zod";
import { company, type Keeper, merchant } from "../../../functions/webhooks/access.ts";
import { subscriptionsOf } from "../../../functions/webhooks/subscriptions/routes.ts";

const saving = (keeper: Keeper) => {
  const changes = subscriptionsOf(keeper).filter(({ path, method }) =>
    path.endsWith("/subscriptions") && method === "post" ||
    path.endsWith("/:subscription_id") && (method === "put" || method === "delete")
  );
  return {
    calls: changes.length,
    errors: changes.flatMap(({ errors = [] }) => errors),
    fields: changes.flatMap(({ response }) => Object.keys((response as z.ZodObject).shape)),
  };
};

test("only a merchant's subscription is stopped by somebody else, and hears of less than its company", () => {
  const { calls, errors, fields } = saving(merchant);
  expect(calls).toBe(3);
  expect(errors.filter((code) => code === "webhook_subscription_stopped")).toHaveLength(2);
  expect(fields).toContain("company_event_types");
  expect(fields).not.toContain("other_module_event_types");
});

test("a company's subscription hears of its module, and nobody else stops it", () => {
  const { calls, errors, fields } = saving(company);
  expect(calls).toBe(3);
  expect(errors).not.toContain("webhook_subscription_stopped");
  expect(fields).toContain("other_module_event_types");
  expect(fields).not.toContain("company_event_types");
});
