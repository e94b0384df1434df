/** Whatever a tenant can read and print, as texts. */
import { Buffer } from "node:buffer";
import { expect, vi } from "vitest";
import { operations } from "../../contract/functions.ts";
import { sampleOf, urlOf } from "../../contract/requests.ts";
import type { Person } from "../../support/api.ts";
import { newCash } from "../../support/cod.ts";
import type { Things } from "../../support/everything.ts";
import type { Tenant } from "../../support/people.ts";
import { everyText } from "../../support/pdf.ts";

interface Text {
  what: string;
  text: string;
}

/** The answers of every read of every function to each of these people. */
export async function readEverything(people: Person[], things: Things): Promise<Text[]> {
  const found: Text[] = [];
  const reads = operations.filter(({ endpoint }) =>
    endpoint.method === "get" && !endpoint.internal
  );
  for (const who of people) {
    for (const operation of reads) {
      const url = urlOf(operation, sampleOf(operation, things));
      for (const form of ["", "format=csv"]) {
        const { status, body, headers } = await who.get(
          form ? `${url}${url.includes("?") ? "&" : "?"}${form}` : url,
        );
        if (status >= 300) continue;
        const text = body instanceof Uint8Array
          ? Buffer.from(body).toString("latin1")
          : typeof body === "string"
          ? body
          : JSON.stringify(body);
        found.push({
          what: `answer of ${operation.name}`,
          text: text + JSON.stringify([...headers]),
        });
      }
    }
  }
  return found;
}

/** The texts of a label, and of a receipt in each language for cash of this customer. */
export async function printEverything(
  tenant: Tenant,
  things: Things,
  customerName: string,
): Promise<Text[]> {
  const labels = await tenant.dispatcher.post("/delivery/shipment-labels", {
    delivery_codes: [things.delivery_code],
  });
  expect(labels.status, JSON.stringify(labels.body)).toBe(200);
  const printed = [{ what: "label", text: await everyText(labels.body) }];
  for (const language of ["en", "ar", "ku"] as const) {
    const { id } = await newCash(tenant, { customerName });
    const settled = await tenant.dispatcher.in(language).post("/delivery/cod-collections/remit", {
      scope: "selected",
      cod_collection_ids: [id],
    });
    expect(settled.status, JSON.stringify(settled.body)).toBe(200);
    const receipt = `/delivery/cod-settlements/${settled.body.data.settlement_payment_id}/receipt`;
    const answer = await vi.waitUntil(async () => {
      const answer = await tenant.dispatcher.get(receipt);
      return answer.status !== 202 && answer;
    }, { timeout: 30_000 });
    const file = new Uint8Array(await (await fetch(answer.body.url)).arrayBuffer());
    printed.push({ what: `receipt ${language}`, text: await everyText(file) });
  }
  return printed;
}
