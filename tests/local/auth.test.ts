import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Mail } from "../../supabase/local/auth/mails.ts";
import { root } from "../../supabase/local/paths.ts";
import { client, signedIn, temporaryStack } from "./support.ts";

let rig: Awaited<ReturnType<typeof temporaryStack>>;
beforeAll(async () => rig = await temporaryStack());
afterAll(() => rig.close());

test("a user signs in with the right password and with no other", async () => {
  const { user, session } = await signedIn(rig.stack, "right@example.com", "the right one");
  expect(user?.email).toBe("right@example.com");
  expect(session?.expires_in).toBe(3600);
  const wrong = await client(rig.stack).auth.signInWithPassword({
    email: "right@example.com",
    password: "another",
  });
  expect(wrong.error).toMatchObject({ status: 400, code: "invalid_credentials" });
});

test("a user written by SQL signs in", async () => {
  await rig.stack
    .sql`insert into auth.users (id, aud, role, email, encrypted_password, email_confirmed_at, created_at)
    values (gen_random_uuid(), 'authenticated', 'authenticated', 'seeded@example.com',
      extensions.crypt('from a seed', extensions.gen_salt('bf')), now(), now())`;
  const { data, error } = await client(rig.stack).auth.signInWithPassword({
    email: "seeded@example.com",
    password: "from a seed",
  });
  expect(error).toBeNull();
  expect(data.user?.email).toBe("seeded@example.com");
});

test("the access token names its key and verifies against the published keys", async () => {
  const { session, user } = await signedIn(rig.stack, "token@example.com");
  const keys = createRemoteJWKSet(new URL(`${rig.stack.url}/auth/v1/.well-known/jwks.json`));
  const { payload, protectedHeader } = await jwtVerify(session!.access_token, keys, {
    issuer: `${rig.stack.url}/auth/v1`,
    audience: "authenticated",
  });
  expect(protectedHeader).toMatchObject({ alg: "ES256", kid: expect.any(String) });
  expect(payload).toMatchObject({
    sub: user!.id,
    role: "authenticated",
    aal: "aal1",
    session_id: expect.any(String),
  });
  expect(decodeProtectedHeader(await rig.stack.jwtSign({ sub: user!.id })).kid).toBe(
    protectedHeader.kid,
  );
});

test("after signing out the token is refused although it has not expired", async () => {
  const { app, session } = await signedIn(rig.stack, "gone@example.com");
  expect((await app.auth.getUser(session!.access_token)).error).toBeNull();
  await app.auth.signOut();
  expect((await app.auth.getUser(session!.access_token)).error).toMatchObject({
    name: "AuthSessionMissingError",
  });
});

test("the secret key creates, finds, bans and deletes users; the publishable key may not", async () => {
  const { admin } = client(rig.stack, rig.stack.secretKey).auth;
  const { data: { user } } = await admin.createUser({
    email: "made@example.com",
    password: "by an admin",
    email_confirm: true,
  });
  expect((await admin.getUserById(user!.id)).data.user?.email).toBe("made@example.com");
  expect((await admin.createUser({ email: "made@example.com", password: "by an admin" })).error)
    .toMatchObject({ status: 422, code: "email_exists" });

  await admin.updateUserById(user!.id, { ban_duration: "24h" });
  const signIn = () =>
    client(rig.stack).auth.signInWithPassword({
      email: "made@example.com",
      password: "by an admin",
    });
  expect((await signIn()).error).toMatchObject({ code: "user_banned" });
  await admin.updateUserById(user!.id, { ban_duration: "none" });
  expect((await signIn()).error).toBeNull();

  await admin.deleteUser(user!.id);
  expect((await signIn()).error).toMatchObject({ code: "invalid_credentials" });
  expect((await client(rig.stack).auth.admin.listUsers()).error).toMatchObject({
    status: 403,
    code: "not_admin",
  });
});

test("an account that was deleted softly is deleted for good afterwards", async () => {
  const { admin } = client(rig.stack, rig.stack.secretKey).auth;
  const { data: { user } } = await admin.createUser({
    email: "soft@example.com",
    email_confirm: true,
  });
  for (const softly of [true, true, false]) {
    expect((await admin.deleteUser(user!.id, softly)).error).toBeNull();
  }
  expect((await admin.deleteUser(user!.id)).error).toMatchObject({ status: 404 });
});

