/** Domains as people write them, to domains as DNS knows them. */
import { getDomain } from "tldts-icann";
import { storefrontCnameTarget, supabaseUrl } from "../../../shared/runtime/env.ts";

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Names that no public resolver answers for. */
const privateEndings = ["localhost", "local", "internal", "lan", "home.arpa", "invalid"];

/**
 * Lower case, punycode, without scheme and final dot. Undefined where it is no public host of somebody's
 * own: an IP address, a private name, the platform's, one below which names are sold, or anything with a path, port or user.
 */
export function normalizeDomain(text: string): string | undefined {
  const bare = text.trim().replace(/^https?:\/\//i, "").replace(/\/$/, "");
  if (bare === "" || /[\s/?#@:\\%]/.test(bare)) return undefined;
  let host: string;
  try {
    host = new URL(`https://${bare}`).hostname.replace(/\.$/, "");
  } catch {
    return undefined;
  }
  const labels = host.split(".");
  const isHost = labels.length >= 2 && host.length <= 253 &&
    labels.every((part) => label.test(part)) && !/^\d+$/.test(labels.at(-1)!);
  const isOwned = isHost && getDomain(host) !== null;
  return isOwned && !isOurs(host) && !isBelow(host, privateEndings) ? host : undefined;
}

function isBelow(host: string, endings: readonly string[]): boolean {
  return endings.some((ending) => host === ending || host.endsWith(`.${ending}`));
}

/** A store that took a name of the platform would take the platform's visitors. */
function isOurs(host: string): boolean {
  return isBelow(host, [zoneOf(storefrontCnameTarget), new URL(supabaseUrl).hostname]);
}

/** True for a zone's own name, which can have no CNAME record: one below a public suffix, as `shop.com.iq`. */
export function isApex(host: string): boolean {
  return host === getDomain(host);
}

/** The names of a host's records: relative to its zone, as DNS panels ask for them, and whole. */
export function recordNames(host: string) {
  const sub = isApex(host) ? "" : host.slice(0, -zoneOf(host).length - 1);
  const proof = "_market-verify";
  return {
    routing: { name: sub || "@", name_full: host },
    ownership: { name: sub ? `${proof}.${sub}` : proof, name_full: `${proof}.${host}` },
  };
}

function zoneOf(host: string): string {
  return getDomain(host) ?? host;
}
