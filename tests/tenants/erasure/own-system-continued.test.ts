/** An erasure that is stopped, or that waits for the books, is continued: with the files that it found, and with what has come since. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Place } from "../../../supabase/tenant/place.ts";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, deliveryIn, moves, newDelivery } from "../../support/deliveries.ts";
import {
  erased,
  type Lived,
  newCompany,
  newPlace,
  receives,
  rowsThatSay,
  textsOfPerson,
} from "../../support/erasure.ts";
import { jobsDone } from "../../support/jobs.ts";
import { newManifest } from "../../support/manifests.ts";
import { systemKey } from "../../support/webhooks.ts";

let here: Lived;
let place: Place;
let end = () => Promise.resolve();
let serial = 0;
let person: ReturnType<typeof newcomer>;
let parcel: { id: string; payment: string };

const newcomer = (number: number) => ({
  name: `Hozan Merwan${"abcdefg"[number]}`,
  phone: `+964770222330${number}`,
  email: `hozan${number}@example.test`,
  street: `Brayati 2${number}, gate B`,
});
const filesLike = async (text: string) =>
  (await sql`select name from storage.objects where name like ${`%${text}%`} order by 1`)
    .map(({ name }) => name as string);
const until = (days: number) => new Date(Date.now() + 86_400_000 * days).toISOString().slice(0, 10);

beforeAll(async () => {
  ({ place, end } = await newPlace());
  here = await newCompany();
}, 120_000);
afterAll(() => end());
beforeEach(async () => {
  person = newcomer(++serial);
  parcel = await receives(here, person);
});

test("removes the photos of an item of a manifest after a stop between its row and its files", async () => {
  const { tenant } = here.shop;
  const manifest = await newManifest(tenant, { items: [{ exception: "damaged" }] });
  const photo = `${tenant.id}/transfer-manifests/${manifest.id}/damage.jpg`;
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update delivery.transfer_manifest_items set delivery_id = ${parcel.id}
      where id = ${manifest.itemIds[0]!}`;
    await tx`update delivery.transfer_manifest_exceptions set photo_urls = ${[photo]}
      where manifest_item_id = ${manifest.itemIds[0]!}`;
  });
  const bytes = new Uint8Array([255, 216, 255, 224]);
  expect(
    (await place.storage.from("proofs").upload(photo, bytes, { contentType: "image/jpeg" })).error,
  )
    .toBeNull();
  const options = { phone: person.phone, email: person.email, confirm: person.phone };
  const stopped = await erased(place, tenant, options, (line) => {
    if (/^delivery\.transfer_manifest_exceptions: \d+ rows erased/.test(line)) {
      throw new Error("stopped");
    }
  });
  expect(stopped.failure).toContain("stopped");
  const rows = await sql`select photo_urls from delivery.transfer_manifest_exceptions
    where manifest_item_id = ${manifest.itemIds[0]!}`;
  expect(rows).toEqual([{ photo_urls: [] }]);
  expect(await filesLike(photo)).toEqual([photo]);
  const { failure, text } = await erased(place, tenant, options);
  expect(failure, text).toBeUndefined();
  expect(await filesLike(photo)).toEqual([]);
});

test("removes every edition of a receipt that names them", async () => {
  const { tenant } = here.shop;
  const other = await receives(here, newcomer(++serial));
  for (const payment of [parcel.payment, other.payment]) {
    const again = `/delivery/cod-settlements/${payment}/receipt`;
    expect(await tenant.admin.post(again, { language: "ar" })).toSucceed(202);
  }
  await nobody.post("/delivery/internal/jobs", {}, systemKey);
  await jobsDone(tenant.id);
  const editions = (payment: string) => [
    `${tenant.id}/${payment}.2.pdf`,
    `${tenant.id}/${payment}.pdf`,
  ];
  expect(await filesLike(parcel.payment)).toEqual(editions(parcel.payment));
  const options = { phone: person.phone, email: person.email, confirm: person.phone };
  // Of the photo, and of two editions.
  expect((await erased(place, tenant, { ...options, confirm: undefined })).text).toContain(
    "Files: 3",
  );
  const { failure, text } = await erased(place, tenant, options);
  expect(failure, text).toBeUndefined();
  expect(await filesLike(`${parcel.payment}.pdf`)).toEqual([]);
  expect(await filesLike(`${parcel.payment}.2.pdf`)).toEqual([]);
  expect(await filesLike(other.payment)).toEqual(editions(other.payment));
});

test("asks what has come since the books were kept, and erases it as well", async () => {
  const { ground, shop: { tenant } } = here;
  const options = { phone: person.phone, email: person.email, confirm: person.phone };
  const kept = await erased(place, tenant, { ...options, keepBooksUntil: until(30) });
  expect(kept.failure, kept.text).toBeUndefined();
  const moved = { street: "Shorsh 5, second floor", name: "Hozan M. Salih" };
  const since = await newDelivery(ground, {
    dropoff_address_id: undefined,
    delivery_location: {
      ...{ full_address: moved.street, city: "Baghdad", latitude: 33.2, longitude: 44.1 },
      contact_info: { name: moved.name, phone: person.phone },
    },
    recipient: { name: moved.name, phone: person.phone },
  });
  await sql`insert into delivery.addresses (tenant_id, full_address, contact_info)
    values (${tenant.id}, 'Behind the mill, door 8', ${sql.json({ email: person.email })})`;
  const asked = await erased(place, tenant, options);
  expect(asked.text).toContain("Open: 1 parcels are pending");
  expect(asked.failure).toContain("settle it first. Nothing more was erased.");
  await assign(tenant, since.id);
  await moves(tenant.driver, since.id, "pickup", "depart", "complete");
  const [cash] = await sql`select id from money.cod_collections where delivery_id = ${since.id}`;
  const settled = await tenant.dispatcher.post(
    "/delivery/cod-collections/remit",
    { scope: "selected", cod_collection_ids: [cash!.id] },
    { headers: { "idempotency-key": since.id } },
  );
  expect(settled).toSucceed(200);
  await jobsDone(tenant.id);
  const more = await erased(place, tenant, options);
  expect(more.failure, more.text).toBeUndefined();
  const left = await rowsThatSay([moved.street, "Behind the mill"]);
  expect(left.filter((row) => !/^(money\.|tenancy\.erasures)/.test(row))).toEqual([]);
  await sql`update tenancy.erasures set books_until = current_date where tenant_id = ${tenant.id}`;
  const last = await erased(place, tenant, options);
  expect(last.failure, last.text).toBeUndefined();
  expect(last.text).toContain("Erased.");
  const texts = [...textsOfPerson(person), ...Object.values(moved), "Behind the mill"];
  expect(await rowsThatSay(texts)).toEqual([]);
});

test("refuses nothing for what it was begun with", async () => {
  const { ground, shop: { tenant } } = here;
  const options = { phone: person.phone, email: person.email, confirm: person.phone };
  const stopped = await erased(place, tenant, options, (line) => {
    if (line.startsWith("delivery.deliveries:")) throw new Error("stopped");
  });
  expect(stopped.failure).toContain("stopped");
  await deliveryIn(ground, "pending");
  const { failure, text } = await erased(place, tenant, options);
  expect(failure, text).toBeUndefined();
  expect(text).not.toContain("Open:");
});
