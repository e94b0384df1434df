/**
 * The only reader of the environment. Supabase sets the `SUPABASE_` names, locally and hosted;
 * the `BARID_` names are ours (`supabase secrets set`), and every one of them has a default.
 */
import process from "node:process";

function read(name: string): string | undefined {
  const value = process.env[name];
  return value === undefined || value === "" ? undefined : value;
}

function readNumber(name: string, fallback: number): number {
  const value = Number(read(name) ?? fallback);
  if (!Number.isFinite(value)) throw new Error(`${name} must be a number`);
  return value;
}

/** Keys the platform hands over as JSON, `{"default": "sb_secret_…"}`; legacy single keys as well. */
function readKeys(name: string, legacy: string): Record<string, string> {
  const json = read(name);
  if (json) return JSON.parse(json);
  const single = read(legacy);
  return single ? { default: single } : {};
}

/** Address of the project's API gateway, without a trailing slash. */
export const supabaseUrl = (read("SUPABASE_URL") ?? "http://127.0.0.1:54321").replace(/\/+$/, "");

/** Named secret keys of the project. Who presents one is the system itself. */
export const secretKeys = readKeys("SUPABASE_SECRET_KEYS", "SUPABASE_SERVICE_ROLE_KEY");

/** The key with which the functions call the project's own services; empty where none is set. */
export function secretKey(): string {
  return secretKeys.default ?? Object.values(secretKeys)[0] ?? "";
}

/** Signing keys as JSON Web Key Set text; unset: fetched from the project's Auth. */
export const jwks = read("SUPABASE_JWKS");

/** Issuer that tokens must name. Differs from `supabaseUrl` where functions see an inner address. */
export const jwtIssuer = read("BARID_JWT_ISSUER") ?? `${supabaseUrl}/auth/v1`;

/**
 * Database address. Use the pooler in transaction mode (port 6543) with the login role `barid_api`;
 * without it the platform's own direct connection serves.
 */
export const databaseUrl = read("BARID_DB_URL") ?? read("SUPABASE_DB_URL") ??
  "postgresql://barid_api:barid-local@127.0.0.1:54322/postgres";

/** Connections of one function process. A hosted isolate serves few requests at a time. */
export const databasePool = readNumber("BARID_DB_POOL", 4);

/**
 * Prepared statements do not survive a pooler in transaction mode, and gain nothing here: a request is
 * one statement that goes out in one piece either way (`npm run bench`).
 */
export const databasePrepare = read("BARID_DB_PREPARE") === "1";

/**
 * Milliseconds a request waits for a free connection before it is refused. With the five seconds that it then
 * may wait for a lock it stays below ten.
 */
export const databaseWaitMs = readNumber("BARID_DB_WAIT_MS", 4_000);

/**
 * Milliseconds after which an answer of the database was lost on its way: more than the `statement_timeout` of `barid_api`,
 * after which the database answers that it has none.
 */
export const databaseAnswerMs = readNumber("BARID_DB_ANSWER_MS", 30_000);

/**
 * The requests a minute of one user or API key, reading and writing, and of one address without a token; 0: no limit.
 */
export const readsPerMinute = readNumber("BARID_READS_PER_MINUTE", 300);
export const writesPerMinute = readNumber("BARID_WRITES_PER_MINUTE", 60);
export const publicWritesPerMinute = readNumber("BARID_PUBLIC_WRITES_PER_MINUTE", 120);

/**
 * Keys that seal stored secrets: 32 random bytes each, base64, comma separated. The first seals, the others
 * still open what they sealed before. Without any, nothing that needs a secret can be saved or used.
 */
export const secretsKeys = (read("BARID_SECRETS_KEY") ?? "").split(",").filter((key) => key !== "");

/** For development: webhooks may go to this machine, without TLS and on any port. */
export const allowLocalWebhooks = read("BARID_ALLOW_LOCAL_WEBHOOKS") === "1";

/** URLs that are kept (pictures, logos, links) may be http as well as https. */
export const allowHttpUrls = read("BARID_ALLOW_HTTP_URLS") === "1";

/** Resolver that answers DNS questions over HTTPS as JSON; custom domains are checked with it. */
export const dnsOverHttpsUrl = read("BARID_DNS_OVER_HTTPS_URL") ??
  "https://cloudflare-dns.com/dns-query";

/**
 * Host that stores are served from, to be set where domains are connected: what the CNAME record of a custom domain
 * names.
 */
export const storefrontCnameTarget = read("BARID_STOREFRONT_CNAME_TARGET") ??
  "stores.barid.example";

/** Its IPv4 address, for domains that are a zone's own name and so can have no CNAME record. */
export const storefrontAddress = read("BARID_STOREFRONT_ADDRESS") ?? "192.0.2.1";

/** Address of a routing service with OSRM's interface; unset: ways are measured as the crow flies. */
export const routingUrl = read("BARID_ROUTING_URL")?.replace(/\/+$/, "");

/** Address of an engine that takes and answers VROOM's JSON; unset: the order of stops is found here. */
export const optimizerUrl = read("BARID_OPTIMIZER_URL");

/** Where payment gateways are called, by their code, without a trailing slash. */
export function gatewayUrl(code: string, fallback?: string): string | undefined {
  return (read(`BARID_${code.toUpperCase()}_URL`) ?? fallback)?.replace(/\/+$/, "");
}

/** Tests and the local stack check every response and error against its declaration. */
export const strict = read("BARID_STRICT") === "1";

/** Least level of log lines that are written: info (every request), warn or error. */
export const logLevel = read("BARID_LOG_LEVEL") ?? "info";
