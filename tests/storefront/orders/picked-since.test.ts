/** The version of an order stands for what was picked of it, too: a shop does not decide on picks that it has not read. */
import { beforeAll, expect, test } from "vitest";
import type { Answer } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { placeOrder, type Shop } from "../../support/orders.ts";
import { overlapping, whileOpen } from "../../support/overlapping.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newSplitShop({ first: 100, second: 0, picking: true });
});

/** The runtime compresses answers and marks their tags as weak. */
const strong = ({ headers }: Answer) => headers.get("etag")!.replace("W/", "");
const url = (id: string) => `/storefront/orders/${id}`;
const tagOf = async (id: string) => strong(await shop.tenant.admin.get(url(id)));
const accept = (id: string, tag?: string, key?: string) =>
  shop.tenant.admin.post(`${url(id)}/accept-short`, undefined, {
    headers: { ...(tag && { "if-match": tag }), ...(key && { "idempotency-key": key }) },
  });

/** An approved order of two units and its pick: [order, pick]. */
async function approved(): Promise<[string, string]> {
  const { id } = await placeOrder(shop, "cash", 2);
  await approveOrder(shop, id);
  const [{ id: task }] = await picksOf(id);
  return [id, task];
}

test("every report of a picker makes the tag old that the shop accepts, ships or cancels with", async () => {
  const [id, task] = await approved();
  const before = await tagOf(id);
  expect(await tagOf(id)).toBe(before);
  expect(await pick(shop, task, 1)).toSucceed(200);
  const short = await tagOf(id);
  expect(short).not.toBe(before);
  const put = (end: string, body: object = {}) => (tag: string) =>
    shop.tenant.admin.put(`${url(id)}/${end}`, body, { headers: { "if-match": tag } });
  const calls = [
    (tag: string) => accept(id, tag),
    put("ship"),
    put("deliver"),
    put("cancel", { reason: "other" }),
    put("return", { reason: "other" }),
  ];
  for (const call of calls) {
    const stale = await call(before);
    expect(stale).toFailWith(412, "version_conflict");
    expect(stale.headers.get("etag")).toBe(`"${short.replaceAll('"', "").split(".")[0]}"`);
  }
  const done = await accept(id, short);
  expect(done).toSucceed(200);
  expect(done.body.data.order.short).toMatchObject([{ picked: 1, accepted: true }]);
  expect(await accept(id, strong(done))).toFailWith(409, "order_not_short");
  expect(await accept(id, short)).toFailWith(412, "version_conflict");
});

test("accepted with a key it is answered so again, whatever was changed since", async () => {
  const [id, task] = await approved();
  expect(await pick(shop, task, 1)).toSucceed(200);
  const tag = await tagOf(id);
  const first = await accept(id, tag, `accept-${id}`);
  expect(first).toSucceed(200);
  expect((await accept(id, tag, `accept-${id}`)).body).toEqual(first.body);
});

test("a pick that ends while the shop accepts is seen: nothing else is accepted than what was read", async () => {
  const [id, task] = await approved();
  const tag = await tagOf(id);
  // The picker has the pick, and has not committed that one was found.
  const answer = await overlapping(async (open) => {
    await open`select set_config('app.tenant_id', ${shop.tenant.id}, true), set_config('app.user_id', ${shop.tenant.ops.id}, true),
      set_config('app.sees_tenant', 'on', true)`;
    await open`update warehousing.picking_order_items set picked_quantity = 1 where picking_order_id = ${task}`;
  }, () => accept(id, tag));
  expect(answer).toFailWith(412, "version_conflict");
});

test("a change of the order that is under way is seen as before", async () => {
  const [id, task] = await approved();
  expect(await pick(shop, task, 1)).toSucceed(200);
  const tag = await tagOf(id);
  const answers = await Promise.all(Array.from({ length: 5 }, () => accept(id, tag)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412, 412]);
});

test("the order changes its version also when a pick of before is committed after it", async () => {
  const [id, task] = await approved();
  const between = await whileOpen(async (session) => {
    await session`select set_config('app.tenant_id', ${shop.tenant.id}, true)`;
    await session`update warehousing.picking_orders set priority = 1 where id = ${task}`;
    await sql`update storefront.storefront_orders set admin_notes = 'seen' where id = ${id}`;
    const tag = await tagOf(id);
    await session`commit`;
    return tag;
  });
  const version = (tag: string) => tag.split(".")[0];
  expect(version(await tagOf(id))).not.toBe(version(between));
});
