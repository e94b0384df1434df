/** Looks the records of a domain up in the public DNS, by DNS over HTTPS. */
import { z } from "zod";
import {
  dnsOverHttpsUrl,
  storefrontAddress,
  storefrontCnameTarget,
} from "../../../shared/runtime/env.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";
import { callOut } from "../../../shared/outbound/fetch.ts";

export interface DnsRecord {
  type: "CNAME" | "A" | "TXT";
  /** Relative to the zone, as DNS panels ask for it. */
  name: string;
  /** The whole name, which is looked up. */
  name_full: string;
  value: string;
  purpose: "routing" | "ownership";
}

export interface Check {
  type: DnsRecord["type"];
  /** The whole name that was asked for. */
  name: string;
  expected: string;
  found: string[];
  ok: boolean;
  /** Key of the text that says what is missing; null where nothing is. */
  reason: "dns_record_missing" | "dns_record_different" | "dns_unreachable" | null;
}

const numbers = { A: 1, CNAME: 5, TXT: 16 } as const;
const Answer = z.object({
  Status: z.int(),
  Answer: z.array(z.object({ type: z.int(), data: z.string().max(4_096) })).max(200).optional(),
});

/** The record that leads the visitors of a domain to stores. */
export const routing = (isApex: boolean): Pick<DnsRecord, "type" | "value"> =>
  isApex
    ? { type: "A", value: storefrontAddress }
    : { type: "CNAME", value: storefrontCnameTarget };

/** A record with what this project wants in it now, where the company came from another one, or the project's address changed. */
export const wantedNow = (record: DnsRecord): DnsRecord =>
  record.purpose === "routing" ? { ...record, ...routing(record.type === "A") } : record;

/**
 * Looks up each record that the domain needs. One that leads where it was to lead when the domain was connected is right
 * as well: its owner changes it when the old address ends, not before. Never throws: a resolver may be away.
 */
export function checkRecords(records: readonly DnsRecord[]): Promise<Check[]> {
  return Promise.all(records.map(async (record): Promise<Check> => {
    const { type, name_full: asked, value } = wantedNow(record);
    const base = { type, name: asked, expected: value };
    try {
      const found = await lookUp(asked, type);
      const ok = found.some((one) => same(type, one, value) || same(type, one, record.value));
      const reason = ok ? null : found.length ? "dns_record_different" : "dns_record_missing";
      return { ...base, found: found.slice(0, 20), ok, reason };
    } catch (error) {
      log("warn", "dns_unreachable", { name: asked, type, ...describeError(error) });
      return { ...base, found: [], ok: false, reason: "dns_unreachable" };
    }
  }));
}

async function lookUp(name: string, type: DnsRecord["type"]): Promise<string[]> {
  const url = new URL(dnsOverHttpsUrl);
  url.searchParams.set("name", name);
  url.searchParams.set("type", type);
  const response = await callOut(url.href, { headers: { accept: "application/dns-json" } }, {
    timeoutMs: 4_000,
    retries: 1,
    retryOn: [429, 500, 502, 503, 504],
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the resolver answered ${response.status}`);
  }
  const { Status, Answer: answer = [] } = Answer.parse(await response.json());
  // 0: there is the name; 3: there is none. Anything else is the resolver's trouble.
  if (Status !== 0 && Status !== 3) throw new Error(`the resolver says ${Status}`);
  return answer.filter((one) => one.type === numbers[type]).map(({ data }) => plain(type, data));
}

/** TXT data comes in quoted pieces of 255 bytes; host names with a final dot. */
function plain(type: DnsRecord["type"], data: string): string {
  if (type !== "TXT") return data.trim().replace(/\.$/, "").toLowerCase();
  const pieces = [...data.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) =>
    piece.replace(/\\(.)/g, "$1")
  );
  return pieces.length ? pieces.join("") : data.trim();
}

function same(type: DnsRecord["type"], found: string, expected: string): boolean {
  return type === "TXT" ? found === expected : found === expected.toLowerCase().replace(/\.$/, "");
}
