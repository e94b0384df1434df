/**
 * Where calls to addresses that clients chose may go: to the public internet, and nowhere else. A name is
 * checked by every address it resolves to, when it is saved and again when it is called, and the connection
 * is made to the address that was checked (see guarded-post.ts).
 */
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { allowLocalWebhooks } from "../runtime/env.ts";

/** Not a public address, or not a form of address we call. */
export class AddressRefused extends Error {}
/** The name has no address, or the look-up took too long. */
export class AddressUnknown extends Error {}

export interface Vetted {
  url: URL;
  /** An address of the host that may be called. */
  address: string;
  family: 4 | 6;
}

export interface GuardOptions {
  allowLocal?: boolean;
  resolve?: (host: string) => Promise<{ address: string; family: number }[]>;
}

/** Special-purpose ranges of IANA's registries, and what can stand for one of them. */
const reserved4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];
/** Of IPv6 only 2000::/3 is the public internet; within it these are not. */
const reserved6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"];

const blocked = listOf(reserved4, "ipv4");
const blocked6 = listOf(reserved6, "ipv6");
const public6 = listOf(["2000::/3"], "ipv6");
const loopback = listOf(["127.0.0.0/8"], "ipv4");

function listOf(ranges: string[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net, prefix] = range.split("/");
    list.addSubnet(net, Number(prefix), family);
  }
  return list;
}

/** True when an address, in any form a resolver gives, belongs to the public internet. */
export function isPublic(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !blocked.check(address, "ipv4");
  // A zone (fe80::1%eth0) belongs to a link, never to the internet.
  if (family !== 6 || address.includes("%")) return false;
  return public6.check(address, "ipv6") && !blocked6.check(address, "ipv6");
}

function isLoopback(address: string): boolean {
  return isIP(address) === 4 ? loopback.check(address, "ipv4") : address === "::1";
}

const portsAllowed = ["", "443", "8443"];
const maxResolveMs = 5_000;

/** The address to call, or AddressRefused or AddressUnknown. */
export async function vet(text: string, options: GuardOptions = {}): Promise<Vetted> {
  const { allowLocal = allowLocalWebhooks, resolve = lookUp } = options;
  if (!URL.canParse(text) || text.length > 2_000) throw new AddressRefused("not a URL");
  const url = new URL(text);
  if (url.username || url.password) throw new AddressRefused("carries credentials");
  if (url.protocol !== "https:" && !(allowLocal && url.protocol === "http:")) {
    throw new AddressRefused("not https");
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const literal = isIP(host);
  const found = literal ? [{ address: host, family: literal }] : await within(resolve(host));
  if (found.length === 0) throw new AddressUnknown(`${host} has no address`);
  const local = allowLocal && found.every(({ address }) => isLoopback(address));
  // One bad address is enough: which of them is called is the resolver's choice.
  if (!local && !found.every(({ address }) => isPublic(address))) {
    throw new AddressRefused("not a public address");
  }
  if (!local && url.protocol !== "https:") throw new AddressRefused("not https");
  if (!local && !portsAllowed.includes(url.port)) throw new AddressRefused("not a port for https");
  // Not everywhere that functions run is there a way to addresses of IPv6, and one alone is tried.
  const { address, family } = found.find(({ family }) => family === 4) ?? found[0];
  return { url, address, family: family as 4 | 6 };
}

async function lookUp(host: string): Promise<{ address: string; family: number }[]> {
  return await lookup(host, { all: true });
}

async function within<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("took too long")), maxResolveMs);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    throw new AddressUnknown(
      `could not be resolved: ${error instanceof Error ? error.message : error}`,
    );
  } finally {
    clearTimeout(timer);
  }
}
