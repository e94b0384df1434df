import { z } from "zod";
import { Id, Timestamp } from "../../../shared/schemas/schemas.ts";
import { normalizeDomain } from "./domain-name.ts";

export const ConnectDomain = z.object({
  custom_domain: z.string().max(1_000).transform((text, context) => {
    const domain = normalizeDomain(text);
    if (domain !== undefined) return domain;
    context.issues.push({ code: "custom", message: "invalid_custom_domain", input: text });
    return z.NEVER;
  }),
}).meta({ id: "ConnectDomain" });

const Status = z.enum(["pending_dns", "active", "archived"]);

const CustomDomain = z.object({
  id: Id,
  market_id: Id,
  tenant_id: Id,
  custom_domain: z.string(),
  status: Status,
  dns_records: z.array(z.object({
    type: z.enum(["CNAME", "A", "TXT"]),
    name: z.string().describe(
      "Relative to the zone, as DNS panels ask for it; `@` is the zone itself",
    ),
    name_full: z.string(),
    value: z.string(),
    purpose: z.enum(["routing", "ownership"]),
  })),
  dns_verified_at: Timestamp.nullable(),
  dns_checked_at: Timestamp.nullable().describe("The last time the records were looked for"),
  created_at: Timestamp,
  updated_at: Timestamp,
  disconnected_at: Timestamp.nullable(),
}).meta({ id: "CustomDomain" });

export const DomainResponse = z.object({
  data: z.object({ custom_domain: CustomDomain.nullable() }),
});
export const DomainConnected = z.object({ data: z.object({ custom_domain: CustomDomain }) });
export const DomainVerified = z.object({
  data: z.object({
    verified: z.boolean(),
    custom_domain: CustomDomain.pick({
      id: true,
      custom_domain: true,
      status: true,
      dns_verified_at: true,
    }),
    checks: z.array(z.object({
      type: z.string(),
      name: z.string(),
      expected: z.string(),
      found: z.array(z.string()),
      ok: z.boolean(),
      reason: z.string().nullable(),
    })).describe("The records found; empty where nothing had to be looked up"),
  }),
});
export const DomainDisconnected = z.object({
  data: z.object({
    custom_domain: z.object({
      id: Id,
      custom_domain: z.string(),
      status: z.literal("archived"),
      disconnected_at: Timestamp,
    }),
  }),
});
