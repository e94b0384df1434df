/** The total of a status in the administrators' list is kept, and is what counting says, whoever moves orders meanwhile. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { checkAll, newShop, placeOrder, type Shop } from "../../support/orders.ts";

const words = ["pending", "confirmed", "shipped", "completed", "cancelled", "delivered"];
let shop: Shop;
beforeAll(async () => {
  shop = await newShop({ stock: 12, auto: false });
});

const total = async (query: Record<string, string>) => {
  const answer = await shop.tenant.admin.get("/storefront/orders", { query });
  expect(answer).toSucceed(200);
  return answer.body.pagination.total as number;
};
const totals = async () =>
  Object.fromEntries(
    await Promise.all(words.map(async (status) => [status, await total({ status })])),
  );
const counted = async () => {
  const rows = await sql`select w.word, (select count(*)::int from storefront.storefront_orders o
      where o.tenant_id = ${shop.tenant.id}
        and case w.word when 'delivered' then o.status = 'delivered' else o.status_group = w.word end) as orders
    from unnest(${words}::text[]) w (word)`;
  return Object.fromEntries(rows.map(({ word, orders }) => [word, orders]));
};

test("after thirty concurrent approvals, cancellations and shipments, some refused, while totals are folded", async () => {
  const ids: string[] = [];
  for (let placed = 0; placed < 30; placed++) ids.push((await placeOrder(shop)).id);
  const put = (id: string, move: string, body = {}) =>
    shop.tenant.admin.put(`/storefront/orders/${id}/${move}`, body);
  const answers = await Promise.all(ids.flatMap((id, index) => [
    (async () => {
      const approved = await put(id, "approve");
      if (approved.status !== 200 || index % 2) return approved.status;
      const sent = await put(id, "ship");
      return sent.status === 200 && index % 4 ? (await put(id, "deliver")).status : sent.status;
    })(),
    index % 3 ? total({}) : put(id, "cancel", { reason: "other" }).then(({ status }) => status),
    index % 5 ? total({ status: "pending" }) : sql`select private.tallies_fold()`,
  ]));
  // Refused moves were taken back with all they had written.
  expect(answers).toContain(409);
  const there = await counted();
  expect(await totals()).toEqual(there);
  expect(await total({})).toBe(30);
  expect(await total({ column_filters: JSON.stringify({ status: "delivered" }) }))
    .toBe(there.delivered);
  expect(there.delivered).toBeGreaterThan(0);
  expect(there.completed).toBe(there.delivered);
  await sql`update storefront.storefront_orders set status = 'completed' where id = (
    select id from storefront.storefront_orders where tenant_id = ${shop.tenant.id} and status = 'delivered' limit 1)`;
  expect(await totals()).toEqual({ ...there, delivered: there.delivered - 1 });
  await checkAll(shop.tenant);
});

test("a total is read and not counted, unless another filter narrows the rows", async () => {
  const there = await counted();
  const [{ id }] = await sql`insert into app.tallies (tenant_id, tally, dims, entries)
    values (${shop.tenant.id}, 'storefront_orders', '{completed,delivered}', 1000) returning id`;
  try {
    expect(await total({ status: "delivered" })).toBe(there.delivered + 1000);
    expect(await total({ status: "completed" })).toBe(there.completed + 1000);
    expect(await total({ status: "shipped" })).toBe(there.shipped);
    expect(await total({ status: "delivered", min_amount: "0" })).toBe(there.delivered);
  } finally {
    await sql`delete from app.tallies where id = ${id}`;
  }
});

test("a customer's own orders of a status are counted, and no other tenant's", async () => {
  const mine = await shop.tenant.customer.get("/storefront/my/orders", {
    query: { status: "shipped" },
  });
  expect(mine).toSucceed(200);
  expect(mine.body.pagination.total).toBe((await counted()).shipped);
  const other = await newShop();
  const { body } = await other.tenant.admin.get("/storefront/orders", {
    query: { status: "pending" },
  });
  expect(body.pagination.total).toBe(0);
});

test("the millionth order of a tenant gets a regular number", async () => {
  const busy = await newShop();
  await placeOrder(busy);
  await sql`update app.counters set value = 999999
    where tenant_id = ${busy.tenant.id} and counter = 'storefront_order'`;
  const [{ code }] = await sql`select code from storefront.markets where id = ${busy.store.id}`;
  for (const number of ["1000000", "1000001"]) {
    const { answer } = await placeOrder(busy);
    expect(answer.body.order.order_number).toBe(`${code}-${number}`);
  }
  const { body } = await busy.tenant.admin.get("/storefront/orders", {
    query: { search: `${code}-1000001` },
  });
  expect(body.pagination.total).toBe(1);
});
