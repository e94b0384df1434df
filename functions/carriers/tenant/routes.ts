import type { z } from "zod";
import { permission } from "../../../shared/api/access.ts";
import type { Database } from "../../../shared/db/db.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { supabaseUrl } from "../../../shared/runtime/env.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { credentialsPurpose, webhookPurpose } from "../../../shared/outbound/purposes.ts";
import { newSecret, printOf, seal, unseal } from "../../../shared/outbound/secrets.ts";
import { collectsCash, missingCredentials } from "../adapters/registry.ts";
import type { Credentials } from "../adapters/adapter.ts";
import { CarrierParams, CarrierResponse, CarriersResponse, Configure } from "./schemas.ts";

type Shown = z.output<typeof CarrierResponse>["carrier"];
type Stored = Omit<Shown, "collects_cash">;

interface Configured {
  tenant_id: string;
  carrier: Stored;
  webhook_secret: string | null;
}

/** The carriers a tenant works with. */
export const tenantCarriers: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/tenant",
    summary: "List the carriers with the tenant's configuration of each",
    access: permission("view:tenant", "manage:tenant"),
    response: CarriersResponse,
    async run({ db }) {
      const { carriers } = await db.call<{ carriers: Stored[] }>("integration.carriers_get");
      return { carriers: carriers.map(withCash) };
    },
  }),
  endpoint({
    method: "patch",
    path: "/tenant/:carrier_code",
    summary:
      "Configure a carrier; enabling one that reports by webhook returns its address and secret",
    access: permission("manage:tenant"),
    params: CarrierParams,
    body: Configure,
    response: CarrierResponse,
    confidential: true,
    errors: ["carrier_not_found", "carrier_incomplete"],
    async run({ db, params: { carrier_code }, body: { credentials, ...rest } }) {
      const made: Record<string, unknown> = {};
      const input: Record<string, unknown> = { ...rest, carrier_code, made };
      if (rest.is_enabled) made.secret = await seal(newSecret(), webhookPurpose(carrier_code));
      const configure = () => db.call<Configured>("integration.carrier_configure", input);
      const sent = Object.entries(credentials ?? {});
      if (sent.length === 0 && !rest.is_enabled) return shown(await configure());
      await db.withoutKey().check();
      if (sent.length > 0) input.credentials_print = printOf(JSON.stringify(sent.sort()));
      for (let left = 10;; left--) {
        Object.assign(made, await merged(db, carrier_code, Object.fromEntries(sent)));
        try {
          return await shown(await configure());
        } catch (error) {
          if (left === 0 || !isStale(error)) throw error;
        }
      }
    },
  }),
  endpoint({
    method: "post",
    path: "/tenant/:carrier_code/rotate-secret",
    summary: "Make another webhook secret of a carrier; the old one holds no more",
    access: permission("manage:tenant"),
    params: CarrierParams,
    response: CarrierResponse,
    confidential: true,
    errors: ["carrier_not_found", "carrier_not_enabled"],
    async run({ db, params: { carrier_code } }) {
      const made = { secret: await seal(newSecret(), webhookPurpose(carrier_code)) };
      return await shown(
        await db.call<Configured>("integration.carrier_rotate", { carrier_code, made }),
      );
    },
  }),
];

/** Others were saved while these were made. */
function isStale(error: unknown): boolean {
  return error instanceof AppError && error.code === "service_unavailable" &&
    error.params.field === "credentials";
}

/** Sealed anew with what was sent; the rest of the credentials stays. What it was made from, and what it is without. */
async function merged(
  db: Database,
  code: string,
  sent: Credentials,
): Promise<{ credentials?: string; was: string | null; missing: string[] }> {
  const { credentials } = await db.withoutKey().call<{ credentials: string | null }>(
    "integration.carrier_sealed",
    { carrier_code: code },
  );
  const kept = credentials ? JSON.parse(await unseal(credentials, credentialsPurpose(code))) : {};
  const all: Credentials = { ...kept, ...sent };
  const known = { was: credentials, missing: missingCredentials(code, all) };
  if (Object.keys(sent).length === 0) return known;
  return { ...known, credentials: await seal(JSON.stringify(all), credentialsPurpose(code)) };
}

/** Drivers collect, and the carriers whose adapter says so. */
function withCash({ configuration, ...carrier }: Stored): Shown {
  const collects_cash = carrier.is_internal || collectsCash(carrier.code);
  return { ...carrier, collects_cash, configuration };
}

async function shown({ tenant_id, carrier: stored, webhook_secret }: Configured) {
  const carrier = withCash(stored);
  if (!webhook_secret) return { carrier };
  return {
    carrier,
    webhook: {
      url: `${supabaseUrl}/functions/v1/carriers/webhooks/${carrier.code}/${tenant_id}`,
      secret: await unseal(webhook_secret, webhookPurpose(carrier.code)),
    },
  };
}
