/** A person who left and came back as somebody else reads manifests as who they are now. */
import { expect, test } from "vitest";
import { type Body, type Person, signedIn } from "../../support/api.ts";
import "../../support/expect.ts";
import { accept, account, invited } from "../../support/invitations.ts";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/transfer-manifests";

/** One person of a tenant, who comes in as this or that. */
async function comer(tenant: Tenant) {
  const { email, id, who } = await account();
  const inside = signedIn(id, tenant.id);
  return {
    id,
    inside,
    async comesAs(role: string) {
      const { id: invitation } = await invited(tenant, email, {
        tenant_user_type: role,
        roles: [role],
      });
      expect(await accept(who, invitation)).toSucceed(200);
    },
    async leaves() {
      expect(await inside.post(`/tenants/${tenant.id}/leave`)).toSucceed(200);
    },
  };
}

const seenBy = async (who: Person): Promise<string[]> => {
  const answer = await who.get(path);
  expect(answer).toSucceed(200);
  return answer.body.data.map((manifest: Body) => manifest.id);
};

test("an institution that drove before sees no other institution's parcels", async () => {
  const tenant = await newTenant();
  const person = await comer(tenant);
  await person.comesAs("driver");
  const driven = await newManifest(tenant, { driver: person.id, status: "in_transit" });
  expect(await seenBy(person.inside)).toEqual([driven.id]);
  await person.leaves();
  await person.comesAs("institution");
  const own = await newManifest(tenant, { institution: person.id });
  expect(await seenBy(person.inside)).toEqual([own.id]);
  expect(await person.inside.get(`${path}/${driven.id}`)).toFailWith(404, "manifest_not_found");
  expect(await person.inside.get(`${path}/${driven.id}/events`))
    .toFailWith(404, "manifest_not_found");
  await person.leaves();
  await person.comesAs("driver");
  expect(await seenBy(person.inside)).toEqual([driven.id]);
});
