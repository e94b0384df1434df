/** The lives of people in a company, who are erased there, and the command as tests call it. */
import type postgres from "postgres";
import { expect } from "vitest";
import { erasePerson } from "../../supabase/tenant/erase.ts";
import type { Place } from "../../supabase/tenant/place.ts";
import { sql } from "./db.ts";
import { everyTable, patternOf, placeAt } from "./deletion.ts";
import { assign, type Ground, moves, newDelivery, newGround } from "./deliveries.ts";
import { jobsDone } from "./jobs.ts";
import { fundWallet } from "./money.ts";
import { newCart, newShop, orderOf, type Shop } from "./orders.ts";
import { moveToOwnStack } from "./move-to-own-stack.ts";
import type { Person } from "./api.ts";
import { answerBy, offerTracking, tokenOf } from "./tracking.ts";

/** Somebody who gets parcels. */
export interface Recipient {
  name: string;
  phone: string;
  email: string;
  street: string;
  /** How they were called, and where they lived, when the parcel was ordered. */
  before?: { name: string; street: string };
}

/** The texts that no row may hold any more. */
export const textsOfPerson = ({ name, phone, email, street, before }: Recipient) => [
  ...[name, phone, phone.replace("+964", "0"), email, street],
  ...(before ? [before.name, before.street] : []),
];

export interface Lived {
  shop: Shop;
  ground: Ground;
}

export async function newCompany(): Promise<Lived> {
  const shop = await newShop();
  return { shop, ground: await newGround(shop.tenant) };
}

const placeOf = ({ name, phone, email, street }: Recipient) => ({
  ...{ full_address: street, city: "Baghdad", country: "IQ", latitude: 33.3, longitude: 44.4 },
  title: { en: `${name}'s home` },
  contact_info: { name, phone, email },
});

/** A parcel brought to them, with notes, a photo of the door, and the cash remitted and receipted; its id and its receipt's. */
export async function receives({ shop: { tenant }, ground }: Lived, person: Recipient) {
  const { name, phone } = person;
  const old = { ...person, ...person.before };
  const { id } = await newDelivery(ground, {
    ...{ dropoff_address_id: undefined, cod_amount: 7_000 },
    ...{
      delivery_location: { ...placeOf(old), ...(person.before && { contact_info: {} }) },
      recipient: { name: old.name, phone, landmark: `Behind ${old.name}` },
      notes: `Ring twice, ${name} hears badly`,
    },
    external_reference_id: `For ${phone}`,
  });
  if (person.before) await redirected(tenant.ops, id, person);
  await offerTracking(ground);
  const location = { latitude: 33.31, longitude: 44.41 };
  expect(await answerBy(await tokenOf(tenant.ops, id), { note: `Ask for ${name}`, location }))
    .toSucceed(200);
  await assign(tenant, id);
  const upload = await tenant.driver.post(`/delivery/deliveries/${id}/proof-uploads`, {
    ...{ stage: "delivery", kind: "photo", content_type: "image/jpeg" },
  });
  const put = await fetch(upload.body.data.upload_url, {
    ...{ method: "PUT", headers: { "content-type": "image/jpeg" } },
    body: new Uint8Array([255, 216, 255, 224]),
  });
  expect(put.status).toBe(200);
  await moves(tenant.driver, id, "pickup", "depart", ["complete", {
    notes: `${name} paid`,
    proof: {
      photo_urls: [upload.body.data.path],
      signature_url: "https://example.com/s.png",
      signed_by: name,
    },
  }]);
  const [cash] = await sql`select id from money.cod_collections where delivery_id = ${id}`;
  const settled = await tenant.dispatcher.post(
    "/delivery/cod-collections/remit",
    { scope: "selected", cod_collection_ids: [cash!.id], notes: `Cash of ${name}` },
    { headers: { "idempotency-key": id } },
  );
  expect(settled).toSucceed(200);
  await jobsDone(tenant.id);
  return { id, payment: settled.body.data.settlement_payment_id as string };
}

