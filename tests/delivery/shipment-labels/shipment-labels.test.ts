import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import {
  deliveryIn,
  newDelivery,
  newGround,
  order,
  path as deliveries,
} from "../../support/deliveries.ts";
import { newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { fundWallet, newService } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { openPdf, scan } from "../../support/pdf.ts";

const path = "/delivery/shipment-labels";
let tenant: Tenant;
let codes: number[];
let barcodes: string[];

beforeAll(async () => {
  tenant = await newTenant();
  await fundWallet(tenant, "institution", tenant.institution.id, 1_000_000);
  const manifest = await newManifest(tenant, { items: 24 });
  const order = [...manifest.items].sort(() => Math.random() - 0.5);
  const answer = await tenant.dispatcher.post(
    "/delivery/transfer-manifest-items/bulk/set-destination",
    {
      item_ids: order.map((item) => item.id),
      destination_branch_id: await newBranch(tenant),
      delivery_service_id: await newService(tenant),
    },
  );
  codes = answer.body.data.created.map((made: { delivery: { delivery_code: number } }) =>
    made.delivery.delivery_code
  );
  barcodes = order.map((item) => item.barcode);
});

test("page n is the label of the n-th scanned item: its bars read back as that item's barcode", async () => {
  const answer = await tenant.dispatcher.in("ar").post(path, { delivery_codes: codes });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/pdf");
  const pdf = await openPdf(answer.body);
  expect(pdf.pages).toBe(24);
  for (const page of [1, 2, 12, 24]) {
    expect(await scan(await pdf.raster(page))).toEqual([barcodes[page - 1]]);
  }
});

test("codes may repeat and keep the order asked for", async () => {
  const answer = await tenant.staff.post(path, { delivery_codes: [codes[5], codes[0], codes[5]] });
  const pdf = await openPdf(answer.body);
  expect(pdf.pages).toBe(3);
  expect(await scan(await pdf.raster(2))).toEqual([barcodes[0]]);
  expect(await scan(await pdf.raster(3))).toEqual([barcodes[5]]);
});

test("an order with the longest barcode of its own is printed, beside others", async () => {
  const ground = await newGround(tenant);
  const barcode = `Own_${"-x7".repeat(20)}`;
  const made = await tenant.ops.post(deliveries, order(ground, { barcode }));
  expect(made).toSucceed(201);
  const answer = await tenant.dispatcher.post(path, {
    delivery_codes: [codes[0], made.body.delivery.delivery_code],
  });
  expect(answer.status).toBe(200);
  const pdf = await openPdf(answer.body);
  expect(await scan(await pdf.raster(1))).toEqual([barcodes[0]]);
  expect(await scan(await pdf.raster(2))).toEqual([barcode]);
});

test("unknown codes are named, and nothing is printed", async () => {
  const answer = await tenant.dispatcher.post(path, {
    delivery_codes: [codes[0], 999_999_998, 999_999_999],
  });
  expect(answer).toFailWith(404, "delivery_not_found");
  expect(answer.body.delivery_codes).toEqual([999_999_998, 999_999_999]);
});

test("an institution prints its own orders and no other's; another tenant finds none", async () => {
  expect((await tenant.institution.post(path, { delivery_codes: [codes[0]] })).status).toBe(200);
  expect(await tenant.institution2.post(path, { delivery_codes: [codes[0]] })).toFailWith(
    404,
    "delivery_not_found",
  );
  const other = await newTenant();
  expect(await other.dispatcher.post(path, { delivery_codes: [codes[0]] })).toFailWith(
    404,
    "delivery_not_found",
  );
});

test("who may not print, and what is no list of codes", async () => {
  expect(await nobody.post(path, { delivery_codes: codes })).toFailWith(401, "unauthorized");
  expect(await tenant.driver.post(path, { delivery_codes: codes })).toFailWith(403, "forbidden");
  expect(await tenant.customer.post(path, { delivery_codes: codes })).toFailWith(403, "forbidden");
  for (const bad of [[], ["x"], [0], [1.5], Array(501).fill(1), undefined]) {
    expect(await tenant.dispatcher.post(path, { delivery_codes: bad })).toFailWith(
      400,
      "validation_failed",
    );
  }
});

test("a label of what is a draft, cancelled or delivered says so; of what is under way it does not", async () => {
  const ground = await newGround(tenant);
  const made = async (status: string) => (await deliveryIn(ground, status)).delivery_code;
  const draft = (await newDelivery(ground, { status: "draft" })).delivery_code;
  const cancelled = await newDelivery(ground);
  expect(await tenant.ops.post(`${deliveries}/${cancelled.id}/cancel`, { reason: "no" }))
    .toSucceed(200);
  const delivery_codes = [
    await made("pending"),
    draft,
    cancelled.delivery_code,
    await made("delivered"),
    await made("in_transit"),
  ];
  const answer = await tenant.dispatcher.post(path, { delivery_codes });
  const pdf = await openPdf(answer.body);
  const words = /DRAFT|CANCELLED|DELIVERED|RETURNED/;
  const marks = await Promise.all(
    [1, 2, 3, 4, 5].map(async (page) => words.exec(await pdf.text(page))?.[0]),
  );
  expect(marks).toEqual([undefined, "DRAFT", "CANCELLED", "DELIVERED", undefined]);
});
