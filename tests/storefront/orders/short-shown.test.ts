/** How an order that is short is shown: what was picked of it so far, and whether the labels of its parcels still say the right amount. */
import { expect, test } from "vitest";
import "../../support/expect.ts";
import { approveOrder, bring, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { checkAll, placeOrder, type Shop } from "../../support/orders.ts";

const orderOf = async ({ tenant }: Shop, id: string) =>
  (await tenant.admin.get(`/storefront/orders/${id}`)).body.data.order;
const accept = ({ tenant }: Shop, id: string) =>
  tenant.admin.post(`/storefront/orders/${id}/accept-short`);
const print = async ({ tenant }: Shop, codes: number[]) =>
  expect(await tenant.dispatcher.post("/delivery/shipment-labels", { delivery_codes: codes }))
    .toMatchObject({ status: 200 });
const scanned = async ({ tenant }: Shop, barcode: string) =>
  (await tenant.warehouse.get(`/warehousing/package-scan/${barcode}`)).body.delivery;

/** What the warehouse scans: `tracking_number`s of an order's parcels, and the codes that labels are printed by. */
async function parcelsOf(shop: Shop, id: string) {
  const { deliveries } = await orderOf(shop, id);
  const barcodes: string[] = deliveries.map((one: { tracking_number: string }) =>
    one.tracking_number
  );
  const parcels = await Promise.all(barcodes.map((barcode) => scanned(shop, barcode)));
  return { barcodes, codes: parcels.map(({ delivery_code }) => Number(delivery_code)) };
}

test("nothing of a warehouse that has not begun to pick counts as picked", async () => {
  const shop = await newSplitShop({ first: 3, second: 2, picking: true });
  const { id } = await placeOrder(shop, "cash", 5);
  await approveOrder(shop, id);
  const [first, second] = await picksOf(id);
  expect((await orderOf(shop, id)).short).toEqual([]);
  await pick(shop, first!.id, 1);
  const short = async () => (await orderOf(shop, id)).short;
  const item = { sku: shop.product.sku };
  expect(await short()).toMatchObject([{ item, ordered: 5, picked: 1, accepted: false }]);
  expect(await accept(shop, id)).toSucceed(200);
  expect(await short()).toMatchObject([{ ordered: 5, picked: 1, accepted: true }]);
  // At work: one of two recorded, and the picking not ended.
  const path = `/warehousing/picking-orders/${second!.id}`;
  const { item_details: [{ item_id, bin_id }] } = (await shop.tenant.ops.get(path)).body.order;
  const found = (picked_quantity: number) => ({
    item_details: [{ item_id, bin_id, quantity: 2, picked_quantity, status: "pending" }],
  });
  expect(await shop.tenant.ops.put(path, { status: "in_progress", ...found(1) })).toSucceed(200);
  expect(await short()).toMatchObject([{ ordered: 5, picked: 2, accepted: true }]);
  await pick(shop, second!.id);
  expect(await short()).toMatchObject([{ ordered: 5, picked: 3, accepted: true }]);
  // It stays picked, on the way and afterwards.
  for (const { delivery_id } of (await orderOf(shop, id)).deliveries) {
    await bring(shop, delivery_id, "delivered");
    expect(await short()).toMatchObject([{ ordered: 5, picked: 3, accepted: true }]);
  }
  await checkAll(shop.tenant);
});

test("a cancelled order shows what was picked of it", async () => {
  const shop = await newSplitShop({ first: 3, second: 0, picking: true });
  const { id } = await placeOrder(shop, "cash", 3);
  await approveOrder(shop, id);
  await pick(shop, (await picksOf(id))[0]!.id, 2);
  expect(await accept(shop, id)).toSucceed(200);
  await shop.tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" });
  expect((await orderOf(shop, id)).short).toMatchObject([{
    ordered: 3,
    picked: 2,
    accepted: true,
  }]);
});

test("a printed label is outdated by the amount that changed, until it is printed again", async () => {
  const shop = await newSplitShop({ first: 2, second: 0, picking: true });
  const { id } = await placeOrder(shop, "cash", 2);
  await approveOrder(shop, id);
  const { barcodes: [barcode], codes } = await parcelsOf(shop, id);
  const outdated = async () => (await scanned(shop, barcode!)).label_outdated;
  await print(shop, codes);
  expect(await outdated()).toBe(false);
  await pick(shop, (await picksOf(id))[0]!.id, 1);
  expect(await outdated()).toBe(false);
  expect(await accept(shop, id)).toSucceed(200);
  expect(await outdated()).toBe(true);
  await print(shop, codes);
  expect(await outdated()).toBe(false);
});

test("a label stays right where the parcel owes what it owed, and where none was printed", async () => {
  const outdatedOf = async (shop: Shop, id: string) =>
    await Promise.all(
      (await parcelsOf(shop, id)).barcodes.map(async (one) =>
        (await scanned(shop, one)).label_outdated
      ),
    );
  const shorten = async (method: "cash" | "wallet", second: number, printed: boolean) => {
    const shop = await newSplitShop({ first: 3, second, picking: true });
    const { id } = await placeOrder(shop, method, 3 + second);
    await approveOrder(shop, id);
    const tasks = await picksOf(id);
    if (printed) await print(shop, (await parcelsOf(shop, id)).codes);
    for (const task of tasks.slice(0, -1)) await pick(shop, task.id);
    await pick(shop, tasks.at(-1)!.id, 1);
    expect(await accept(shop, id)).toSucceed(200);
    return await outdatedOf(shop, id);
  };
  // Paid before: nothing is collected at the door.
  expect(await shorten("wallet", 0, true)).toEqual([false]);
  expect(await shorten("cash", 0, false)).toEqual([false]);
  // Two parcels: the amount of one of them changes.
  expect(await shorten("cash", 2, true)).toEqual([false, true]);
});
