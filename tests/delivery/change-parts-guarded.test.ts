/** The parts of a large change of destinations are the functions' own call. */
import { expect, test } from "vitest";
import { newTenant } from "../support/people.ts";

test("nobody but the functions asks for a part", async () => {
  const { admin } = await newTenant();
  const answer = await admin.post("/delivery/internal/manifest-change-parts", {});
  expect([401, 403]).toContain(answer.status);
});
