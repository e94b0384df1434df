import { answerWhole } from "../../../shared/api/list.ts";
import { z } from "zod";
import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { supabaseUrl } from "../../../shared/runtime/env.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { accept } from "../../../shared/schemas/input.ts";
import { JsonObject, listResponse, Timestamp } from "../../../shared/schemas/schemas.ts";
import { gatewayPurpose } from "../../../shared/outbound/purposes.ts";
import { printOf, printsOf, seal } from "../../../shared/outbound/secrets.ts";
import { gatewayCodes, gatewayNamed } from "../../../shared/payment-gateways/registry.ts";
import { maxBytes, maxMetadataBytes } from "../../../shared/schemas/sizes.ts";

const admin = permission("manage:tenant");
const Code = z.object({ gateway_code: z.string().max(100) });

const Shown = z.object({
  gateway_code: z.string(),
  is_active: z.boolean(),
  settings: JsonObject,
  secrets: z.record(z.string(), z.boolean()).describe("Which secrets are set; never what they are"),
  has_previous_webhook_secret: z.boolean(),
  previous_accounts: z.array(z.string()).describe(
    "Accounts of before, the last one first: payments that were opened there are still asked about and heard of",
  ),
  webhook_url: z.string().describe("The address the gateway is to notify"),
  updated_at: Timestamp.nullable(),
}).meta({ id: "GatewaySettings" });
type Configured = Omit<z.output<typeof Shown>, "webhook_url">;

const Configure = z.object({
  is_active: z.boolean().optional(),
  settings: maxBytes(maxMetadataBytes, JsonObject).optional(),
  secrets: z.record(z.string().max(64), z.string().min(1).max(2_000)).optional(),
  forget_previous_secret: z.boolean().optional().describe(
    "Events signed with the secret before the current one, and those of accounts of before, are no longer taken",
  ),
}).meta({ id: "ConfigureGateway" });

const shown = (row: Configured) => ({
  ...row,
  webhook_url: `${supabaseUrl}/functions/v1/payment/webhooks/${row.gateway_code}`,
});

/** With which accounts a tenant is paid. */
export const gatewaySettings: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/gateways",
    summary: "The gateways there are, and how mine are set up",
    access: admin,
    response: listResponse(Shown),
    async run({ db }) {
      const mine = await db.call<Configured[]>("money.gateways_get");
      const blank = {
        is_active: false,
        settings: {},
        secrets: {},
        has_previous_webhook_secret: false,
        previous_accounts: [],
        updated_at: null,
      };
      return answerWhole(gatewayCodes.map((gateway_code) =>
        shown(
          mine.find((row) => row.gateway_code === gateway_code) ??
            { ...blank, gateway_code },
        )
      ));
    },
  }),
  endpoint({
    method: "put",
    path: "/gateways/:gateway_code",
    summary: "Set a gateway up; secrets are sealed and never shown again",
    access: admin,
    // Sealing the same secret twice gives two texts, so that no two inputs are equal.
    idempotency: "handler",
    params: Code,
    body: Configure,
    response: z.object({ data: Shown }),
    errors: ["gateway_not_found", "gateway_incomplete"],
    async run({ db, params, body }) {
      // Before anything is done with secrets: who asks, and for which tenant.
      const { tenant_id } = await db.call<{ tenant_id: string }>("money.gateway_owner");
      const gateway = await gatewayNamed(params.gateway_code);
      if (!gateway) throw new AppError("gateway_not_found");
      const { settings } = accept(
        z.object({ settings: gateway.settings.partial().optional() }),
        { settings: body.settings },
      );
      const { secrets = {} } = accept(
        z.object({ secrets: z.partialRecord(z.enum(gateway.secrets), z.string()).optional() }),
        { secrets: body.secrets },
      ) as { secrets?: Record<string, string> };
      const sealed: Record<string, string> = {};
      for (const [name, text] of Object.entries(secrets)) {
        sealed[name] = await seal(text, gatewayPurpose(tenant_id, gateway.code));
      }
      const row = await db.call<Configured>("money.gateway_put", {
        gateway_code: gateway.code,
        is_active: body.is_active,
        settings,
        secrets: sealed,
        webhook_secret_print: secrets.webhook_secret && printOf(secrets.webhook_secret),
        webhook_secret_prints: secrets.webhook_secret && printsOf(secrets.webhook_secret),
        forget_previous_secret: body.forget_previous_secret,
        needs: gateway.needs,
      });
      return { data: shown(row) };
    },
  }),
];
