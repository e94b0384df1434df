/** Drivers and institutions hear of manifests that are made for them, and of those that are cancelled. */
import { beforeAll, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const base = "/delivery/transfer-manifests";
let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

/** The notifications that somebody has of a manifest: their types and texts. */
const noticesOf = async (who: Person, id: string) =>
  (await who.get("/tenants/me/notifications", { query: { limit: 100 } })).body.data
    .filter(({ payload }: Body) => payload.manifest_id === id)
    .map(({ type, message }: Body) => [type, message]);

test.each(["ops", "institution", "driver"] as const)("of one that %s makes", async (by) => {
  await saveSettings(tenant.id, "delivery.transfer_manifest", {
    allow_driver_create_manifest_from_form: true,
  });
  const answer = await tenant[by].post(base, {
    institution_user_id: tenant.institution.id,
    source_branch_id: await newBranch(tenant),
    creation_source: "form",
    driver_id: tenant.driver.id,
  });
  expect(answer).toSucceed(201);
  const { id, manifest_number } = answer.body.data;
  expect(await noticesOf(tenant.driver, id)).toEqual(
    by === "driver" ? [] : [["manifest_given", `Manifest ${manifest_number} was given to you.`]],
  );
  expect(await noticesOf(tenant.institution, id)).toEqual([]);
});

const cancelled = (number: string) => [[
  "manifest_cancelled",
  `Manifest ${number} was cancelled: none of its parcels is brought by it.`,
]];

test.each(["draft", "picked_up", "in_transit", "awaiting_receipt"] as const)(
  "of one that operations cancel when it is %s",
  async (status) => {
    const { id, number } = await newManifest(tenant, { status });
    const answer = await tenant.ops.post(`${base}/${id}/cancel`, { reason: "Lost" });
    expect(answer).toSucceed(200);
    for (const who of [tenant.driver, tenant.institution]) {
      expect(await noticesOf(who, id)).toEqual(cancelled(number));
    }
    expect(await noticesOf(tenant.ops, id)).toEqual([]);
    // Refused, nobody is told again.
    expect(await tenant.ops.post(`${base}/${id}/cancel`, { reason: "Lost" })).toFailWith(
      409,
      "invalid_status_transition",
    );
    expect(await noticesOf(tenant.driver, id)).toHaveLength(1);
  },
);

test("of one that its driver cancels the institution alone, and of one that nobody drives too", async () => {
  const { id, number } = await newManifest(tenant, { status: "draft" });
  expect(await tenant.driver.post(`${base}/${id}/cancel`, { reason: "No" })).toSucceed(200);
  expect(await noticesOf(tenant.institution, id)).toEqual(cancelled(number));
  expect(await noticesOf(tenant.driver, id)).toEqual([]);
  const free = await newManifest(tenant, { status: "draft", driver: null });
  expect(await tenant.ops.post(`${base}/${free.id}/cancel`, { reason: "No" })).toSucceed(200);
  expect(
    await sql`select user_id from tenancy.notifications where payload ->> 'manifest_id' = ${free.id}`,
  ).toEqual([{ user_id: tenant.institution.id }]);
});
