/** Deliveries for external carriers, and carriers that report on them. */
import { createHmac, randomUUID } from "node:crypto";
import { expect } from "vitest";
import { type Answer, type Body, nobody, type Person } from "./api.ts";
import { sql } from "./db.ts";
import { type Ground, newDelivery, newGround } from "./deliveries.ts";
import { newAddress } from "./make.ts";
import { newService } from "./money.ts";
import { newTenant, type Tenant } from "./people.ts";

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

/** The same, booked at the simulated carrier by operations. */
export async function newBooked(tenant: Tenant) {
  const delivery = await newExternal(tenant);
  const { body } = await tenant.ops.post(`/carriers/shipments/${delivery.id}`, {
    carrier_code: "simulated",
  });
  return { ...delivery, tracking_number: body.shipment.tracking_number as string };
}

/** Offers the carrier that exists nowhere, as the demo data does. */
export const offerSimulated = () =>
  sql`update integration.carriers set is_active = true where code = 'simulated' and not is_active`;

/** Lets a tenant work with a carrier; answers the webhook it is to be handed. */
export async function enable(
  tenant: Tenant,
  carrier = "simulated",
  credentials: Body = {},
): Promise<{ url: string; secret: string }> {
  await offerSimulated();
  const { status, body } = await tenant.admin.patch(`/carriers/tenant/${carrier}`, {
    is_enabled: true,
    credentials,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.webhook;
}

/** The signature of a report's bytes. */
export const signedBy = (secret: string, raw: string) =>
  createHmac("sha256", secret).update(raw).digest("hex");

/** A report as the simulated carrier sends it; `sign` may forge. */
export function report(
  tenant: { id: string },
  secret: string,
  body: Body,
  options: { carrier?: string; signature?: string | null; raw?: string } = {},
): Promise<Answer> {
  const raw = options.raw ?? JSON.stringify({ event_id: randomUUID(), ...body });
  const right = signedBy(secret, raw);
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

/** How an external delivery is ordered whose receiver pays 2,000 for it in cash. */
export const external = { carrier_type: "external", carrier_code: "simulated" };

/** Books a delivery that is the simulated carrier's; returns its number with the carrier. */
export async function booked({ ops }: Tenant, id: string): Promise<string> {
  const answer = await ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
  expect(answer).toSucceed(200);
  return answer.body.shipment.tracking_number;
}

/** Gives a delivery to the simulated carrier, and books it; returns its number with the carrier. */
export async function givenToCarrier(tenant: Tenant, id: string): Promise<string> {
  expect(await tenant.ops.patch(`/delivery/deliveries/${id}/carrier`, external)).toSucceed(200);
  return await booked(tenant, id);
}

/** A delivery that the simulated carrier has: its receiver pays the fee and 7,000 COD at the door unless said. */
export async function bookedCash(
  ground: Ground,
  more: Record<string, unknown> = {},
): Promise<{ id: string; code: number; tracking_number: string; cash_due: number }> {
  const made = await newDelivery(ground, { ...external, cod_amount: 7_000, ...more });
  const { status, body } = await ground.tenant.ops.post(`/carriers/shipments/${made.id}`, {
    carrier_code: "simulated",
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const { tracking_number, cash_due } = body.shipment;
  return { id: made.id, code: made.delivery_code, tracking_number, cash_due };
}

/** The same, reported delivered: the carrier owes what it collected. */
export async function carriedCash(
  ground: Ground,
  secret: string,
  more: Record<string, unknown> = {},
) {
  const parcel = await bookedCash(ground, more);
  const { tracking_number } = parcel;
  const told = await report(ground.tenant, secret, { tracking_number, status: "delivered" });
  if (told.body.outcome !== "applied") throw new Error(JSON.stringify(told.body));
  const [{ id: collection }] =
    await sql`select id from money.carrier_collections where delivery_id = ${parcel.id}`;
  return { ...parcel, collection: collection as string };
}

/** A carrier's debt to a tenant in the ledger. */
export async function owedBy(tenant: { id: string }, carrier = "simulated"): Promise<number> {
  const [row] = await sql`select coalesce(sum(balance), 0) as balance from money.accounts
    where tenant_id = ${tenant.id} and kind = 'carrier_cash' and carrier_code = ${carrier}`;
  return row.balance;
}

/** A tenant for which the simulated carrier works, and what its deliveries need. */
export interface Side {
  tenant: Tenant;
  ground: Ground;
  secret: string;
}

export async function newSide(): Promise<Side> {
  const tenant = await newTenant();
  const [ground, { secret }] = await Promise.all([newGround(tenant), enable(tenant)]);
  return { tenant, ground, secret };
}

/** A report of the simulated carrier on a parcel that it has. */
export const tell = (
  { tenant, secret }: Side,
  { tracking_number }: { tracking_number: string },
  status: string,
  more = {},
) => report(tenant, secret, { tracking_number, status, ...more });

/** The cash that a carrier collected for a delivery. */
export const collectionsOf = (delivery: string) =>
  sql`select carrier_code, amount, cod_amount, delivery_fee_amount, currency, status
    from money.carrier_collections where delivery_id = ${delivery}`;

/** Parcels whose cash a carrier took, one after the other: 2,000 fee and this COD each. */
export async function carried({ ground, secret }: Side, ...cods: number[]) {
  const made: Awaited<ReturnType<typeof carriedCash>>[] = [];
  for (const cod_amount of cods) made.push(await carriedCash(ground, secret, { cod_amount }));
  return made;
}

/** Enters what the simulated carrier paid, under a reference of its own unless said. */
export const payCarried = (who: Person, amount: number, more: object = {}, headers = {}) =>
  who.post("/carriers/tenant/simulated/remittances", {
    amount,
    currency: "IQD",
    reference: randomUUID(),
    ...more,
  }, { headers });
