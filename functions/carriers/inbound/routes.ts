import { createHmac } from "node:crypto";
import { z } from "zod";
import { open } from "../../../shared/api/access.ts";
import { sameText } from "../../../shared/http/actor.ts";
import { repeatable } from "../../../shared/db/db.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { parseJson, readBytes, requireStorable } from "../../../shared/schemas/input.ts";
import { log } from "../../../shared/runtime/log.ts";
import { Id } from "../../../shared/schemas/schemas.ts";
import { webhookPurpose } from "../../../shared/outbound/purposes.ts";
import { unseal } from "../../../shared/outbound/secrets.ts";
import { triggerWebhookDispatch } from "../../../shared/outbound/webhook-dispatch.ts";
import type { Adapter, Report } from "../adapters/adapter.ts";
import { adapterOf } from "../adapters/registry.ts";
import { CarrierParams } from "../tenant/schemas.ts";

const maxBodyBytes = 65_536;

/** Carriers' status reports. Nobody signs in here: the signature over the raw bytes is the proof. */
export const carrierWebhooks: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/webhooks/:carrier_code/:tenant_id",
    summary:
      "Take a report of a carrier, signed in X-Carrier-Signature (or the carrier's own header)",
    access: open(),
    tenant: "none",
    params: CarrierParams.extend({ tenant_id: Id }),
    response: z.object({ outcome: z.string(), duplicate: z.boolean() }),
    errors: ["invalid_signature"],
    async run({ params: { carrier_code, tenant_id }, request, waitUntil }) {
      const bytes = await readBytes(request, maxBodyBytes);
      const adapter = await adapterOf(carrier_code);
      if (!adapter || !await isGenuine(adapter, tenant_id, request.headers, bytes)) {
        throw new AppError("invalid_signature");
      }
      const report = reportIn(adapter, bytes);
      if (!report) return { outcome: "ignored", duplicate: false };
      const { carrier_status } = report;
      const status = carrier_status && Object.hasOwn(adapter.statusMap, carrier_status)
        ? adapter.statusMap[carrier_status]
        : null;
      const taken = await repeatable<{ outcome: string; duplicate: boolean }>(
        "select integration.carrier_report($1::text, $2::text::uuid, $3::text::jsonb) as answer",
        [carrier_code, tenant_id, JSON.stringify({ ...report, status })],
      );
      // Also one that is not applied may have written an event: of cash that nobody has booked.
      if (!taken.duplicate) waitUntil(triggerWebhookDispatch());
      if (taken.outcome !== "applied") {
        log("info", "carrier_report_ignored", { carrier_code, tenant_id, ...taken });
      }
      return taken;
    },
  }),
];

async function isGenuine(
  adapter: Adapter,
  tenantId: string,
  headers: Headers,
  bytes: Uint8Array,
): Promise<boolean> {
  const sealed = await repeatable<string | null>(
    "select to_jsonb(integration.carrier_secret($1::text, $2::text::uuid)) as answer",
    [adapter.code, tenantId],
  );
  const secret = sealed === null ? undefined : await unseal(sealed, webhookPurpose(adapter.code));
  const { header, prefix } = adapter.signature;
  const own = headers.get(header);
  const sent = own?.startsWith(prefix)
    ? own.slice(prefix.length)
    : headers.get("x-carrier-signature");
  // Computed without a secret as well, so that the time does not tell whether this tenant uses the carrier.
  const right = createHmac("sha256", secret ?? "none").update(bytes).digest("hex");
  return sent !== null && sent.length === right.length && sameText(sent.toLowerCase(), right) &&
    secret !== undefined;
}

/** The report in a genuine body; one that is not in the carrier's form is answered with invalid_json. */
function reportIn(adapter: Adapter, bytes: Uint8Array): Report | null {
  try {
    return adapter.parseWebhook(requireStorable(parseJson(bytes)));
  } catch {
    throw new AppError("invalid_json");
  }
}
