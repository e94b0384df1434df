/**
 * From a request's headers to who it claims to be. Tokens are verified here (signature, issuer,
 * audience, expiry, role); what the person may do is read by the database, afresh each time.
 */
import { createHash } from "node:crypto";
import { jwks, jwtIssuer, secretKeys, supabaseUrl } from "../runtime/env.ts";
import { AppError } from "../errors/errors.ts";
import { signingKeys } from "./signing-keys.ts";

/** How and when the token of a user was issued. */
interface Issued {
  /** In seconds, as the token says. */
  issuedAt?: number;
  /** The caller signed in by a mail to their address. */
  mailbox: boolean;
}

export type Actor =
  | { kind: "user"; id: string; tenantId?: string; token: string } & Issued
  | { kind: "service"; actingFor?: string }
  | { kind: "api_key"; hash: string };

/** Loaded with the first token, so that a process starts without it. */
const verifier = once(async () => {
  const jose = await import("jose");
  const url = new URL(`${supabaseUrl}/auth/v1/.well-known/jwks.json`);
  return { jose, keyFor: signingKeys(jose, jwks ? JSON.parse(jwks) : undefined, url) };
});

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () =>
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
}

/** Tokens already verified, by the hash of their text, until they expire. */
const verified = new Map<string, { actor: Actor; expiresAt: number }>();
const maxVerified = 2_000;
const maxTokenLength = 8_192;
const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Authenticates the caller. Fails with `unauthorized`, whatever the reason: a forger learns nothing; `service_unavailable` where a
 * token's key has to be asked for, and Auth does not answer.
 */
export async function identify(headers: Headers): Promise<Actor> {
  const apikey = headers.get("apikey");
  const authorization = headers.get("authorization");
  // Scrapers can set Authorization and no header of another name.
  const asKey = /^apikey +([^\s,]+)$/i.exec(authorization ?? "")?.[1];
  if (asKey !== undefined) return apiKey(asKey);
  const bearer = authorization === null
    ? undefined
    : /^bearer +([^\s,]+)$/i.exec(authorization)?.[1];
  if (authorization !== null && bearer === undefined) throw new AppError("unauthorized");

  // The project's secret key, in either header; beside a person's token it is the person who counts.
  const own = bearer ?? apikey;
  if (own !== null && isSecretKey(own)) {
    const actingFor = headers.get("x-acting-user");
    if (actingFor !== null && !guid.test(actingFor)) throw new AppError("unauthorized");
    return { kind: "service", actingFor: actingFor ?? undefined };
  }
  const key = headers.get("x-api-key");
  // A client library without a session sends the project's public key as the bearer too, which is nobody's token; a
  // generated client sends one token in every header that may have one.
  const isPublicKey = bearer === apikey && key !== null && key !== bearer;
  if (bearer !== undefined && !isPublicKey) return await verify(bearer);
  if (key !== null) return apiKey(key);
  throw new AppError("unauthorized");
}

function apiKey(key: string): Actor {
  if (key.length > 200) throw new AppError("unauthorized");
  return { kind: "api_key", hash: sha256Hex(key) };
}

async function verify(token: string): Promise<Actor> {
  if (token.length > maxTokenLength) throw new AppError("unauthorized");
  const hash = sha256Hex(token);
  const known = verified.get(hash);
  if (known) {
    if (known.expiresAt > Date.now()) return known.actor;
    verified.delete(hash);
  }
  const { jose, keyFor } = await verifier();
  const { payload } = await jose.jwtVerify(token, keyFor, {
    algorithms: ["ES256", "RS256", "HS256"],
    issuer: jwtIssuer,
    audience: "authenticated",
    requiredClaims: ["exp", "sub", "role"],
  }).catch((error) => {
    if (error instanceof jose.errors.JOSEError || error instanceof TypeError) {
      throw new AppError("unauthorized");
    }
    throw error;
  });
  // The public key of a project is a signed token too, with the role anon.
  if (payload.role !== "authenticated" || !guid.test(payload.sub ?? "")) {
    throw new AppError("unauthorized");
  }
  const metadata = payload.app_metadata as { tenant_id?: unknown } | undefined;
  const tenantId = typeof metadata?.tenant_id === "string" && guid.test(metadata.tenant_id)
    ? metadata.tenant_id
    : undefined;
  const actor: Actor = {
    kind: "user",
    id: payload.sub!,
    tenantId,
    token,
    issuedAt: Number.isSafeInteger(payload.iat) ? payload.iat : undefined,
    mailbox: provesMailbox(payload.amr),
  };
  if (verified.size >= maxVerified) verified.delete(verified.keys().next().value!);
  verified.set(hash, { actor, expiresAt: payload.exp! * 1000 });
  return actor;
}

/** Ways to sign in that prove access to the mailbox, as Supabase Auth names them. */
const byMail = new Set(["otp", "magiclink", "recovery", "invite", "email/signup"]);

function provesMailbox(methods: unknown): boolean {
  return Array.isArray(methods) && methods.some((one) => byMail.has(one?.method));
}

function isSecretKey(candidate: string): boolean {
  let found = false;
  for (const key of Object.values(secretKeys)) found = sameText(candidate, key) || found;
  return found;
}

/** Compares in a time that does not depend on where the texts differ. */
export function sameText(a: string, b: string): boolean {
  const left = new TextEncoder().encode(a);
  const right = new TextEncoder().encode(b);
  let difference = left.length ^ right.length;
  for (let i = 0; i < left.length; i++) difference |= left[i] ^ (right[i] ?? 0);
  return difference === 0;
}

/** Lower-case hex SHA-256 of a text. Synchronous: WebCrypto's round trip costs ten times the hash. */
export function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
