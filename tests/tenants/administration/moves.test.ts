/** Moves of a tenant from status to status, and who works in which. */
import { beforeAll, expect, test } from "vitest";
import { makeTenant, tenantEvents, tenantRow } from "../../support/administration.ts";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant } from "../../support/people.ts";

let system: Person;
beforeAll(async () => {
  system = await newSystemAdmin();
});

const moves = { activate: "active", suspend: "suspended", archive: "archived" } as const;
const legal: Record<string, string[]> = {
  pending: ["active", "archived"],
  active: ["suspended", "archived"],
  suspended: ["active", "archived"],
  archived: [],
};
test.each(Object.keys(legal))(
  "from %s a tenant moves where it may and nowhere else",
  async (was) => {
    for (const [verb, becomes] of Object.entries(moves)) {
      const tenant = await makeTenant(system);
      await sql`update tenancy.tenants set status = ${was} where id = ${tenant.id}`;
      const answer = await system.post(`/tenants/${tenant.id}/${verb}`);
      if (legal[was].includes(becomes)) {
        expect(answer).toSucceed(200);
        expect(answer.body.tenant).toMatchObject({
          status: becomes,
          effective_active: becomes === "active",
        });
        const events = await tenantEvents(tenant.id);
        expect(events.at(-1)).toEqual({
          event_type: `tenant.${becomes === "active" ? "activated" : becomes}`,
          event_data: { actor_id: system.id, status: becomes, previous_status: was },
        });
      } else {
        expect(answer).toFailWith(409, "invalid_status_transition");
        expect(answer.body).toMatchObject({ from: was, to: becomes });
        expect((await tenantRow(tenant.id)).status).toBe(was);
      }
    }
  },
);

test("of many who suspend at once one does it, and one event says so", async () => {
  const tenant = await newTenant();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => system.post(`/tenants/${tenant.id}/suspend`)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)]);
  expect(await tenantEvents(tenant.id)).toHaveLength(1);
});

test("suspended, nobody of the tenant works; activated, everybody does; archived, nobody ever", async () => {
  const tenant = await newTenant();
  const calls = () =>
    Promise.all([
      tenant.admin.get(`/tenants/${tenant.id}`),
      tenant.admin.put(`/tenants/${tenant.id}`, {}),
      tenant.admin.post("/delivery/addresses", { full_address: "Street" }),
      tenant.driver.post(`/tenants/${tenant.id}/switch`),
    ]);
  await system.post(`/tenants/${tenant.id}/suspend`);
  for (const answer of await calls()) expect(answer).toFailWith(403, "tenant_inactive");
  expect(await system.get(`/tenants/${tenant.id}`)).toSucceed(200);
  await system.post(`/tenants/${tenant.id}/activate`);
  for (const answer of await calls()) expect(answer).toSucceed();
  await system.post(`/tenants/${tenant.id}/archive`);
  for (const answer of await calls()) expect(answer).toFailWith(403, "tenant_inactive");
});
