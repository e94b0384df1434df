/** Everybody who works for a company or with it is erased, one after the other; their word is Arabic here. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Place } from "../../../supabase/tenant/place.ts";
import { sql } from "../../support/db.ts";
import { endAll, erased, newPlace, rowsThatSay } from "../../support/erasure.ts";
import { type Everything, fingerprintOf, newEverything } from "../../support/everything.ts";
import { saveSettings } from "../../support/people.ts";

let all: Everything;
let beside: Everything;
let place: Place;
let end = () => Promise.resolve();
let before: Record<string, string>;

beforeAll(async () => {
  ({ place, end } = await newPlace());
  [all, beside] = await Promise.all([newEverything("received"), newEverything("received")]);
  await saveSettings(all.tenant.id, "general.language", { default: "ar" });
  await sql.begin((tx) => endAll(tx, all.tenant.id));
  before = await fingerprintOf(beside.tenant.id);
}, 120_000);
afterAll(() => end());

test.each(
  [
    "institution",
    "institution2",
    "customer",
    "driver",
    "driver2",
    "dispatcher",
    "warehouse",
    "staff",
    "ops",
  ] as const,
)(
  "%s",
  async (part) => {
    const { [part]: { id }, ...tenant } = all.tenant;
    const [profile] =
      await sql`select full_name, email, phone from tenancy.profiles where id = ${id}`;
    const { failure, text } = await erased(place, tenant, { person: id, confirm: id });
    expect(failure, text).toBeUndefined();
    expect(await rowsThatSay(Object.values(profile!))).toEqual([]);
    const [after] = await sql`select full_name from tenancy.profiles where id = ${id}`;
    expect(after).toEqual({ full_name: "محذوف" });
    expect((await erased(place, tenant, { person: id })).text).toContain(
      "Nothing more is to be erased.",
    );
  },
);

test("nobody else is touched, and the lists of the company answer", async () => {
  expect(await fingerprintOf(beside.tenant.id)).toEqual(before);
  const { admin, id } = all.tenant;
  const lists =
    `/delivery/transfer-manifests /delivery/deliveries /delivery/assignments /delivery/drivers /delivery/institutions /delivery/institution-branches
    /delivery/addresses /delivery/cod-collections /delivery/cod-settlements /warehousing/picking-orders /storefront/orders
    /storefront/products /tenants/${id}/users /tenants/me/audit /webhooks/subscriptions`.split(
      /\s+/,
    );
  const answers = await Promise.all(
    lists.map(async (path) => [path, (await admin.get(path)).status]),
  );
  expect(answers.filter(([, status]) => status !== 200)).toEqual([]);
});
