/** Where somebody lives, and what was taken down at their door, goes also where no name or street stands beside it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Place } from "../../../supabase/tenant/place.ts";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, moves, newDelivery, outboundOnRoad } from "../../support/deliveries.ts";
import { buys, erased, type Lived, newCompany, newPlace } from "../../support/erasure.ts";
import { rowsThatSay } from "../../support/erasure.ts";
import { jobsDone } from "../../support/jobs.ts";

const person = {
  name: "Sirwan Delshad",
  phone: "+9647508889900",
  email: "sirwan@example.test",
  street: "Baghdad",
};
/** Their homes: a city is all that is written of them. */
const homes = {
  first: { latitude: 33.412371, longitude: 44.211173 },
  second: { latitude: 33.423719, longitude: 44.227131 },
};
const at = (home: keyof typeof homes) => ({
  dropoff_address_id: undefined,
  cod_amount: 0,
  payer_type: "sender",
  payment_method: "wallet",
  delivery_location: { full_address: "Baghdad", city: "Baghdad", country: "IQ", ...homes[home] },
  recipient: { name: person.name, phone: person.phone },
});
const places = Object.values(homes).flatMap((
  { latitude, longitude },
) => [`${latitude}`, `${longitude}`]);
/** Where the driver stood when they gave something away. */
const doors = [{ latitude: 33.412519, longitude: 44.211947 }, {
  latitude: 33.391873,
  longitude: 44.187319,
}];
let here: Lived;
let place: Place;
let end = () => Promise.resolve();
let parcel: Body;
let home: { id: string; parcels: string[] };
let files: string[];
let othersFiles: string[];

/** Puts a photo where a proof of this stage goes; its path. */
async function putProof(id: string, stage: "pickup" | "delivery"): Promise<string> {
  const upload = await here.shop.tenant.driver.post(`/delivery/deliveries/${id}/proof-uploads`, {
    ...{ stage, kind: "photo", content_type: "image/jpeg" },
  });
  expect(upload).toSucceed(201);
  const put = await fetch(upload.body.data.upload_url, {
    ...{ method: "PUT", headers: { "content-type": "image/jpeg" } },
    body: new Uint8Array([255, 216, 255, 224]),
  });
  expect(put.status).toBe(200);
  return upload.body.data.path;
}

/** A parcel is fetched with a photo, a signature, and where the driver stood; another photo is put and not given in. */
async function fetched(id: string, door: object): Promise<string[]> {
  const { tenant } = here.shop;
  await assign(tenant, id);
  const photo = await putProof(id, "pickup");
  const idle = await putProof(id, "pickup");
  await moves(tenant.driver, id, ["pickup", {
    proof: { photo_urls: [photo], signature_url: `https://example.com/${id}.png`, signed_by: "S" },
    ...door,
  }], "depart");
  return [photo, idle];
}

const kept = async (paths: string[]) =>
  (await sql`select name from storage.objects where name = any (${paths}) order by 1`)
    .map(({ name }) => name as string);

beforeAll(async () => {
  ({ place, end } = await newPlace());
  here = await newCompany();
  const { ground, shop: { tenant } } = here;
  await sql`update delivery.delivery_services set allow_returns = true where id = ${ground.service}`;
  parcel = await newDelivery(ground, {
    ...at("first"),
    payer_type: "receiver",
    payment_method: "cash",
  });
  expect(
    await tenant.ops.post(`/delivery/deliveries/${parcel.id}/redirect`, {
      dropoff_address: at("second").delivery_location,
    }),
  ).toSucceed(200);
  await assign(tenant, parcel.id);
  files = [await putProof(parcel.id, "delivery")];
  await moves(tenant.driver, parcel.id, "pickup", "depart", "complete");
  const staged = await outboundOnRoad(ground, {
    ...at("first"),
    payer_type: "receiver",
    payment_method: "cash",
  });
  await moves(tenant.driver, staged.b, "complete");
  home = { id: parcel.id, parcels: [parcel.id, staged.parent.id, staged.b] };
  await buys(here, person, tenant.customer);
  const back = await tenant.ops.post("/delivery/deliveries", {
    delivery_flow: "customer_return",
    original_delivery_id: parcel.id,
    delivery_service_id: ground.service,
    ...{ payer_type: "sender", payment_method: "cash", unit_size: 1 },
  });
  expect(back).toSucceed(201);
  files.push(...await fetched(back.body.id, doors[0]!));
  await moves(tenant.driver, back.body.id, "complete");
  const sent = await newDelivery(ground, {
    pickup_address_id: undefined,
    pickup_location: {
      ...{ full_address: "Baghdad", city: "Baghdad", latitude: 33.3912, longitude: 44.1873 },
      contact_info: { phone: person.phone },
    },
  });
  files.push(...await fetched(sent.id, doors[1]!));
  othersFiles = [await putProof(sent.id, "delivery")];
  await moves(tenant.driver, sent.id, "complete");
  await sql`update money.cod_collections set status = 'remitted', remitted_at = now() where tenant_id = ${tenant.id}`;
  await jobsDone(tenant.id);
}, 180_000);
afterAll(() => end());

test("coordinates of a home go where its address is a city's name, and the city stays", async () => {
  const { tenant } = here.shop;
  expect(await kept(files)).toHaveLength(5);
  const options = { phone: person.phone, email: person.email, confirm: person.phone };
  const { failure, text } = await erased(place, tenant, options);
  expect(failure, text).toBeUndefined();
  expect(await rowsThatSay(places)).toEqual([]);
  const ends =
    await sql`select distinct dropoff_snapshot ->> 'city' as city, dropoff_snapshot ->> 'full_address' as street
    from delivery.deliveries where id = any (${home.parcels})`;
  expect(ends).toEqual([{ city: "Baghdad", street: "Erased" }]);
  const stand =
    await sql`select a.latitude from warehousing.warehouses w join delivery.addresses a on a.id = w.address_id
    where w.tenant_id = ${tenant.id} and a.latitude is null`;
  expect(stand).toEqual([]);
});

test("photos, signatures and coordinates of a parcel that they gave away go, and files that no row names", async () => {
  expect(await kept(files)).toEqual([]);
  expect(await rowsThatSay([...doors.map(({ latitude }) => `${latitude}`), "example.com/"]))
    .toEqual([]);
  expect(await kept(othersFiles)).toEqual(othersFiles);
});
