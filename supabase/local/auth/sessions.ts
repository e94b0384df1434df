import { randomBytes, randomUUID } from "node:crypto";
import type { JWTPayload } from "jose";
import type postgres from "postgres";
import type { Config } from "../config.ts";
import type { TokenKeys } from "../keys.ts";
import { AuthFailure } from "./failure.ts";
import { findUser, isBanned, userJson, type UserRow } from "./users.ts";

/** The dependencies of issuing tokens. */
export interface TokenIssuer {
  sql: postgres.Sql;
  keys: TokenKeys;
  config: Config;
  /** `<url>/auth/v1`. */
  issuer(): string;
}

/** A claim the hook may change but never remove. */
const requiredClaims = [
  "iss",
  "aud",
  "exp",
  "iat",
  "sub",
  "role",
  "aal",
  "session_id",
  "email",
  "phone",
  "is_anonymous",
];

/** Signs a user in: a new session, its first tokens. Fails with user_banned, or with what the token hook says. */
export async function openSession(
  issuer: TokenIssuer,
  user: UserRow,
  userAgent: string | null,
  method: "password" | "otp" = "password",
) {
  refuseBanned(user);
  return await issuer.sql.begin(async (sql) => {
    const sessionId = randomUUID();
    await sql`update auth.users set last_sign_in_at = now(), updated_at = now() where id = ${user.id}`;
    await sql`insert into auth.sessions (id, user_id, created_at, updated_at, aal, user_agent)
      values (${sessionId}, ${user.id}, now(), now(), 'aal1', ${userAgent})`;
    await sql`insert into auth.mfa_amr_claims (session_id, created_at, updated_at, authentication_method, id)
      values (${sessionId}, now(), now(), ${method}, ${randomUUID()})`;
    const refreshToken = await addRefreshToken(sql, user.id, sessionId, null);
    return await tokens(
      issuer,
      sql,
      await findUser(sql, user.id),
      sessionId,
      refreshToken,
      method,
    );
  });
}

/**
 * Exchanges a refresh token for new tokens. Each is used once; one used again is answered with the token that the session has now while the reuse
 * interval lasts, and the one before that token for as long as it is unused: its client lost the answer. Any other was stolen or copied, so the
 * whole session ends.
 */
export async function refreshSession(issuer: TokenIssuer, refreshToken: string) {
  const outcome = await issuer.sql.begin(async (sql) => {
    const [found] = await sql<
      { user_id: string; session_id: string; used: boolean }[]
    >`
      select user_id, session_id, revoked as used from auth.refresh_tokens where token = ${refreshToken} for update`;
    if (!found?.session_id) return "refresh_token_not_found";
    if (found.used && !await mayBeUsedAgain(issuer, sql, refreshToken)) {
      await sql`delete from auth.sessions where id = ${found.session_id}`;
      return "refresh_token_already_used";
    }
    const user = await findUser(sql, found.user_id);
    refuseBanned(user);
    const next = found.used
      ? await currentRefreshToken(sql, found.session_id)
      : await rotate(sql, found.user_id, found.session_id, refreshToken);
    return await tokens(issuer, sql, user, found.session_id, next, "token_refresh");
  });
  // Thrown only here, because throwing inside would roll the ending of the session back.
  if (outcome === "refresh_token_not_found") {
    throw new AuthFailure(400, outcome, "Invalid Refresh Token: Refresh Token Not Found");
  }
  if (outcome === "refresh_token_already_used") {
    throw new AuthFailure(400, outcome, "Invalid Refresh Token: Already Used");
  }
  return outcome;
}

/** The user and session of an access token; fails once the session is gone, although the token still verifies. */
export async function currentUser(issuer: TokenIssuer, token: string | undefined) {
  if (!token) {
    throw new AuthFailure(401, "no_authorization", "This endpoint requires a valid Bearer token");
  }
  const claims = await issuer.keys.verify(token).catch((error: Error) => {
    throw new AuthFailure(403, "bad_jwt", `invalid JWT: ${error.message}`);
  });
  const sessionId = typeof claims.session_id === "string" ? claims.session_id : "";
  const sessions = sessionId
    ? await issuer
      .sql`select from auth.sessions where id::text = ${sessionId} and user_id::text = ${
      claims.sub ?? ""
    }`
    : [];
  if (sessions.length === 0) {
    throw new AuthFailure(
      403,
      "session_not_found",
      "Session from session_id claim in JWT does not exist",
    );
  }
  return { user: await findUser(issuer.sql, claims.sub ?? ""), sessionId };
}

/** Ends sessions of the user: this one, the others, or all. */
export async function endSessions(
  sql: postgres.Sql | postgres.TransactionSql,
  userId: string,
  sessionId: string,
  scope: string,
) {
  await sql`delete from auth.sessions where user_id = ${userId}
    ${
    scope === "local"
      ? sql`and id = ${sessionId}`
      : scope === "others"
      ? sql`and id <> ${sessionId}`
      : sql``
  }`;
}

