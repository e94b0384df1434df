/** Supabase Auth as an app uses it: sign in with a password, refresh, look into the token. */
import { decodeJwt, type JWTPayload } from "jose";
import type { Body } from "./api.ts";
import { stack } from "./db.ts";

export interface Session {
  access_token: string;
  refresh_token: string;
  user: { id: string };
}

async function token(grant: string, body: Record<string, string>): Promise<Response> {
  return await fetch(`${stack.url}/auth/v1/token?grant_type=${grant}`, {
    method: "POST",
    headers: { apikey: stack.publishableKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Signs in; undefined when Auth refuses. */
export async function signIn(email: string, password: string): Promise<Session | undefined> {
  const response = await token("password", { email, password });
  const body = await response.json();
  return response.ok ? body : undefined;
}

export async function refresh(session: Session): Promise<Session> {
  return await (await token("refresh_token", { refresh_token: session.refresh_token })).json();
}

/** Signs in by the link in a password-recovery mail, which nobody sends here. */
export async function signInByMail(email: string): Promise<Session> {
  const link = await asService("admin/generate_link", { type: "recovery", email });
  const { hashed_token: token_hash } = await link.json();
  return await (await asService("verify", { type: "recovery", token_hash })).json();
}

/** Bans an account for so long: `24h`; `none` lifts it. */
export async function ban(id: string, ban_duration: string): Promise<void> {
  const answer = await asService(`admin/users/${id}`, { ban_duration }, "PUT");
  if (!answer.ok) throw new Error(await answer.text());
}

/** Deletes an account softly: its row stays for what refers to it. */
export async function deleteSoftly(id: string): Promise<void> {
  const answer = await asService(`admin/users/${id}`, { should_soft_delete: true }, "DELETE");
  if (!answer.ok) throw new Error(await answer.text());
}

function asService(
  path: string,
  body: Record<string, unknown>,
  method = "POST",
): Promise<Response> {
  return fetch(`${stack.url}/auth/v1/${path}`, {
    method,
    headers: { apikey: stack.secretKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

interface Mail {
  to: string;
  type: string;
  token_hash: string;
}

/** The mails that Auth sent to an address so far, the newest first. */
export async function mailsTo(address: string): Promise<Mail[]> {
  const url = `${stack.url}/mail/messages?to=${encodeURIComponent(address)}`;
  return (await (await fetch(url)).json()).messages;
}

/** Signs in by the link of the last mail to an address. */
export async function followMail(address: string): Promise<Session> {
  const [{ type, token_hash }] = await mailsTo(address);
  return await (await asService("verify", { type, token_hash })).json();
}

/** The claims of a session's access token, as an app reads them. */
export function claimsOf(session: Session): JWTPayload & { app_metadata: Body } {
  return decodeJwt(session.access_token);
}

/** A user made in Auth alone, as a sign-up would leave them; the address is confirmed unless said otherwise. */
export async function signUp(
  email: string,
  password: string,
  data: Record<string, unknown> = {},
  email_confirm = true,
): Promise<string> {
  const user = { email, password, email_confirm, user_metadata: data };
  const response = await asService("admin/users", user);
  return (await response.json()).id;
}