test("a recovery link signs in once, says so in the token, and a new password ends the sessions", async () => {
  const email = "recovered@example.com";
  const { app: before, session, user } = await signedIn(rig.stack, email, "the old one");
  const { admin } = client(rig.stack, rig.stack.secretKey).auth;
  const { data: link } = await admin.generateLink({ type: "recovery", email });
  expect(link.user?.id).toBe(user!.id);
  const token_hash = link.properties!.hashed_token;
  const app = client(rig.stack);
  const { data, error } = await app.auth.verifyOtp({ type: "recovery", token_hash });
  expect(error).toBeNull();
  const methods = (token: string) =>
    (decodeJwt(token).amr as { method: string }[]).map(({ method }) => method);
  expect(methods(session!.access_token)).toEqual(["password"]);
  expect(methods(data.session!.access_token)).toEqual(["otp"]);
  const { data: renewed } = await app.auth.refreshSession();
  expect(methods(renewed.session!.access_token)).toEqual(["otp"]);
  expect((await app.auth.verifyOtp({ type: "recovery", token_hash })).error)
    .toMatchObject({ status: 403, code: "otp_expired" });

  await app.auth.setSession(renewed.session!);
  expect((await app.auth.updateUser({ password: "the new one" })).error).toBeNull();
  expect((await before.auth.refreshSession()).error).toMatchObject({
    code: "refresh_token_not_found",
  });
  expect((await app.auth.getUser()).error).toBeNull();
  await admin.updateUserById(user!.id, { password: "the newest one" });
  expect((await app.auth.getUser()).error).not.toBeNull();
  const { data: another } = await admin.generateLink({ type: "magiclink", email });
  const token = another.properties!.email_otp;
  expect((await app.auth.verifyOtp({ type: "email", email, token })).error).toBeNull();
});

/** The newest mail to an address. */
async function mailTo(email: string): Promise<Mail> {
  const response = await fetch(`${rig.stack.url}/mail/messages?to=${encodeURIComponent(email)}`);
  const { messages: [newest] } = await response.json();
  return newest;
}

test("who signs up is signed in when the address is confirmed, by the code of the mail", async () => {
  const app = client(rig.stack);
  const account = { email: "new@example.com", password: "long enough" };
  const { data, error } = await app.auth.signUp(account);
  expect(error).toBeNull();
  expect(data.session).toBeNull();
  expect((await app.auth.signInWithPassword(account)).error).toMatchObject({
    code: "email_not_confirmed",
  });
  const { token, type } = await mailTo(account.email);
  expect(type).toBe("signup");
  const wrong = await app.auth.verifyOtp({ email: account.email, token: "x", type: "email" });
  expect(wrong.error).toMatchObject({ status: 403, code: "otp_expired" });
  const right = await app.auth.verifyOtp({ email: account.email, token, type: "email" });
  expect(right.data.session?.access_token).toBeTruthy();
  expect((await app.auth.verifyOtp({ email: account.email, token, type: "email" })).error)
    .toMatchObject({ code: "otp_expired" });
  expect((await app.auth.signInWithPassword(account)).error).toBeNull();
});

test("an address that has an account is answered alike, and gets neither mail nor account", async () => {
  const { user } = await signedIn(rig.stack, "taken@example.com");
  const { data, error } = await client(rig.stack).auth.signUp({
    email: "taken@example.com",
    password: "another one",
  });
  expect(error).toBeNull();
  expect(data.session).toBeNull();
  expect(data.user?.id).not.toBe(user!.id);
  expect(data.user?.identities).toEqual([]);
  expect(await mailTo("taken@example.com")).toBeUndefined();
});

test("the link of a mail comes back to the application with a session, once", async () => {
  const app = client(rig.stack);
  await app.auth.signUp({
    email: "linked@example.com",
    password: "long enough",
    options: { emailRedirectTo: "https://shop.example/welcome" },
  });
  const { link } = await mailTo("linked@example.com");
  const followed = await fetch(link, { redirect: "manual" });
  const target = new URL(followed.headers.get("location")!);
  expect([followed.status, target.origin + target.pathname]).toEqual([
    302,
    "https://shop.example/welcome",
  ]);
  const answer = new URLSearchParams(target.hash.slice(1));
  const { data } = await app.auth.setSession({
    access_token: answer.get("access_token")!,
    refresh_token: answer.get("refresh_token")!,
  });
  expect(data.user?.email).toBe("linked@example.com");
  const again = await fetch(link, { redirect: "manual" });
  expect(again.headers.get("location")).toContain("error_code=otp_expired");
});

test("the link of a mail to somebody who is banned comes back with the reason", async () => {
  const app = client(rig.stack);
  const { user } = await signedIn(rig.stack, "shut-out@example.com");
  await app.auth.signInWithOtp({
    email: "shut-out@example.com",
    options: { emailRedirectTo: "https://shop.example/welcome" },
  });
  const { link } = await mailTo("shut-out@example.com");
  await client(rig.stack, rig.stack.secretKey).auth.admin
    .updateUserById(user!.id, { ban_duration: "24h" });
  const followed = await fetch(link, { redirect: "manual" });
  expect(followed.status).toBe(302);
  expect(followed.headers.get("location")).toContain("error_code=user_banned");
});