function refuseBanned(user: UserRow): void {
  if (isBanned(user)) throw new AuthFailure(400, "user_banned", "User is banned");
}

/** Whether a used token is still in the reuse interval, or the parent of the one that its session would use next. */
async function mayBeUsedAgain(
  { config }: TokenIssuer,
  sql: postgres.TransactionSql,
  refreshToken: string,
): Promise<boolean> {
  const [row] = await sql<{ allowed: boolean }[]>`
    select u.updated_at > now() - make_interval(secs => ${config.refreshReuseInterval}) or u.token = (
      select t.parent from auth.refresh_tokens t where t.session_id = u.session_id and not t.revoked order by t.id desc limit 1) as allowed
    from auth.refresh_tokens u where u.token = ${refreshToken}`;
  return row?.allowed === true;
}

async function rotate(
  sql: postgres.TransactionSql,
  userId: string,
  sessionId: string,
  used: string,
) {
  await sql`update auth.refresh_tokens set revoked = true, updated_at = now() where token = ${used}`;
  await sql`update auth.sessions set refreshed_at = now(), updated_at = now() where id = ${sessionId}`;
  return await addRefreshToken(sql, userId, sessionId, used);
}

async function addRefreshToken(
  sql: postgres.TransactionSql,
  userId: string,
  sessionId: string,
  parent: string | null,
): Promise<string> {
  const token = randomBytes(16).toString("base64url");
  await sql`insert into auth.refresh_tokens (token, user_id, revoked, created_at, updated_at, parent, session_id)
    values (${token}, ${userId}, false, now(), now(), ${parent}, ${sessionId})`;
  return token;
}

async function currentRefreshToken(
  sql: postgres.TransactionSql,
  sessionId: string,
): Promise<string> {
  const [current] = await sql<{ token: string }[]>`
    select token from auth.refresh_tokens where session_id = ${sessionId} and not revoked order by id desc limit 1`;
  if (!current) {
    throw new AuthFailure(400, "refresh_token_already_used", "Invalid Refresh Token: Already Used");
  }
  return current.token;
}

async function tokens(
  issuer: TokenIssuer,
  sql: postgres.TransactionSql,
  user: UserRow,
  sessionId: string,
  refreshToken: string,
  method: string,
) {
  const now = Math.floor(Date.now() / 1000);
  const amr = await sql<{ method: string; timestamp: number }[]>`
    select authentication_method as method, extract(epoch from updated_at)::int as timestamp
    from auth.mfa_amr_claims where session_id = ${sessionId} order by updated_at desc`;
  const claims = await throughHook(sql, user.id, method, {
    iss: issuer.issuer(),
    sub: user.id,
    aud: user.aud,
    exp: now + issuer.config.jwtExpiry,
    iat: now,
    email: user.email ?? "",
    phone: user.phone ?? "",
    app_metadata: user.raw_app_meta_data ?? {},
    user_metadata: user.raw_user_meta_data ?? {},
    role: user.role,
    aal: "aal1",
    amr: [...amr],
    session_id: sessionId,
    is_anonymous: user.is_anonymous,
  });
  return {
    access_token: await issuer.keys.sign(claims),
    token_type: "bearer",
    expires_in: issuer.config.jwtExpiry,
    expires_at: claims.exp,
    refresh_token: refreshToken,
    user: await userJson(sql, user),
  };
}

/** Production's own hook decides the claims here too, called by the same role, inside the sign-in's transaction. */
async function throughHook(
  sql: postgres.TransactionSql,
  userId: string,
  method: string,
  claims: JWTPayload,
): Promise<JWTPayload> {
  const [{ hook } = { hook: null }] = await sql<{ hook: string | null }[]>`
    select to_regprocedure('public.custom_access_token_hook(jsonb)')::text as hook`;
  if (!hook) return claims;
  const event = { user_id: userId, claims, authentication_method: method };
  await sql`set local role supabase_auth_admin`;
  const [{ answer } = { answer: null }] = await sql<{ answer: HookAnswer | null }[]>`
    select public.custom_access_token_hook(${sql.json(event as postgres.JSONValue)}) as answer`;
  await sql`reset role`;
  if (answer?.error) {
    const { http_code: status = 500, message = "" } = answer.error;
    throw new AuthFailure(status as 403, "unknown", message);
  }
  const changed = answer?.claims;
  if (!changed || requiredClaims.some((name) => !(name in changed))) {
    throw new AuthFailure(
      500,
      "hook_payload_invalid",
      "output claims do not conform to the expected schema",
    );
  }
  return changed;
}

interface HookAnswer {
  claims?: JWTPayload;
  error?: { http_code?: number; message?: string };
}
