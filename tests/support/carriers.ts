/** Deliveries for external carriers, and carriers that report on them. */
import { createHmac, randomUUID } from "node:crypto";
import { type Answer, type Body, nobody } from "./api.ts";
import { sql } from "./db.ts";
import { newAddress } from "./make.ts";
import { newService } from "./money.ts";
import type { Tenant } from "./people.ts";

let code = 400_000_000 + Date.now() % 100_000_000;

/** A delivery that is not the tenant's own drivers' business. */
export async function newExternal(
  tenant: Tenant,
  more: Record<string, string> = {},
): Promise<{ id: string; code: number }> {
  const [address, service] = await Promise.all([newAddress(tenant), newService(tenant)]);
  const place = { full_address: "Street 1", city: "Baghdad", country: "IQ" };
  const row = {
    tenant_id: tenant.id,
    delivery_code: ++code,
    barcode: `EXT-${code}`,
    delivery_service_id: service,
    carrier_type: "external",
    payer_type: "sender",
    payment_method: "wallet",
    delivery_fee: 1_000,
    currency: "IQD",
    unit_size: 2,
    unit_size_source: "service_min",
    pickup_address_id: address,
    dropoff_address_id: address,
    pickup_snapshot: sql.json(place),
    dropoff_snapshot: sql.json(place),
    recipient: sql.json({ name: "Sara", phone: "+9647700000009" }),
    service_snapshot: sql.json({}),
    ...more,
  };
  const [{ id }] = await sql`insert into delivery.deliveries ${sql(row)} returning id`;
  return { id, code };
}

/** Lets a tenant work with a carrier; answers the webhook it is to be handed. */
export async function enable(
  tenant: Tenant,
  carrier = "simulated",
  credentials: Body = {},
): Promise<{ url: string; secret: string }> {
  const { status, body } = await tenant.admin.patch(`/carriers/tenant/${carrier}`, {
    is_enabled: true,
    credentials,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.webhook;
}

/** A report as the simulated carrier sends it; `sign` may forge. */
export function report(
  tenant: { id: string },
  secret: string,
  body: Body,
  options: { carrier?: string; signature?: string | null; raw?: string } = {},
): Promise<Answer> {
  const raw = options.raw ?? JSON.stringify({ event_id: randomUUID(), ...body });
  const right = createHmac("sha256", secret).update(raw).digest("hex");
  const signature = options.signature === undefined ? right : options.signature;
  return nobody.send(
    "POST",
    `/carriers/webhooks/${options.carrier ?? "simulated"}/${tenant.id}`,
    raw,
    { headers: signature === null ? {} : { "x-carrier-signature": signature } },
  );
}

export async function statusOf(delivery: { id: string }): Promise<string> {
  return (await sql`select status from delivery.deliveries where id = ${delivery.id}`)[0].status;
}
