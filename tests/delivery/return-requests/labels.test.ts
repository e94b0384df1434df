/** A customer prints the label of a return that they were allowed, and no other. */
import { beforeAll, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { deliveryIn, type Ground, newGround, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newPerson, newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { openPdf } from "../../support/pdf.ts";

const labels = "/delivery/shipment-labels";
let ground: Ground;
let tenant: Tenant;
beforeAll(async () => {
  ground = await newGround(await newTenant());
  tenant = ground.tenant;
  await saveSettings(tenant.id, "general.delivery", { return_requests: { auto_approval: false } });
  await sql`update delivery.delivery_services set allow_returns = true where id = ${ground.service}`;
});

/** A return that the customer asked for, of something they had got. */
async function requested(at: Ground = ground): Promise<{ id: string; code: number; of: number }> {
  const original = await deliveryIn(at, "delivered");
  const answer = await at.tenant.customer.post(path, {
    delivery_flow: "customer_return",
    original_delivery_id: original.id,
    delivery_service_id: at.service,
    payer_type: "sender",
    payment_method: "cash",
    unit_size: 2,
  });
  expect(answer).toSucceed(201);
  const { id, delivery_code } = answer.body.delivery;
  return { id, code: Number(delivery_code), of: Number(original.delivery_code) };
}
const approve = async (id: string, by: Person = tenant.ops) =>
  expect(await by.post(`${path}/${id}/return-request/approve`)).toSucceed(200);
const print = (by: Person, ...delivery_codes: number[]) => by.post(labels, { delivery_codes });
const editionOf = async (id: string) =>
  (await sql`select label_edition::int as edition from delivery.deliveries where id = ${id}`)[0]
    .edition;

test("once it is approved, as an edition of its own", async () => {
  const { id, code } = await requested();
  expect(await print(tenant.customer, code)).toFailWith(403, "forbidden");
  expect(await editionOf(id)).toBe(0);
  await approve(id);
  const answer = await print(tenant.customer, code);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/pdf");
  const pdf = await openPdf(answer.body as Uint8Array);
  expect(pdf.pages).toBe(1);
  expect(await pdf.text(1)).toContain(String(code));
  expect(await editionOf(id)).toBe(1);
  expect((await print(tenant.customer, code, code)).status).toBe(200);
  expect(await editionOf(id)).toBe(2);
});

test("not of what was declined or cancelled, of what they were sent, nor together with such", async () => {
  const [allowed, declined, gone] = [await requested(), await requested(), await requested()];
  await approve(allowed.id);
  const decline = { reason: "Worn" };
  expect(await tenant.ops.post(`${path}/${declined.id}/return-request/decline`, decline))
    .toSucceed(200);
  await approve(gone.id);
  expect(await tenant.ops.post(`${path}/${gone.id}/cancel`, { reason: "Kept" })).toSucceed(200);
  for (const codes of [[declined.code], [gone.code], [allowed.of], [allowed.code, allowed.of]]) {
    expect(await print(tenant.customer, ...codes)).toFailWith(403, "forbidden");
  }
  expect(await editionOf(allowed.id)).toBe(0);
});

test("of nobody else, in no other company, and not without a token of the company", async () => {
  const { id, code } = await requested();
  await approve(id);
  const neighbour = await newPerson(tenant.id, "customer", "customer");
  const theirs = await newTenant();
  for (const person of [neighbour, theirs.customer]) {
    expect(await print(person, code)).toFailWith(403, "forbidden");
  }
  expect(await print(tenant.driver, code)).toFailWith(403, "forbidden");
  expect(await print(nobody, code)).toFailWith(401, "unauthorized");
  expect(
    await tenant.customer.post(labels, { delivery_codes: [code] }, {
      query: { tenant_id: theirs.id },
    }),
  ).toFailWith(403, "forbidden");
  expect(await editionOf(id)).toBe(0);
  // The office and its people print all, as before.
  expect((await print(tenant.dispatcher, code)).status).toBe(200);
});
