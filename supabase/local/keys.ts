import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from "jose";

/** Fixed, public, and worth nothing outside this machine. */
export const publishableKey = "sb_publishable_barid_local_0000000000000";

/** Fixed, public, and worth nothing outside this machine. */
export const secretKey = "sb_secret_barid_local_00000000000000000000";

/** Seals what functions store sealed; fixed, public, and worth nothing outside this machine. */
export const secretsKey = Buffer.alloc(32, "barid-local").toString("base64");

/** Signs storage links here, and stands for the legacy HS256 key in SUPABASE_JWKS. */
const legacySecret = new TextEncoder().encode("barid-local-legacy-secret-of-at-least-32-bytes");

/** The key user tokens are signed with. */
export interface TokenKeys {
  /** The answer of /auth/v1/.well-known/jwks.json: the public key. */
  jwks: { keys: JWK[] };
  /** The value of SUPABASE_JWKS for functions: the public key and the legacy symmetric one. */
  functionJwks: { keys: JWK[] };
  /** A token with exactly these claims. */
  sign(claims: JWTPayload): Promise<string>;
  /** The claims of one of our tokens; throws when it is forged, expired or another server's. */
  verify(token: string): Promise<JWTPayload>;
}

/** Loads the signing key of the data folder, making it the first time, so that tokens outlive a restart. */
export async function loadTokenKeys(file: string, issuer: () => string): Promise<TokenKeys> {
  if (!existsSync(file)) await makeKey(file);
  const jwk: JWK = JSON.parse(readFileSync(file, "utf8"));
  const { d: _private, key_ops: _operations, ...publicPart } = jwk;
  const publicJwk: JWK = { ...publicPart, use: "sig", key_ops: ["verify"] };
  const privateKey = await importJWK({ ...publicPart, d: jwk.d }, "ES256") as CryptoKey;
  const publicKey = await importJWK(publicPart, "ES256") as CryptoKey;
  const legacy: JWK = {
    kty: "oct",
    alg: "HS256",
    k: Buffer.from(legacySecret).toString("base64url"),
  };
  return {
    jwks: { keys: [publicJwk] },
    functionJwks: { keys: [publicJwk, legacy] },
    sign: (claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: jwk.kid, typ: "JWT" }).sign(
        privateKey,
      ),
    async verify(token) {
      const { payload } = await jwtVerify(token, publicKey, {
        algorithms: ["ES256"],
        issuer: issuer(),
        requiredClaims: ["exp", "sub"],
      });
      return payload;
    },
  };
}

/** Signs tokens of a stack's users; missing claims get the values of a real one, `undefined` leaves one out. */
export function userTokens(keys: TokenKeys, url: string, seconds: number) {
  return (claims: JWTPayload): Promise<string> => {
    const iat = Math.floor(Date.now() / 1000);
    return keys.sign({
      iss: `${url}/auth/v1`,
      aud: "authenticated",
      role: "authenticated",
      iat,
      exp: iat + seconds,
      aal: "aal1",
      email: "",
      phone: "",
      is_anonymous: false,
      ...claims,
    });
  };
}

/** A link's token; `use` keeps a link for reading from serving as one for writing. */
export function signLink(claims: JWTPayload & { use: "read" | "write" }, seconds: number) {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT(claims).setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuedAt(now).setExpirationTime(now + seconds).sign(legacySecret);
}

/** The claims of a link's token; throws when it is forged, expired or made for another use. */
export async function verifyLink(token: string, use: "read" | "write"): Promise<JWTPayload> {
  const { payload } = await jwtVerify(token, legacySecret, {
    algorithms: ["HS256"],
    requiredClaims: ["exp"],
  });
  if (payload.use !== use) throw new Error("The link was made for another use");
  return payload;
}

async function makeKey(file: string): Promise<void> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = await exportJWK(privateKey);
  const kid = await calculateJwkThumbprint(jwk);
  mkdirSync(dirname(file), { recursive: true });
  // Renamed into place: an interrupted start must not leave half a key.
  writeFileSync(`${file}.part`, JSON.stringify({ ...jwk, alg: "ES256", kid }), { mode: 0o600 });
  renameSync(`${file}.part`, file);
}