/** The office learns their new name and place. */
async function redirected(ops: Person, id: string, person: Recipient): Promise<void> {
  const { name, phone } = person;
  expect(
    await ops.post(`/delivery/deliveries/${id}/redirect`, {
      dropoff_address: placeOf(person),
      recipient: { name, phone },
    }),
  ).toSucceed(200);
}

/** An order of a store that a customer has sent to them, paid by wallet, and cancelled, so that it is given back. */
export async function buys({ shop }: Lived, person: Recipient, by: Person): Promise<string> {
  await fundWallet(shop.tenant, "customer", by.id, 6_000);
  const { title: _, latitude: lat, longitude: long, ...place } = placeOf(person);
  const answer = await by.post("/storefront/orders/confirm", {
    ...orderOf(shop, await newCart(shop, 1, by.id), "wallet"),
    address: { ...place, lat, long },
    customer_notes: `A present for ${person.name}`,
  });
  expect(answer).toSucceed(201);
  const { id } = answer.body.order;
  const { admin } = shop.tenant;
  expect(await admin.put(`/storefront/orders/${id}/cancel`, { reason: "customer_request" }))
    .toSucceed(200);
  return id;
}

/** A project of its own: each of its rows is read for a person who is gone, and some of its companies are left without sound books. */
export async function newPlace(): Promise<{ place: Place; end: () => Promise<void> }> {
  if (process.env.DATABASE_URL) throw new Error("name the file own-system*.test.ts");
  const { own, leave } = await moveToOwnStack({ workers: 1 });
  const place = placeAt(own);
  return {
    place,
    async end() {
      await place.close();
      await leave();
    },
  };
}

/** Ends all that is open in a company with everything, without the books and moves that would follow. No trigger acts in `tx` any more. */
export async function endAll(tx: postgres.TransactionSql, id: string): Promise<void> {
  await tx`set local session_replication_role = replica`;
  await tx`update delivery.deliveries set status = 'delivered' where tenant_id = ${id}`;
  await tx`update delivery.return_requests set status = 'declined', decided_at = now(), reason = 'No' where tenant_id = ${id}`;
  await tx`update delivery.outcomes set undo_reason = 'No', undone_at = now(), undone_in = pg_current_xact_id() where tenant_id = ${id}`;
  await tx`update storefront.storefront_orders set status = 'completed' where tenant_id = ${id}`;
  await tx`update money.payments set status = 'FAILED' where tenant_id = ${id} and status = 'pending'`;
  await tx`update money.carrier_collections set status = 'remitted', remitted_at = now(),
    remittance_id = (select r.id from money.carrier_remittances r where r.tenant_id = ${id}) where tenant_id = ${id}`;
  await tx`update money.cod_collections set status = 'remitted', remitted_at = now() where tenant_id = ${id} and status = 'collected'`;
  await tx`update money.accounts set balance = 0 where tenant_id = ${id}`;
  await tx`update delivery.assignments set status = 'completed' where tenant_id = ${id}`;
  await tx`update money.cash_handovers set status = 'counted' where tenant_id = ${id}`;
}

type Options = Partial<Parameters<typeof erasePerson>[1]>;

/** The lines of the command, and its failure. */
export async function erased(
  place: Place,
  tenant: { id: string },
  options: Options,
  onLine = (_: string) => {},
) {
  const lines: string[] = [];
  const failure = await erasePerson(place, { slug: `t-${tenant.id}`, ...options }, (line) => {
    lines.push(line);
    onLine(line);
  }).then(() => undefined, (error: Error) => error.message);
  return { text: lines.join("\n"), failure };
}

/** The tables in which one of these texts stands in a row, with the row. */
export async function rowsThatSay(texts: string[], except = ""): Promise<string[]> {
  const parts = (await everyTable(sql)).map((table) =>
    `select '${table}: ' || left(t::text, 400) as row from ${table} t where t::text ~* $1 and strpos(t::text, $2) = 0`
  );
  const found = await sql.unsafe(parts.join(" union all "), [
    patternOf(texts),
    except || "nothing at all",
  ]);
  return found.map(({ row }) => row);
}
