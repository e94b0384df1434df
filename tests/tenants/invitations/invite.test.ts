/** Nobody who has an account joins a company without saying yes. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, type Person, signedIn } from "../../support/api.ts";
import { claimsOf, followMail, mailsTo, refresh, signIn } from "../../support/auth.ts";
import { sql } from "../../support/db.ts";
import {
  accept,
  account,
  address,
  as,
  delivered,
  gone,
  invite,
  invited,
  membershipsOf,
  mine,
  person,
} from "../../support/invitations.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { wizardBody } from "../../support/wizard.ts";

let a: Tenant;
let b: Tenant;
let system: Person;
beforeAll(async () => {
  [a, b, system] = await Promise.all([newTenant(), newTenant(), newSystemAdmin()]);
});

describe("an invitation", () => {
  test("is answered alike for a new address, an account, a system administrator", async () => {
    const { email: known } = await account();
    const [{ email: ofSystem }] =
      await sql`select email from tenancy.profiles where id = ${system.id}`;
    const shapes = [];
    for (const email of [address(), known, ofSystem]) {
      const answer = await invite(a, email, { password: "the company's word" });
      expect(answer).toSucceed(202);
      const { id, email: invitedEmail, expires_at, ...rest } = answer.body.data.invitation;
      expect(invitedEmail).toBe(email);
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      const days = (Date.parse(expires_at) - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(13.9);
      expect(days).toBeLessThan(14.1);
      shapes.push({ ...answer.body, data: { invitation: rest } });
    }
    expect(shapes[0]).toEqual({
      success: true,
      message: expect.stringContaining("invitation is on its way"),
      data: { invitation: { status: "pending" } },
    });
    expect(shapes[1]).toEqual(shapes[0]);
    expect(shapes[2]).toEqual(shapes[0]);
    const listed = await a.admin.get(`/tenants/${a.id}/invitations`, { query: { search: known } });
    expect(JSON.stringify(listed.body)).not.toContain("Their Own Name");
    expect(listed.body.data).toMatchObject([{
      email: known,
      status: "pending",
      full_name: "What The Company Typed",
      roles: ["dispatcher"],
      invited_by: { id: a.admin.id },
    }]);
  });

  test("leaves the profile of an account unseen, and no membership, until its owner accepts", async () => {
    const { email, id, who } = await account();
    const invitation = await invited(a, email, { roles: ["tenant_admin"] });
    await delivered(invitation.id);
    expect(await membershipsOf(id)).toEqual([]);
    const users = await a.admin.get(`/tenants/${a.id}/users`, { query: { search: email } });
    expect(users.body.data).toEqual([]);
    expect(claimsOf((await signIn(email, "their own secret"))!).app_metadata)
      .not.toHaveProperty("tenant_id");
    expect(await mailsTo(email)).toEqual([]);
    expect(await mine(who)).toEqual([{
      id: invitation.id,
      status: "pending",
      tenant: { id: a.id, slug: `t-${a.id}`, name: { en: "Tenant" }, logo_url: null },
      tenant_user_type: "staff",
      roles: ["tenant_admin"],
      invited_by: { id: a.admin.id, full_name: expect.any(String) },
      expires_at: invitation.expires_at,
      created_at: expect.any(String),
    }]);
    const { body } = await who.in("ar").get("/tenants/me/notifications");
    expect(body.data).toMatchObject([{
      type: "tenant_invitation",
      tenant_id: null,
      payload: { invitation_id: invitation.id },
      message: expect.stringContaining("تدعوك"),
    }]);

    const answer = await accept(who, invitation.id);
    expect(answer).toSucceed(200);
    expect(answer.body.data.invitation)
      .toEqual({ id: invitation.id, status: "accepted", tenant_id: a.id });
    expect(await mine(who)).toEqual([]);
    const session = (await signIn(email, "their own secret"))!;
    expect(claimsOf(session).app_metadata).toMatchObject({
      tenant_id: a.id,
      roles: ["tenant_admin"],
    });
    const found = await a.admin.get(`/tenants/${a.id}/users`, { query: { search: email } });
    expect(found.body.data).toMatchObject([{ id, full_name: "Their Own Name", phone: null }]);
    const [event] = await sql`select event_data from integration.system_events
      where tenant_id = ${a.id} and event_type = 'tenant_user.joined' and entity_id = ${id}`;
    expect(event.event_data).toEqual({ user_id: id, tenant_user_type: "staff", actor_id: id });
    expect(await invite(a, email)).toFailWith(409, "user_already_member");
    expect(await accept(who, invitation.id)).toFailWith(409, "invitation_not_pending");
  });

  test("to a new address makes its account, whose password counts once the mailbox is confirmed", async () => {
    const email = address();
    const { id } = await invited(a, email, { password: "the company's word" });
    await delivered(id);
    expect(await signIn(email, "the company's word")).toBeUndefined();
    expect((await mailsTo(email)).map(({ type }) => type)).toEqual(["invite"]);
    const [kept] =
      await sql`select sealed_password, i::text as row from tenancy.invitations i where id = ${id}`;
    expect(kept.sealed_password).toBeNull();
    expect(kept.row).not.toContain("the company's word");
    const session = await followMail(email);
    expect(claimsOf(session).app_metadata).not.toHaveProperty("tenant_id");
    expect(await signIn(email, "the company's word")).toBeDefined();
    expect(await accept(as(session), id)).toSucceed(200);
    expect(claimsOf(await refresh(session)).app_metadata).toMatchObject({ tenant_id: a.id });
    const found = await a.admin.get(`/tenants/${a.id}/users`, { query: { search: email } });
    expect(found.body.data).toMatchObject([{
      full_name: "What The Company Typed",
      phone: "+9647700000099",
      roles: ["dispatcher"],
    }]);
  });

  test("whose password was given to Auth makes an account of the company's, though the invitation is renewed without one meanwhile", async () => {
    const email = address();
    const { id } = await invited(a, email, { password: "the company's word" });
    const [{ step }] = await sql`select tenancy.invitation_delivery(${id}) as step`;
    expect(step).toMatchObject({ step: "make", password: expect.any(String) });
    expect((await invited(a, email)).id).toBe(id);
    const [{ creator }] = await sql`select tenancy.account_creator(${step.user_id}) as creator`;
    expect(creator).toBe(a.id);
  });

  test("without a password makes an account that nobody else can enter, so any company may have it", async () => {
    const email = address();
    const first = await invited(a, email);
    await delivered(first.id);
    const second = await invited(b, email);
    await delivered(second.id);
    const who = as(await followMail(email));
    expect((await mine(who)).map(({ tenant }) => tenant.id).sort()).toEqual([a.id, b.id].sort());
    expect(await accept(who, second.id)).toSucceed(200);
    expect(await accept(who, first.id)).toSucceed(200);
  });

  test("renews the open one of the same address, with what is sent now", async () => {
    const { email, who } = await account();
    const first = await invited(a, email);
    await sql`update tenancy.invitations set expires_at = now() - interval '1 minute' where id = ${first.id}`;
    expect(await mine(who)).toEqual([]);
    expect(await accept(who, first.id)).toFailWith(409, "invitation_not_pending");
    const listed = await a.admin.get(`/tenants/${a.id}/invitations`, {
      query: { search: email, status: "expired" },
    });
    expect(listed.body.pagination.total).toBe(1);
    const second = await invited(a, email, { roles: ["warehouse_manager"] });
    expect(second.id).toBe(first.id);
    expect(await mine(who)).toMatchObject([{ id: first.id, roles: ["warehouse_manager"] }]);
  });

  test("answers again under its Idempotency-Key, and refuses another input", async () => {
    const { email } = await account();
    const key = crypto.randomUUID();
    const first = await invite(a, email, { password: "the company's word" }, key);
    const again = await invite(a, email, { password: "the company's word" }, key);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await invite(a, email, { roles: ["tenant_admin"] }, key))
      .toFailWith(409, "idempotency_conflict");
    const kept =
      await sql`select from app.idempotency_keys k where k::text like '%the company''s word%'`;
    expect(kept).toHaveLength(0);
  });

  test.each([
    [{ email: "nour" }, "validation_failed", "email"],
    [{ password: "1234567" }, "validation_failed", "password"],
    [{ full_name: " " }, "validation_failed", "full_name"],
    [{ roles: ["system_admin"] }, "validation_failed", "roles.0"],
    [{ roles: [] }, "invalid_roles", "roles"],
  ])("%j is refused", async (more, code, field) => {
    const answer = await invite(a, address(), more);
    expect(answer).toFailWith(400, code);
    expect(answer.body.field).toBe(field);
  });

  test("is sent again and revoked by administrators; what it made and nobody used goes with it", async () => {
    const email = address();
    const { id } = await invited(a, email, { password: "the company's word" });
    await delivered(id);
    const path = `/tenants/${a.id}/invitations/${id}`;
    const resent = await a.admin.post(`${path}/resend`);
    expect(resent).toSucceed(202);
    expect(resent.body.data.invitation).toMatchObject({ id, email, status: "pending" });
    await delivered(id);
    expect(await mailsTo(email)).toHaveLength(2);
    expect(await system.post(`${path}/resend`)).toSucceed(202);
    const revoked = await a.admin.delete(path);
    expect(revoked.body.data.invitation.status).toBe("revoked");
    await gone(email);
    expect(await a.admin.delete(path)).toFailWith(409, "invitation_not_pending");
    expect(await a.admin.post(`${path}/resend`)).toFailWith(409, "invitation_not_pending");
  });

  test("revoked spares an account that was there before, or that was confirmed", async () => {
    const { email, id } = await account();
    const invitation = await invited(a, email);
    await delivered(invitation.id);
    await sql`update tenancy.invitations set account_id = ${id} where id = ${invitation.id}`;
    await a.admin.delete(`/tenants/${a.id}/invitations/${invitation.id}`);
    await delivered(invitation.id);
    expect(await sql`select from auth.users where id = ${id}`).toHaveLength(1);
  });

  test("of an address that another company invited, which nobody confirmed, brings the mail too", async () => {
    const email = address();
    const theirs = await invited(b, email);
    await delivered(theirs.id);
    const ours = await invited(a, email);
    await delivered(ours.id);
    expect(await mailsTo(email)).toHaveLength(2);
    // The account stays while one of them waits, and goes with the last.
    await b.admin.delete(`/tenants/${b.id}/invitations/${theirs.id}`);
    await delivered(theirs.id);
    expect(await sql`select from auth.users where email = ${email}`).toHaveLength(1);
    await sql`update tenancy.invitations set expires_at = now() - interval '10 days' where id = ${ours.id}`;
    await sql`select tenancy.invitations_purge()`;
    await gone(email);
  });

  test("is the administrators' of the company, and no other company's", async () => {
    const { id } = await invited(a, address());
    const paths = [
      ["POST", `/tenants/${a.id}/users`],
      ["GET", `/tenants/${a.id}/invitations`],
      ["POST", `/tenants/${a.id}/invitations/${id}/resend`],
      ["DELETE", `/tenants/${a.id}/invitations/${id}`],
    ] as const;
    for (const [method, path] of paths) {
      const body = method === "POST" ? person(address()) : undefined;
      for (const who of [a.ops, a.dispatcher, a.driver, a.customer, b.admin]) {
        expect(await who.send(method, path, body)).toFailWith(403, "forbidden");
      }
      expect(await nobody.send(method, path, body)).toFailWith(401, "unauthorized");
    }
    expect(await b.admin.delete(`/tenants/${b.id}/invitations/${id}`))
      .toFailWith(404, "invitation_not_found");
    expect(await b.admin.post(`/tenants/${b.id}/invitations/${id}/resend`))
      .toFailWith(404, "invitation_not_found");
    expect(await a.admin.delete(`/tenants/${a.id}/invitations/none`))
      .toFailWith(400, "invalid_uuid");
  });
});

test("the wizard invites an administrator who has an account, and another person may be named", async () => {
  const { email, id, who } = await account();
  const body = wizardBody();
  body.tenant.contact_info.email = email;
  const answer = await system.post("/tenants/wizard", body);
  expect(answer).toSucceed(201);
  expect(answer.body.steps).toContainEqual({ step: "admin_user", status: "invited" });
  expect(await membershipsOf(id)).toEqual([]);
  expect(await signIn(email, "Furat-secret-1")).toBeUndefined();
  const { tenant_id } = answer.body;
  const [invitation] = await mine(who);
  expect(invitation).toMatchObject({
    tenant: { id: tenant_id },
    roles: ["tenant_admin"],
    invited_by: null,
  });
  const path = `/tenants/${tenant_id}`;
  expect(await system.post(`${path}/invitations/${invitation.id}/resend`)).toSucceed(202);
  expect(await system.delete(`${path}/invitations/${invitation.id}`)).toSucceed(200);
  const other = await account();
  const named = await system.post(
    `${path}/users`,
    person(other.email, { roles: ["tenant_admin"] }),
  );
  expect(named).toSucceed(202);
  expect(await accept(other.who, named.body.data.invitation.id)).toSucceed(200);
  expect(await signedIn(other.id, tenant_id).get(`${path}/users`)).toSucceed(200);
});
