import type { JWTPayload } from "jose";
import type postgres from "postgres";
import { publishableKey, secretKey, type TokenKeys } from "./keys.ts";

/** The sender of a request, as the platform's gateway and its services see it. */
export interface Caller {
  role: "anon" | "authenticated" | "service_role";
  claims: JWTPayload;
}

/** Why a request could not be attributed: without any key, or with a token that does not hold. */
export class NoCaller extends Error {}

/** Works out the caller: a user's token outranks the API key; a broken token never falls back to the key. */
export async function identify(headers: Headers, keys: TokenKeys): Promise<Caller> {
  const apiKey = headers.get("apikey") ?? "";
  const bearer = /^bearer\s+(.+)$/i.exec(headers.get("authorization") ?? "")?.[1]?.trim();
  const byKey = callerOfKey(bearer ?? apiKey) ?? (bearer ? undefined : callerOfKey(apiKey));
  if (byKey) return byKey;
  if (!bearer) throw new NoCaller("No API key found in request");
  const claims = await keys.verify(bearer).catch(() => {
    throw new NoCaller("invalid JWT: unable to parse or verify signature");
  });
  if (claims.role === "authenticated" || claims.role === "service_role" || claims.role === "anon") {
    return { role: claims.role, claims };
  }
  throw new NoCaller(`invalid JWT: role "${claims.role}" may not be used`);
}

/** True when the request carries one of the two API keys, as the gateway demands in front of Auth. */
export function hasApiKey(headers: Headers, query: URLSearchParams): boolean {
  const bearer = (headers.get("authorization") ?? "").replace(/^bearer\s+/i, "");
  const given = headers.get("apikey") ?? query.get("apikey") ?? bearer;
  return callerOfKey(given) !== undefined;
}

/** Runs the work in one transaction as the caller: its role, and its claims for the policies to read. */
export async function asCaller<T>(
  sql: postgres.Sql,
  caller: Caller,
  work: (transaction: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  return await sql.begin(async (transaction) => {
    await transaction`select set_config('request.jwt.claims', ${
      JSON.stringify(caller.claims)
    }, true),
      set_config('role', ${caller.role}, true)`;
    return await work(transaction);
  }) as T;
}

/** The caller a secret or publishable key stands for. Both are public here, so nothing is gained by hiding timing. */
function callerOfKey(key: string): Caller | undefined {
  if (key === secretKey) return { role: "service_role", claims: { role: "service_role" } };
  if (key === publishableKey) return { role: "anon", claims: { role: "anon" } };
  return undefined;
}
