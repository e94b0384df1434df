/**
 * Opening a payment at its gateway and asking how it stands. Claimed, called, written down: three
 * statements; a call that never comes back is repeated by the next request, or by cron.
 */
import { createHash } from "node:crypto";
import { repeatable, system } from "../db/db.ts";
import { storefrontCnameTarget, supabaseUrl } from "../runtime/env.ts";
import { AppError } from "../errors/errors.ts";
import { describeError, log } from "../runtime/log.ts";
import { gatewayPurpose } from "../outbound/purposes.ts";
import { unseal } from "../outbound/secrets.ts";
import {
  type Facts,
  type Gateway,
  GatewayAway,
  type GatewayPayment,
  PaymentNotKnown,
  type Secrets,
} from "./gateway.ts";
import { gatewayNamed } from "./registry.ts";

/** The customer's next step. */
export interface Instructions {
  redirect_url: string;
  gateway_order_id: string;
  expires_at: string;
}

type Known = GatewayPayment & { secrets: Secrets };

/** Where a body asks to send the customer back to, as cores take it. */
export function returnTo(
  { backRef, back_ref }: { backRef?: string | null; back_ref?: string | null },
): Record<string, unknown> {
  const target = backRef ?? back_ref;
  if (!target) return { platform_host: storefrontCnameTarget };
  const url = new URL(target);
  return { back_ref: url.href, back_ref_host: url.host, platform_host: storefrontCnameTarget };
}

/** How long a request waits while another one opens the same payment, as long as a claim of it holds, and how often it looks. */
const maxWaitMs = 15_000;
const lookEveryMs = 200;

/**
 * Where the customer pays; null once the payment is over, paid or not, as a repeated request finds it. While another request opens it,
 * this one waits for its answer, and opens the payment itself where that one could not. Fails with gateway_unavailable, and may then be asked again;
 * with gateway_not_configured where its gateway was switched off before it was opened.
 */
export async function openPayment(paymentId: string): Promise<Instructions | null> {
  const claim = () =>
    system<{ open?: Known; wait?: true; switched_off?: true } & Partial<Instructions> | null>(
      "select money.payment_open($1::text::uuid) as answer",
      [paymentId],
    );
  const began = performance.now();
  let claimed = await claim();
  while (claimed?.wait && performance.now() - began < maxWaitMs) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    claimed = await claim();
  }
  if (!claimed) return null;
  if (claimed.redirect_url) return claimed as Instructions;
  if (claimed.switched_off) {
    throw new AppError("gateway_not_configured", { field: "paymentMethodTypeId" });
  }
  if (!claimed.open) throw new AppError("gateway_unavailable");
  const { secrets: sealed, ...payment } = claimed.open;
  let opened;
  try {
    const gateway = await known(payment.gateway_code);
    const notifyUrl = `${supabaseUrl}/functions/v1/payment/webhooks/${gateway.code}`;
    opened = await gateway.open(payment, await opensAll(payment, sealed), notifyUrl);
  } catch (error) {
    await written(payment, null, null);
    throw unavailable(error);
  }
  if (!await written(payment, opened.redirect_url, opened.gateway_reference)) {
    throw new AppError("gateway_unavailable");
  }
  return {
    redirect_url: opened.redirect_url,
    gateway_order_id: payment.gateway_order_id,
    expires_at: payment.expires_at,
  };
}

function written(payment: GatewayPayment, redirect: string | null, reference: string | null) {
  return system<boolean>(
    "select money.payment_opened($1::text::uuid, $2::text, $3::text, $4::text) as answer",
    [payment.id, payment.gateway_order_id, redirect, reference],
  );
}

/** A payment by its id, or by its number at a gateway. */
type Which = { payment: string } | { code: string; number: string };

/**
 * Asks the gateway how a payment stands and applies its answer. `wait`: it was asked a moment ago;
 * `unknown`: no payment waits for that. The first answer after the payment's end is written down as its last one. Fails
 * with gateway_unavailable.
 */
export async function checkPayment(
  which: Which,
  pauseSeconds: number,
): Promise<"asked" | "wait" | "unknown"> {
  const [id, code, number] = "payment" in which
    ? [which.payment, null, null]
    : [null, which.code, which.number];
  const claimed = await system<{ ask?: Known; ended?: boolean; wait?: true } | null>(
    "select money.payment_check($1::text::uuid, $2::text, $3::text, $4::text::interval) as answer",
    [id, code, number, `${pauseSeconds} seconds`],
  );
  if (!claimed) return "unknown";
  if (!claimed.ask) return "wait";
  const { secrets: sealed, ...payment } = claimed.ask;
  let facts: Facts;
  try {
    const gateway = await known(payment.gateway_code);
    facts = await gateway.ask(payment, await opensAll(payment, sealed));
  } catch (error) {
    // A payment that has ended and is not known there any more was not made.
    if (!(claimed.ended && error instanceof PaymentNotKnown)) throw unavailable(error);
    facts = { kind: "none", event: "status unknown" };
  }
  // While nothing is known there is nothing to apply.
  if (facts.kind !== "none") {
    const said = JSON.stringify([payment.gateway_order_id, facts]);
    await applyFacts(payment.gateway_code, [payment.tenant_id], digest(said), "status", facts);
  }
  if (claimed.ended) {
    await system("select money.payment_answered($1::text::uuid) as answer", [payment.id]);
  }
  return "asked";
}

/** One event, applied once. Fails with service_unavailable when it cannot be now: it will come again. */
export function applyFacts(
  code: string,
  tenants: string[],
  key: string,
  proof: "signature" | "status",
  facts: Facts,
  raw: string | null = null,
): Promise<{ outcome: string; reason?: string }> {
  return repeatable(
    `select money.payment_apply($1::text, $2::text::uuid[], $3::text, $4::text, $5::text::jsonb,
      $6::text) as answer`,
    [code, `{${tenants.join(",")}}`, key, proof, JSON.stringify(facts), raw],
  );
}

export function digest(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function known(code: string): Promise<Gateway> {
  const gateway = await gatewayNamed(code);
  if (!gateway) throw new GatewayAway(`there is no gateway ${code}`);
  return gateway;
}

async function opensAll(payment: GatewayPayment, sealed: Secrets): Promise<Secrets> {
  const purpose = gatewayPurpose(payment.tenant_id, payment.gateway_code);
  const names = Object.keys(sealed);
  const texts = await Promise.all(names.map((name) => unseal(sealed[name], purpose)));
  return Object.fromEntries(names.map((name, index) => [name, texts[index]]));
}

function unavailable(error: unknown): unknown {
  if (!(error instanceof GatewayAway)) return error;
  log("warn", "gateway_unavailable", describeError(error));
  return new AppError("gateway_unavailable");
}
