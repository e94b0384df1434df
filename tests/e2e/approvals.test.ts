/** Fifty orders for ten in stock, approved at once by two processes behind the gateway. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { cpuMs } from "../bench/cpu.ts";
import type { Body } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { checkAll, newShop, placeOrder, type Shop } from "../support/orders.ts";
import { moveToOwnStack } from "../support/move-to-own-stack.ts";
import { unitsOf } from "../support/warehouses.ts";

const asked = 50;
const stock = 10;
let stack: Stack;
let leave = () => Promise.resolve();
let shop: Shop;
let authorization: string;

beforeAll(async () => {
  ({ own: stack, leave } = await moveToOwnStack({
    workers: 2,
    // On a busy machine they wait for each other longer than clients should: here the outcome counts.
    env: { BARID_STRICT: "1", BARID_LOG_LEVEL: "error", BARID_DB_WAIT_MS: "30000" },
  }));
  await stack.sql`alter role barid_api set lock_timeout = '30s'`;
  shop = await newShop({ stock });
  const token = await stack.jwtSign({
    sub: shop.tenant.admin.id,
    app_metadata: { tenant_id: shop.tenant.id },
  });
  authorization = `Bearer ${token}`;
}, 120_000);
afterAll(() => leave());

/** Through the gateway, which gives requests to the processes in turn. */
async function call(method: string, path: string): Promise<{ status: number; body: Body }> {
  const response = await fetch(`${stack.url}/functions/v1/storefront/${path}`, {
    method,
    headers: { authorization },
  });
  return { status: response.status, body: await response.json() };
}

test(
  "exactly ten are approved, whichever process was asked, and every other is told why not",
  async () => {
    const ids: string[] = [];
    for (let placed = 0; placed < asked; placed++) ids.push((await placeOrder(shop)).id);
    // Both have loaded what they need before the race begins.
    await Promise.all(Array.from({ length: 8 }, () => call("GET", "orders")));
    expect(stack.workers.pids).toHaveLength(2);
    const before = stack.workers.pids.map((pid) => cpuMs(pid));
    const began = performance.now();
    const answers = await Promise.all(ids.map((id) => call("PUT", `orders/${id}/approve`)));
    const took = performance.now() - began;
    const used = stack.workers.pids.map((pid, index) => cpuMs(pid) - before[index]);
    console.log(`${asked} approvals on two processes: ${Math.round(took)} ms, CPU ${used} ms`);
    // Both had work.
    expect(Math.min(...used)).toBeGreaterThan(0);

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(stock);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(asked - stock);
    for (const { status, body } of refused) {
      expect([status, body.success, body.code]).toEqual([409, false, "insufficient_stock"]);
    }
    expect(await unitsOf(shop.shelf.item)).toEqual({ reserved: stock });
    const [held] = await sql`select
      (select array_agg(o.id::text order by o.id) from storefront.storefront_orders o
        where o.tenant_id = ${shop.tenant.id} and o.status = 'confirmed') as confirmed,
      (select array_agg(d.order_id::text order by d.order_id) from delivery.deliveries d
        where d.tenant_id = ${shop.tenant.id}) as sent,
      (select array_agg(s.reserved_for_id::text order by s.reserved_for_id) from warehousing.stock s
        where s.tenant_id = ${shop.tenant.id} and s.status = 'reserved' and s.quantity = 1) as reserved`;
    const won = ids.filter((_, index) => answers[index].status === 200).sort();
    expect(held).toEqual({ confirmed: won, sent: won, reserved: won });
    await checkAll(shop.tenant);
  },
  180_000,
);
