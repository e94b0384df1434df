/** Whose an account is: nobody becomes a member with one of which somebody else may know the password. */
import { beforeAll, expect, test } from "vitest";
import { type Body, nobody, type Person, signedIn } from "../../support/api.ts";
import {
  followMail,
  mailsTo,
  refresh,
  type Session,
  signIn,
  signInByMail,
  signUp,
} from "../../support/auth.ts";
import { sql, stack } from "../../support/db.ts";
import { accept, address, as, jobsUntil } from "../../support/invitations.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { wizardBody } from "../../support/wizard.ts";

let a: Tenant;
let v: Tenant;
let system: Person;
beforeAll(async () => {
  [a, v, system] = await Promise.all([newTenant(), newTenant(), newSystemAdmin()]);
});

const person = (email: string, more: Record<string, unknown> = {}) => ({
  email,
  password: "what the company chose",
  full_name: "What The Company Typed",
  phone: "+9647700000099",
  tenant_user_type: "staff",
  roles: ["tenant_admin"],
  ...more,
});
/** An account that a company made with a password it knows. */
const made = async (tenant: Tenant, body: Record<string, unknown>): Promise<Body> =>
  (await system.post(`/tenants/${tenant.id}/members`, body)).body.user;
const invited = async (tenant: Tenant, body: Record<string, unknown>): Promise<string> =>
  (await tenant.admin.post(`/tenants/${tenant.id}/users`, body)).body.data.invitation.id;
const wizardFor = (email: string) => {
  const body = wizardBody();
  body.tenant.contact_info.email = email;
  return body;
};
const confirm = (session: Session, password: string) =>
  as(session).post("/tenants/me/confirm", { password });
const membersOf = (userId: string) =>
  sql`select tenant_id from tenancy.tenant_users where user_id = ${userId} order by created_at`;

test("an account that another company's administrator made joins only after its owner took it over", async () => {
  const email = address();
  const { id } = await made(a, person(email, { password: "known to A" }));
  const thief = (await signIn(email, "known to A"))!;

  const invitation = await invited(v, person(email));
  expect(await accept(as(thief), invitation)).toFailWith(409, "account_not_confirmed");
  expect(await membersOf(id)).toEqual([{ tenant_id: a.id }]);
  expect(await confirm(thief, "known to A as well")).toFailWith(403, "mailbox_not_proven");
  expect(await signIn(email, "known to A as well")).toBeUndefined();

  const owner = await signInByMail(email);
  expect(await accept(as(owner), invitation)).toFailWith(409, "account_not_confirmed");
  const confirmed = await confirm(owner, "known to nobody");
  expect(confirmed).toSucceed(200);
  expect(confirmed.body).toEqual({
    success: true,
    message: "The account is confirmed. Sign in with the new password.",
    confirmed_at: expect.any(String),
  });
  const session = (await signIn(email, "known to nobody"))!;
  expect(await as(session).get("/tenants/me")).toSucceed();
  expect(await signIn(email, "known to A")).toBeUndefined();
  expect((await refresh(thief)).access_token).toBeUndefined();
  expect(await as(thief).get("/tenants/me")).toFailWith(401, "unauthorized");

  expect(await accept(as(thief), invitation)).toFailWith(401, "unauthorized");
  expect(await accept(as(session), invitation)).toSucceed(200);
  const withV = { query: { tenant_id: v.id } };
  expect(await as(session).get("/delivery/addresses", withV)).toSucceed();
  expect(await as(thief).get("/delivery/addresses", withV)).toFailWith(401, "unauthorized");
  expect(await membersOf(id)).toHaveLength(2);
});

test("the administrator whom a wizard made is no other company's until the account is taken over", async () => {
  const email = address();
  expect(await system.post("/tenants/wizard", wizardFor(email))).toSucceed(201);
  const invitation = await invited(v, person(email));
  const before = (await signIn(email, "Furat-secret-1"))!;
  expect(await accept(as(before), invitation)).toFailWith(409, "account_not_confirmed");
  expect(await confirm(await signInByMail(email), "known to nobody")).toSucceed();
  const session = (await signIn(email, "known to nobody"))!;
  expect(await accept(as(session), invitation)).toSucceed(200);
});

