/** Calls that a good client makes while connections break. */
import { randomUUID } from "node:crypto";
import type { Stack } from "../../supabase/local/stack.ts";
import type { Body } from "../support/api.ts";

/** An answer of the functions. */
export interface Answer {
  /** 0: the connection broke, and nobody knows. */
  status: number;
  body: Body;
}

async function call(
  stack: Stack,
  token: string,
  path: string,
  body: unknown,
  key?: string,
): Promise<Answer> {
  try {
    const response = await fetch(`${stack.apiUrl}/delivery/${path}`, {
      method: path.startsWith("GET ") ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        ...(key ? { "idempotency-key": key } : {}),
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  } catch {
    return { status: 0, body: {} };
  }
}

/** Calls again with the same key until somebody knows: what a good client does. */
export async function surely(
  stack: Stack,
  token: string,
  path: string,
  body: unknown,
  key = randomUUID(),
): Promise<Answer> {
  for (let attempt = 0;; attempt++) {
    const answer = await call(stack, token, path, body, key);
    if (![0, 500, 503].includes(answer.status) || attempt > 20) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20 * attempt));
  }
}

/** An order, the tokens of its office and driver, and how it is paid. */
export interface Completion {
  office: string;
  driver: { id: string; token: string };
  order: Record<string, unknown>;
  /** 0: the sender pays the fee, and there is no COD; 1: the sender, with COD; 2: the receiver pays both. */
  rule: number;
  cod: number;
}

/** A delivered order whose cash the driver took: fee by the sender, COD by the receiver, or both by the receiver. */
export async function complete(
  stack: Stack,
  { office, driver, order, rule, cod }: Completion,
): Promise<void> {
  const made = await surely(stack, office, "deliveries", {
    ...order,
    payer_type: rule === 2 ? "receiver" : "sender",
    cod_amount: rule === 0 ? 0 : cod,
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  const { id } = made.body.delivery;
  const assigned = await surely(stack, office, "assignments", {
    delivery_id: id,
    driver_id: driver.id,
  });
  if (assigned.status !== 201) throw new Error(JSON.stringify(assigned.body));
  const accepted = await fetch(`${stack.apiUrl}/delivery/assignments/${assigned.body.id}`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${driver.token}`,
      "content-type": "application/json",
      "idempotency-key": id,
    },
    body: JSON.stringify({ status: "accepted" }),
  }).catch(() => undefined);
  await accepted?.body?.cancel();
  const proof = {
    photo_urls: ["https://x.test/p.jpg"],
    signature_url: "https://x.test/s.png",
    signed_by: "R",
  };
  for (const step of ["pickup", "depart", "complete"]) {
    await surely(stack, driver.token, `deliveries/${id}/${step}`, { proof });
  }
}