test("a forgotten password is set anew by the mail, and nobody learns who has an account", async () => {
  await signedIn(rig.stack, "forgot@example.com", "the old one");
  const app = client(rig.stack);
  for (const email of ["forgot@example.com", "nobody@example.com"]) {
    expect((await app.auth.resetPasswordForEmail(email)).error).toBeNull();
  }
  expect(await mailTo("nobody@example.com")).toBeUndefined();
  const { token_hash, type } = await mailTo("forgot@example.com");
  expect(type).toBe("recovery");
  expect((await app.auth.verifyOtp({ token_hash, type: "recovery" })).error).toBeNull();
  expect((await app.auth.updateUser({ password: "the new one" })).error).toBeNull();
  const signedInWith = async (password: string) =>
    (await client(rig.stack).auth.signInWithPassword({ email: "forgot@example.com", password }))
      .error?.code;
  expect(await signedInWith("the old one")).toBe("invalid_credentials");
  expect(await signedInWith("the new one")).toBeUndefined();
});

test("one-time codes sign in, and make an account where that is wanted", async () => {
  await signedIn(rig.stack, "coded@example.com");
  const app = client(rig.stack);
  for (const email of ["coded@example.com", "fresh@example.com"]) {
    expect((await app.auth.signInWithOtp({ email })).error).toBeNull();
    const { token } = await mailTo(email);
    const { data, error } = await app.auth.verifyOtp({ email, token, type: "email" });
    expect([data.user?.email, error]).toEqual([email, null]);
  }
  const unknown = await app.auth.signInWithOtp({
    email: "unknown@example.com",
    options: { shouldCreateUser: false },
  });
  expect(unknown.error).toMatchObject({ code: "otp_disabled" });
});

test("the confirmation is sent again only to an unconfirmed address", async () => {
  const app = client(rig.stack);
  await app.auth.signUp({ email: "again@example.com", password: "long enough" });
  const first = await mailTo("again@example.com");
  expect((await app.auth.resend({ type: "signup", email: "again@example.com" })).error).toBeNull();
  const second = await mailTo("again@example.com");
  expect(second.token_hash).not.toBe(first.token_hash);
  const { email, token } = { email: "again@example.com", token: second.token };
  expect((await app.auth.verifyOtp({ email, token, type: "email" })).error).toBeNull();
  await app.auth.resend({ type: "signup", email });
  expect((await mailTo(email)).sent_at).toBe(second.sent_at);
});

test("the inbox is a page, and what a mail says is shown as text", async () => {
  const response = await fetch(`${rig.stack.url}/mail`);
  expect(response.headers.get("content-type")).toContain("text/html");
  const { link } = await mailTo("linked@example.com");
  expect(await response.text()).toContain(link.replaceAll("&", "&amp;"));
  const empty = await (await fetch(`${rig.stack.url}/mail?to=%3Cscript%3E`)).text();
  expect(empty).not.toContain("<script>");
});

test("where it counts, an address is confirmed before anybody signs in with it", () => {
  const config = readFileSync(join(root, "supabase", "config.toml"), "utf8");
  expect(config).toMatch(/\[auth\]\n[^[]*enable_signup = true/);
  expect(config).toMatch(/\[auth\.email\]\nenabled = true\nenable_confirmations = true/);
});

test("the token hook of the database changes the claims, and may refuse the sign-in", async () => {
  const { sql } = rig.stack;
  const name = "public.custom_access_token_hook(jsonb)";
  const [own] = await sql<{ definition: string | null }[]>`
    select pg_get_functiondef(to_regprocedure(${name})) as definition`;
  await sql.unsafe(`
    create or replace function public.custom_access_token_hook(event jsonb) returns jsonb language sql as $$
      select case when event -> 'claims' ->> 'email' = 'refused@example.com'
        then '{"error": {"http_code": 403, "message": "not you"}}'
        else jsonb_set(event, '{claims,app_metadata,by}', to_jsonb(current_user::text)) end
    $$;
    revoke execute on function public.custom_access_token_hook from public;
    grant execute on function public.custom_access_token_hook to supabase_auth_admin`);
  try {
    const { session } = await signedIn(rig.stack, "hooked@example.com");
    const claims = JSON.parse(
      atob(session!.access_token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/")),
    );
    expect(claims.app_metadata.by).toBe("supabase_auth_admin");
    await expect(signedIn(rig.stack, "refused@example.com")).rejects.toMatchObject({
      status: 403,
      message: "not you",
    });
  } finally {
    await sql.unsafe(own?.definition ?? `drop function ${name}`);
  }
});