test("an account that an invitation made with a password is the inviting company's until it is taken over", async () => {
  const email = address();
  const first = await invited(v, person(email, { password: "known to V" }));
  await jobsUntil(async () => (await mailsTo(email)).length > 0);
  const owner = await followMail(email);
  const second = await invited(a, person(email));
  expect(await accept(as(owner), second)).toFailWith(409, "account_not_confirmed");
  expect(await accept(as(owner), first)).toSucceed(200);
  expect(await confirm(owner, "known to nobody")).toSucceed();
  const session = (await signIn(email, "known to nobody"))!;
  expect(await accept(as(session), second)).toSucceed(200);
});

test("a sign-up that was never confirmed accepts nothing; once it is, it joins with its own profile", async () => {
  const email = address();
  const id = await signUp(email, "long enough", {}, false);
  const invitation = await invited(v, person(email));
  expect(await accept(signedIn(id, null), invitation)).toFailWith(404, "invitation_not_found");
  await sql`update auth.users set email_confirmed_at = now() where id = ${id}`;
  expect(await accept(signedIn(id, null), invitation)).toSucceed(200);
  const profile = await sql`select full_name, phone from tenancy.profiles where id = ${id}`;
  expect(profile).toEqual([{ full_name: "", phone: null }]);
});

test("a company invites back whom it made itself, with the account as it is", async () => {
  const email = address();
  const { id } = await made(v, person(email));
  await sql`delete from tenancy.tenant_users where tenant_id = ${v.id} and user_id = ${id}`;
  const session = (await signIn(email, "what the company chose"))!;
  expect(await accept(as(session), await invited(a, person(email))))
    .toFailWith(409, "account_not_confirmed");
  expect(await accept(as(session), await invited(v, person(email)))).toSucceed(200);
});

test("confirming may be repeated, and each time what was issued before holds no more", async () => {
  const email = address();
  await made(v, person(email));
  const owner = await signInByMail(email);
  expect(await confirm(owner, "the first one")).toSucceed();
  const first = (await signIn(email, "the first one"))!;
  expect(await as(first).get("/tenants/me")).toSucceed();
  expect(await confirm(owner, "the second one")).toSucceed();
  expect(await signIn(email, "the first one")).toBeUndefined();
  expect(await as(first).get("/tenants/me")).toFailWith(401, "unauthorized");
  expect(await signIn(email, "the second one")).toBeDefined();
});

test("nobody confirms for somebody else, and the new password is validated", async () => {
  const email = address();
  await made(v, person(email));
  const path = "/tenants/me/confirm";
  const body = { password: "long enough" };
  expect(await nobody.post(path, body)).toFailWith(401, "unauthorized");
  expect(await v.admin.post(path, body)).toFailWith(403, "mailbox_not_proven");
  expect(await system.post(path, {})).toFailWith(403, "mailbox_not_proven");
  expect((await v.admin.in("ku").post(path, body)).body.message).toMatch(/سندوقی ئیمەیڵ/);
  const service = { apikey: stack.secretKey, "x-acting-user": v.admin.id };
  expect(await nobody.post(path, body, { headers: service })).toFailWith(403, "mailbox_not_proven");
  const owner = await signInByMail(email);
  for (const password of [undefined, "short", "ق".repeat(40)]) {
    const wrong = await as(owner).post(path, { password });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("password");
  }
  expect(await signIn(email, "what the company chose")).toBeDefined();
});

test("when Auth does not take the password, nothing is confirmed", async () => {
  const email = address();
  const { id } = await made(v, person(email));
  const owner = await signInByMail(email);
  await sql`create or replace function private.test_no_password() returns trigger language plpgsql set search_path = '' as
    $$ begin raise exception 'no room'; end $$`;
  await sql.unsafe(
    `create or replace trigger test_no_password before update of encrypted_password on auth.users
    for each row when (old.id = '${id}') execute function private.test_no_password()`,
  );
  try {
    expect(await confirm(owner, "known to nobody")).toFailWith(503, "service_unavailable");
  } finally {
    await sql`drop trigger test_no_password on auth.users`;
    await sql`drop function private.test_no_password()`;
  }
  const [profile] = await sql`select proven_at from tenancy.profiles where id = ${id}`;
  expect(profile.proven_at).toBeNull();
  expect(await confirm(owner, "known to nobody")).toSucceed();
});
