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

/** The claims of a session's access token, as an app reads them. */
export function claimsOf(session: Session): JWTPayload & { app_metadata: Body } {
  return decodeJwt(session.access_token);
}

/** A user made in Auth alone, as a sign-up would leave him. */
export async function signUp(
  email: string,
  password: string,
  data: Record<string, unknown> = {},
): Promise<string> {
  const response = await fetch(`${stack.url}/auth/v1/admin/users`, {
    method: "POST",
    headers: { apikey: stack.secretKey, "content-type": "application/json" },
    body: JSON.stringify({ email, password, email_confirm: true, user_metadata: data }),
  });
  return (await response.json()).id;
}
