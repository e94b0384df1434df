/** Each print of a label is an edition, and scans say when none was printed since the destination changed. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  newDelivery,
  newGround,
  newWarehouse,
  path as deliveries,
} from "../../support/deliveries.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { openPdf } from "../../support/pdf.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import {
  changeDestination,
  type Destination,
  newDestination,
  ordered,
  requestTo,
  setDestination,
} from "../../support/set-destination.ts";

let made: Destination;
let tenant: Tenant;
let other: string;

beforeAll(async () => {
  made = await newDestination();
  tenant = made.tenant;
  other = await newBranch(tenant);
});

const print = async (delivery_codes: number[], person = tenant.dispatcher) => {
  const answer = await person.post("/delivery/shipment-labels", { delivery_codes });
  expect(answer.status).toBe(200);
  return await openPdf(answer.body);
};
const change = (item_ids: string[], person = tenant.dispatcher) =>
  person.post(changeDestination, { item_ids, destination_branch_id: other });
const editionOf = async (id: string, person = tenant.dispatcher) => {
  const { label_edition, label_outdated } = (await person.get(`${deliveries}/${id}`)).body.delivery;
  return [label_edition, label_outdated];
};
const outdated = async (barcode: string, person = tenant.warehouse) =>
  (await person.get(`/warehousing/package-scan/${barcode}`)).body.delivery.label_outdated;

test("a print shows its edition, which counts once for each parcel and call", async () => {
  const { orders: [one, two] } = await ordered(made, 2);
  expect(await editionOf(one.id)).toEqual([0, false]);
  const first = await print([one.delivery_code, two.delivery_code, one.delivery_code]);
  for (const page of [1, 2, 3]) expect(await first.text(page)).toMatch(/edition\W+1\W*\)/);
  const second = await print([one.delivery_code], tenant.institution);
  expect(await second.text(1)).toMatch(/edition\W+2\W*\)/);
  expect(await editionOf(one.id)).toEqual([2, false]);
  expect(await editionOf(two.id)).toEqual([1, false]);
});

test("what is refused prints no edition", async () => {
  const { orders: [one] } = await ordered(made, 1);
  const delivery_codes = [one.delivery_code, 999_999_999];
  expect(await tenant.dispatcher.post("/delivery/shipment-labels", { delivery_codes }))
    .toFailWith(404, "delivery_not_found");
  expect(await editionOf(one.id)).toEqual([0, false]);
});

test("prints at the same moment are editions of their own", async () => {
  const { orders: [one] } = await ordered(made, 1);
  const pages = await Promise.all(Array.from({ length: 6 }, () => print([one.delivery_code])));
  const texts = await Promise.all(pages.map((pdf) => pdf.text(1)));
  const editions = texts.map((text) => Number(text.match(/edition\W+(\d+)\W*\)/)![1]));
  expect(editions.sort()).toEqual([1, 2, 3, 4, 5, 6]);
});

test("a scan says label_outdated from the change to the next print", async () => {
  const { itemIds, barcodes: [barcode], orders: [one] } = await ordered(made, 1);
  await print([one.delivery_code]);
  expect(await outdated(barcode)).toBe(false);
  expect(await change(itemIds)).toSucceed(200);
  expect(await outdated(barcode)).toBe(true);
  const many = await tenant.warehouse.post("/warehousing/package-scan", { barcodes: [barcode] });
  expect(many.body.results[0].delivery.label_outdated).toBe(true);
  const again = await print([one.delivery_code]);
  expect(await again.text(1)).toMatch(/edition\W+2\W*\)/);
  expect(await outdated(barcode)).toBe(false);
  // The same destination once more changes nothing.
  expect(await change(itemIds)).toSucceed(200);
  expect(await editionOf(one.id)).toEqual([2, false]);
});

test("a correction of what stands on the label outdates it, one of anything else does not", async () => {
  const { orders: [one] } = await ordered(made, 1);
  const correct = async (body: Record<string, unknown>) => {
    expect(await tenant.ops.patch(`${deliveries}/${one.id}`, body)).toSucceed(200);
    return (await editionOf(one.id))[1];
  };
  expect(await correct({ notes: "Not printed yet" })).toBe(false);
  for (
    const body of [{ recipient: { phone: "+9647700000001" } }, { notes: "Ring" }, {
      recipient: { name: "Sara" },
    }]
  ) {
    await print([one.delivery_code]);
    expect(await correct({ external_reference_id: "PO-9", promised_at: "2097-01-01T00:00:00Z" }))
      .toBe(false);
    expect(await correct(body)).toBe(true);
    await print([one.delivery_code]);
    // The same once more.
    expect(await correct(body)).toBe(false);
  }
});

test("a draft whose terms change after its print is outdated", async () => {
  const ground = await newGround(tenant);
  const draft = await newDelivery(ground, { status: "draft" });
  await print([draft.delivery_code]);
  const change = async (body: Record<string, unknown>) => {
    expect(await tenant.ops.patch(`${deliveries}/${draft.id}`, body)).toSucceed(200);
    return (await editionOf(draft.id))[1];
  };
  expect(await change({ external_reference_id: "PO-9" })).toBe(false);
  expect(await change({ cod_amount: 5000 })).toBe(true);
});

test("legs have the editions of their parcel", async () => {
  const staged = await newDestination();
  const { warehouse } = await newWarehouse(staged.tenant, await newAddress(staged.tenant));
  await saveSettings(staged.tenant.id, "general.warehouse", {
    handoff_required: true,
    default_warehouse_id: warehouse,
  });
  const { itemIds, barcodes, orders } = await ordered(staged, 1);
  const person = staged.tenant.dispatcher;
  const to = await newBranch(staged.tenant);
  expect(await person.post(changeDestination, { item_ids: itemIds, destination_branch_id: to }))
    .toSucceed(200);
  const legs = await sql`select id, delivery_code from delivery.deliveries
    where parent_id = ${orders[0].id} order by leg`;
  for (const { id } of legs) expect(await editionOf(id, person)).toEqual([0, true]);
  expect(await outdated(barcodes[0], staged.tenant.warehouse)).toBe(true);
  await print([Number(legs[1].delivery_code)], person);
  for (const { id } of [...legs, orders[0]]) {
    expect(await editionOf(id, person)).toEqual([1, false]);
  }
});

test("an order made of a returned item is outdated while the parcel wears the cancelled one's label", async () => {
  const { itemIds, barcodes: [barcode], orders: [one] } = await ordered(made, 1);
  await print([one.delivery_code]);
  expect(await tenant.dispatcher.post(`${deliveries}/${one.id}/cancel`, { reason: "no" }))
    .toSucceed(200);
  const again = await tenant.dispatcher.post(setDestination, requestTo(made)(itemIds));
  expect(await outdated(barcode)).toBe(true);
  await print([again.body.data.created[0].delivery.delivery_code]);
  expect(await outdated(barcode)).toBe(false);
});
