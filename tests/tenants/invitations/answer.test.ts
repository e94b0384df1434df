/** An invitation is accepted or declined by its addressee, once. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, nobody, type Person, signedIn } from "../../support/api.ts";
import { claimsOf, mailsTo, signIn, signUp } from "../../support/auth.ts";
import { sql } from "../../support/db.ts";
import {
  accept,
  account,
  address,
  as,
  delivered,
  invited,
  membershipsOf,
  mine,
} from "../../support/invitations.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

const decline = (who: Person, id: string) => who.post(`/tenants/me/invitations/${id}/decline`);

let a: Tenant;
let b: Tenant;
let system: Person;
beforeAll(async () => {
  [a, b, system] = await Promise.all([newTenant(), newTenant(), newSystemAdmin()]);
});

describe("answering", () => {
  test("declines, and is asked again only by a new invitation", async () => {
    const { email, id, who } = await account();
    const first = await invited(a, email);
    expect((await decline(who, first.id)).body.data.invitation.status).toBe("declined");
    expect(await accept(who, first.id)).toFailWith(409, "invitation_not_pending");
    expect(await membershipsOf(id)).toEqual([]);
    expect((await invited(a, email)).id).not.toBe(first.id);
  });

  test("is the addressee's alone, and no program's", async () => {
    const { email } = await account();
    const { id } = await invited(a, email);
    const { who: another } = await account();
    for (const answer of [accept, decline]) {
      for (const who of [another, a.admin, b.admin, system]) {
        expect(await answer(who, id)).toFailWith(404, "invitation_not_found");
      }
      expect(await answer(nobody, id)).toFailWith(401, "unauthorized");
      expect(await answer(another, "none")).toFailWith(400, "invalid_uuid");
      expect(await answer(another, crypto.randomUUID())).toFailWith(404, "invitation_not_found");
    }
    expect(await nobody.get("/tenants/me/invitations")).toFailWith(401, "unauthorized");
  });

  test("finds nothing once the company is archived", async () => {
    const gone = await newTenant();
    const { email, id, who } = await account();
    const invitation = await invited(gone, email);
    await sql`update tenancy.tenants set status = 'archived' where id = ${gone.id}`;
    for (const answer of [accept, decline]) {
      expect(await answer(who, invitation.id)).toFailWith(404, "invitation_not_found");
    }
    expect(await membershipsOf(id)).toEqual([]);
  });

  test("by an account whose address is not confirmed finds nothing", async () => {
    const email = address();
    const id = await signUp(email, "long enough", {}, false);
    const invitation = await invited(a, email);
    await delivered(invitation.id);
    expect(await mailsTo(email)).toEqual([]);
    expect(await mine(signedIn(id, null))).toEqual([]);
    expect(await accept(signedIn(id, null), invitation.id)).toFailWith(404, "invitation_not_found");
  });

  test("twelve times at once makes one member; a replay answers alike", async () => {
    const { email, id, who } = await account();
    const invitation = await invited(a, email, { tenant_user_type: "driver", roles: ["driver"] });
    const key = { "idempotency-key": crypto.randomUUID() };
    const first = await accept(who, invitation.id, key);
    const rest = await Promise.all(Array.from({ length: 12 }, () => accept(who, invitation.id)));
    expect(first).toSucceed(200);
    for (const answer of rest) expect(answer).toFailWith(409, "invitation_not_pending");
    expect((await accept(who, invitation.id, key)).body).toEqual(first.body);
    expect(await membershipsOf(id)).toHaveLength(1);
    expect(await sql`select status from delivery.drivers where user_id = ${id}`)
      .toEqual([{ status: "active" }]);
    expect(await sql`select currency from money.accounts where owner_user_id = ${id}`)
      .toEqual([{ currency: "IQD" }]);
  });

  test("and revoking at the same moment: one of them holds", async () => {
    for (let round = 0; round < 6; round++) {
      const { email, id, who } = await account();
      const invitation = await invited(a, email);
      const [yes, no] = await Promise.all([
        accept(who, invitation.id),
        a.admin.delete(`/tenants/${a.id}/invitations/${invitation.id}`),
      ]);
      expect([yes.status, no.status].sort()).toEqual([200, 409]);
      expect(await membershipsOf(id)).toHaveLength(yes.status === 200 ? 1 : 0);
    }
  });
});

describe("a system administrator", () => {
  test("is captured by no invitation: calls without a tenant stay without one", async () => {
    const email = address();
    const id = await signUp(email, "long enough");
    await sql`insert into tenancy.system_users (user_id, role) values (${id}, 'system_admin')`;
    const invitation = await invited(a, email);
    await delivered(invitation.id);
    const session = (await signIn(email, "long enough"))!;
    expect(claimsOf(session).app_metadata).toMatchObject({ roles: ["system_admin"] });
    expect(claimsOf(session).app_metadata).not.toHaveProperty("tenant_id");
    expect(await mine(as(session))).toEqual([]);
    const { body } = await as(session).get("/tenants/me/notifications");
    expect(body.data.filter((one: Body) => one.type === "tenant_invitation")).toEqual([]);
    expect(await accept(as(session), invitation.id)).toFailWith(404, "invitation_not_found");
  });

  test("who is a member as well acts in that tenant only when the call names it", async () => {
    const email = address();
    const id = await signUp(email, "long enough");
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      values (${a.id}, ${id}, 'staff')`;
    const before = signedIn(id, a.id);
    await sql`insert into tenancy.system_users (user_id, role) values (${id}, 'system_admin')`;
    expect(claimsOf((await signIn(email, "long enough"))!).app_metadata)
      .not.toHaveProperty("tenant_id");
    expect(await before.get("/delivery/addresses")).toFailWith(400, "tenant_id_required");
    expect(await before.get("/delivery/addresses", { query: { tenant_id: a.id } })).toSucceed(200);
    const event = await before.post("/system/events", {
      event_type: "platform.incident",
      source_module: "delivery",
      entity_type: "platform",
      entity_id: crypto.randomUUID(),
      event_data: { secret: "of all tenants" },
    });
    expect(event).toSucceed(201);
    expect(event.body.event.tenant_id).toBeNull();
    expect(await before.post(`/tenants/${a.id}/switch`)).toFailWith(403, "forbidden");
  });
});
