/** Calls to gateways: JSON out, JSON in, a time limit, and one kind of failure. */
import type { z } from "zod";
import { gatewayUrl } from "../runtime/env.ts";
import { callOut, OutboundFailure } from "../outbound/fetch.ts";
import { GatewayAway, PaymentNotKnown } from "./gateway.ts";

const timeoutMs = 8_000;
const maxAnswerBytes = 65_536;

interface Call {
  method: "GET" | "POST";
  headers?: Record<string, string>;
  body?: unknown;
}

/** The base address of a gateway. Configuration of the platform: a tenant must not choose whom we call. */
export function addressOf(code: string, fallback?: string): string {
  const url = gatewayUrl(code, fallback);
  if (!url) throw new GatewayAway(`BARID_${code.toUpperCase()}_URL is not set`);
  return url;
}

/** How gateways refuse to say how a payment stands that they do not know, or not any more. */
const notKnown = new Set([400, 404, 410, 422]);

/** Reads a gateway's answer by its schema. Fails with GatewayAway, and PaymentNotKnown of a payment that was only read. */
export async function askGateway<S extends z.ZodType>(
  url: string,
  { method, headers, body }: Call,
  schema: S,
): Promise<z.output<S>> {
  try {
    const response = await callOut(url, {
      method,
      headers: { accept: "application/json", "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    }, { timeoutMs, retries: method === "GET" ? 1 : 0 });
    const text = await response.text();
    if (!response.ok || text.length > maxAnswerBytes) {
      const Refusal = method === "GET" && notKnown.has(response.status)
        ? PaymentNotKnown
        : GatewayAway;
      throw new Refusal(`${new URL(url).pathname}: status ${response.status}`);
    }
    const answer = schema.safeParse(JSON.parse(text));
    if (!answer.success) {
      throw new GatewayAway(`${new URL(url).pathname}: ${answer.error.message}`);
    }
    return answer.data;
  } catch (error) {
    if (error instanceof GatewayAway) throw error;
    if (error instanceof OutboundFailure || error instanceof SyntaxError || isAborted(error)) {
      throw new GatewayAway(String(error), { cause: error });
    }
    throw error;
  }
}

/** The time limit ran out while the answer was read. */
function isAborted(error: unknown): boolean {
  return error instanceof DOMException || error instanceof TypeError;
}
