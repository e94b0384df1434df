/** Somebody who is the contact of a warehouse, a processing point and a branch is erased: the company's places stay. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Place } from "../../../supabase/tenant/place.ts";
import { sql } from "../../support/db.ts";
import { newDelivery } from "../../support/deliveries.ts";
import {
  erased,
  type Lived,
  newCompany,
  newPlace,
  receives,
  rowsThatSay,
  textsOfPerson,
} from "../../support/erasure.ts";
import { newAddress, newBranch } from "../../support/make.ts";

const chief = {
  name: "Rojan Hakim",
  phone: "+9647703334455",
  email: "rojan.hakim@example.test",
  street: "Zanko 14, house 3",
};
/** Others, to whom parcels go from and through those places. */
const other = { name: "Lana Fuad", phone: "+9647501010101" };
let here: Lived;
let place: Place;
let end = () => Promise.resolve();
/** The addresses of the places, and parcels under way that begin or end there. */
let places: string[];
let parcels: string[];
let own: string;
let before: unknown;

/** The places as the company knows them, by themselves and in its parcels; without the contact. */
const placesNow = async () => {
  const addresses =
    await sql`select a.id, a.title, a.full_address, a.city, a.latitude, a.longitude from delivery.addresses a
    where a.id = any (${places}) order by a.id`;
  const ends =
    await sql`select d.id, d.status, d.recipient -> 'name' as name, e.doc - 'contact_info' - 'updated_at' as place
    from delivery.deliveries d cross join lateral (values (d.pickup_snapshot), (d.dropoff_snapshot)) e (doc)
    where d.id = any (${parcels}) and (e.doc ->> 'id')::uuid = any (${places}) order by d.id, e.doc ->> 'id'`;
  return { addresses: [...addresses], ends: [...ends] };
};

beforeAll(async () => {
  ({ place, end } = await newPlace());
  here = await newCompany();
  const { ground, shop: { tenant } } = here;
  const branchAt = await newAddress(tenant);
  const branch = await newBranch(tenant, { address: branchAt });
  await sql`update delivery.institution_branches set name = 'Northern branch' where id = ${branch}`;
  const [{ address_id: warehouseAt }] =
    await sql`select address_id from warehousing.warehouses where id = ${ground.warehouse}`;
  places = [warehouseAt, ground.to, branchAt];
  const contact = sql.json({ name: chief.name, phone: chief.phone, email: chief.email });
  await sql`update delivery.addresses set contact_info = ${contact} where id = any (${places})`;
  await sql`update delivery.institution_branches set contact_info = ${contact} where id = ${branch}`;
  const made = [
    await newDelivery(ground, { recipient: other }),
    await newDelivery(ground, {
      dropoff_address_id: undefined,
      dropoff_warehouse_id: ground.warehouse,
      recipient: other,
    }),
    await newDelivery(ground, { pickup_address_id: warehouseAt, recipient: other }),
    // As an item of a manifest goes to a branch: under the number of its contact.
    await newDelivery(ground, {
      dropoff_address_id: branchAt,
      recipient: { name: "Northern branch", phone: chief.phone },
    }),
  ];
  parcels = made.map(({ id }) => id);
  own = (await receives(here, chief)).id;
  before = await placesNow();
}, 120_000);
afterAll(() => end());

test("parcels under way at those places are nothing of theirs that is open", async () => {
  const { text, failure } = await erased(place, here.shop.tenant, { phone: chief.phone });
  expect(failure).toBeUndefined();
  expect(text).not.toContain("Open:");
});

test("they go from everywhere, and the places keep name, street and coordinates", async () => {
  const options = { phone: chief.phone, email: chief.email, confirm: chief.phone };
  const { text, failure } = await erased(place, here.shop.tenant, options);
  expect(failure, text).toBeUndefined();
  expect(text).toContain("Erased.");
  expect(await rowsThatSay(textsOfPerson(chief))).toEqual([]);
  const after = await placesNow();
  expect(after).toEqual(before);
  const contacts =
    await sql`select contact_info from delivery.addresses where id = any (${places})`;
  expect(JSON.stringify(contacts)).not.toMatch(/Rojan|333|@/);
});

test("their own home went", async () => {
  const [home] = await sql`select a.full_address, a.latitude, d.recipient from delivery.deliveries d
    join delivery.addresses a on a.id = d.dropoff_address_id where d.id = ${own}`;
  expect(home).toEqual({ full_address: "Erased", latitude: null, recipient: { name: "Erased" } });
});
