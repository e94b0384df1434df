/** The reasons that a company gives its drivers to choose from when an attempt does not deliver. */
import { beforeAll, expect, test } from "vitest";
import { deliveryIn, newGround } from "../../support/deliveries.ts";
import { report } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const path = "/delivery/attempt-reasons";
const save = (at: Tenant, settings: Record<string, unknown>) =>
  at.admin.put(`/tenants/${at.id}/settings`, { delivery: { attempts: { settings } } });
const label = { en: "Dog at the gate", ar: "كلب عند الباب", ku: "سەگ لە دەرگا" };
const dog = { value: "dog", label, kind: "failed", counts: false };

test("of a result for which the company has none, the refusal says so", async () => {
  const at = await newTenant();
  const { id } = await deliveryIn(await newGround(at), "in_transit");
  expect(await save(at, { reasons: [dog] })).toSucceed(200);
  const day = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  const none = await report(at.driver, id, { result: "postponed", postponed_to: day });
  expect(none).toFailWith(400, "outcome_evidence_required");
  expect(none.body.message).toContain("offers no reason for this result");
  const missing = await report(at.driver, id, { result: "failed" });
  expect(missing.body.message).toBe("What this reason needs is missing: reason.");
});

test("without settings there are twelve, in three languages, and postponing never counts", async () => {
  const answer = await tenant.driver.get(path);
  expect(answer).toSucceed(200);
  const { data } = answer.body;
  expect(data.map(({ value }: { value: string }) => value)).toEqual([
    "no_answer",
    "phone_off",
    "wrong_number",
    "not_at_place",
    "wrong_address",
    "closed",
    "postponed",
    "refused",
    "refused_price",
    "damaged",
    "not_ordered",
    "no_access",
  ]);
  for (const reason of data) {
    const { en, ar, ku } = reason.label_translations;
    expect(new Set([en, ar, ku]).size, reason.value).toBe(3);
    if (reason.kind === "postponed") expect(reason.counts).toBe(false);
  }
  expect(data[0].label).toBe("No answer");
  const arabic = await tenant.ops.in("ar").get(path);
  expect(arabic.body.data[0].label).toBe(data[0].label_translations.ar);
  const refusals = await tenant.ops.get(path, { query: { kind: "refused" } });
  expect(refusals.body.data.map(({ value }: { value: string }) => value))
    .toEqual(["refused", "refused_price", "damaged", "not_ordered"]);
});

test("a company's own take their place, null brings the defaults back", async () => {
  expect(await save(tenant, { reasons: [dog, { ...dog, value: "flood", needs: { photo: true } }] }))
    .toSucceed(200);
  const { data } = (await tenant.driver.get(path)).body;
  expect(data).toEqual([
    {
      ...dog,
      label: label.en,
      label_translations: label,
      needs: { photo: false, note: false, place: false },
    },
    {
      ...dog,
      value: "flood",
      label: label.en,
      label_translations: label,
      needs: { photo: true, note: false, place: false },
    },
  ]);
  expect((await other.driver.get(path)).body.data).toHaveLength(12);
  expect(await save(tenant, { reasons: null })).toSucceed(200);
  expect((await tenant.driver.get(path)).body.data).toHaveLength(12);
});

test("the group shows what holds, and can be sent back whole", async () => {
  const read = async () =>
    (await other.admin.get(`/tenants/${other.id}/settings`, {
      query: { keys: "delivery.attempts" },
    })).body.delivery.attempts.settings;
  const settings = await read();
  expect(settings.reasons).toHaveLength(12);
  expect(await save(other, settings)).toSucceed(200);
  expect(await read()).toEqual(settings);
});

test.each([
  ["no reason at all", { reasons: [] }],
  ["a value twice", { reasons: [dog, dog] }],
  ["a postponement that counts", { reasons: [{ ...dog, kind: "postponed", counts: true }] }],
  ["an unknown kind", { reasons: [{ ...dog, kind: "lost" }] }],
  ["a label in no language", { reasons: [{ ...dog, label: {} }] }],
  ["an unknown need", { reasons: [{ ...dog, needs: { video: true } }] }],
  ["more than fifty", {
    reasons: Array.from({ length: 51 }, (_, n) => ({ ...dog, value: `dog_${n}` })),
  }],
  ["a misspelt key", { reason: [dog] }],
])("%s is refused", async (_, settings) => {
  const answer = await save(other, settings);
  expect(answer).toFailWith(400, "validation_failed");
  expect(answer.body.field).toMatch(/^delivery\.attempts\.settings/);
});

test("an unknown kind is refused", async () => {
  expect(await tenant.ops.get(path, { query: { kind: "lost" } })).toFailWith(
    400,
    "validation_failed",
  );
});

test("it is for drivers and operations", async () => {
  await expectGuarded({ method: "GET", path }, { denied: [tenant.customer, tenant.institution] });
});
