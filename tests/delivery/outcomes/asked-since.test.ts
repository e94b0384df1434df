/** A driver without a network reports after what is asked at the door was changed. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkAll, type Ground, newGround, statusOf } from "../../support/deliveries.ts";
import { cash, failed, onItsWay, report } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const save = async (group: string, settings: Record<string, unknown>) =>
  expect(
    await tenant.admin.put(`/tenants/${tenant.id}/settings`, {
      delivery: { [group]: { settings } },
    }),
  ).toSucceed(200);
const proofs = (photo_required: boolean, signature_required = false) =>
  save("proof_settings", { delivery: { photo_required, signature_required } });
const delivered = { result: "delivered", cash_collected: cash };
const label = { en: "Dog at the gate", ar: "كلب عند الباب", ku: "سەگ لە دەرگا" };
const dog = { value: "dog", label, kind: "failed", counts: true };
const now = () => new Date().toISOString();

test("a proof that was not asked for at the door is not missing", async () => {
  const id = await onItsWay(ground, "in_transit");
  const occurred_at = now();
  await proofs(true);
  await proofs(true, true);
  expect(await report(tenant.driver, id, delivered)).toFailWith(400, "delivery_proof_required");
  expect(await report(tenant.driver, id, { ...delivered, occurred_at })).toSucceed(200);
  expect(await statusOf(id)).toBe("delivered");
});

test("what was asked then and is asked still has to be there", async () => {
  await proofs(true);
  const id = await onItsWay(ground, "in_transit");
  const occurred_at = now();
  await proofs(true, true);
  const refused = await report(tenant.driver, id, { ...delivered, occurred_at });
  expect(refused).toFailWith(400, "delivery_proof_required");
  expect(refused.body.field).toBe("proofs.photo_urls");
  await proofs(false, true);
  expect(await report(tenant.driver, id, { ...delivered, occurred_at })).toSucceed(200);
  await proofs(false);
});

test("a signature that the service asks for since counts as one that the company asks for", async () => {
  const asks = async (signature_required: boolean) =>
    expect(
      await tenant.admin.put(`/delivery/services/${ground.service}`, {
        service_options: { signature_required },
      }),
    ).toSucceed(200);
  const [late, then] = await Promise.all([1, 2].map(() => onItsWay(ground, "in_transit")));
  const before = now();
  await asks(true);
  expect(await report(tenant.driver, late, delivered)).toFailWith(400, "delivery_proof_required");
  const between = now();
  await asks(false);
  await asks(true);
  const refused = await report(tenant.driver, then, { ...delivered, occurred_at: between });
  expect(refused).toFailWith(400, "delivery_proof_required");
  expect(refused.body.field).toBe("proofs.signature_url");
  expect(await report(tenant.driver, late, { ...delivered, occurred_at: before })).toSucceed(200);
  await asks(false);
  expect(await report(tenant.driver, then, { ...delivered, occurred_at: between })).toSucceed(200);
});

test("a reason counts as it was offered at the door", async () => {
  await save("attempts", { reasons: [dog] });
  const [gone, stricter, looser] = await Promise.all(
    [1, 2, 3].map(() => onItsWay(ground, "in_transit")),
  );
  const occurred_at = now();
  const attempt = { result: "failed", reason_code: "dog" };
  await save("attempts", { reasons: [{ ...dog, needs: { note: true } }] });
  expect(await report(tenant.driver, stricter, attempt))
    .toFailWith(400, "outcome_evidence_required");
  expect(await report(tenant.driver, stricter, { ...attempt, occurred_at })).toSucceed(200);
  const later = now();
  await save("attempts", { reasons: [dog] });
  expect(await report(tenant.driver, looser, { ...attempt, occurred_at: later })).toSucceed(200);
  await save("attempts", { reasons: null });
  expect(await report(tenant.driver, gone, attempt)).toFailWith(400, "invalid_reference");
  expect(await report(tenant.driver, gone, { ...attempt, occurred_at })).toSucceed(200);
});

test("a reason that is new since is taken as well", async () => {
  const occurred_at = now();
  await save("attempts", { reasons: [dog] });
  const id = await onItsWay(ground, "in_transit");
  expect(await report(tenant.driver, id, { result: "failed", reason_code: "dog", occurred_at }))
    .toSucceed(200);
  expect(
    await report(tenant.driver, await onItsWay(ground, "in_transit"), { ...failed, occurred_at }),
  )
    .toSucceed(200);
});
