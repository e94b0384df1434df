/** The keys that tokens of the project are signed with. */
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import { AppError } from "../errors/errors.ts";
import { describeError, log } from "../runtime/log.ts";

type Jose = typeof import("jose");

/**
 * Finds the key that a token names: among those that the process was given, else among those that Auth has now, which it may
 * have begun to sign with since. Auth is asked once in 30 seconds at most for keys that nobody has.
 * Fails: service_unavailable where Auth does not say its keys, since the token may be good; errors of jose for a key that there is not.
 */
export function signingKeys(
  jose: Jose,
  given: JSONWebKeySet | undefined,
  url: URL,
): JWTVerifyGetKey {
  const { createLocalJWKSet, createRemoteJWKSet, importJWK } = jose;
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = jose.errors;
  const all = given?.keys ?? [];
  // The shared secret of projects that still sign with HS256; a public key can never stand in for it.
  const shared = all.filter((key) => key.kty === "oct");
  const known = createLocalJWKSet({ keys: all.filter((key) => key.kty !== "oct") });
  const current = createRemoteJWKSet(url);
  const ofToken = [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported];

  const publicKey: JWTVerifyGetKey = async (header, token) => {
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof JWKSNoMatchingKey)) throw error;
    }
    try {
      return await current(header, token);
    } catch (error) {
      if (ofToken.some((kind) => error instanceof kind)) throw error;
      log("warn", "signing_keys_unavailable", describeError(error));
      throw new AppError("service_unavailable");
    }
  };
  return async (header, token) => {
    if (header.alg !== "HS256") return await publicKey(header, token);
    const key = shared.find(({ kid }) => header.kid === undefined || kid === header.kid) ??
      shared[0];
    if (!key) throw new JWKSNoMatchingKey();
    return await importJWK(key, "HS256");
  };
}
