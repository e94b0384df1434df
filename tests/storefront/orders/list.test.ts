/** The administrators' list: every filter, all of them at once, and totals that no filter changes. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { newShop, type Shop } from "../../support/orders.ts";

const path = "/storefront/orders";
let shop: Shop;
const ids: string[] = [];

/** Twelve orders, a day apart, the newest first in `ids`. */
beforeAll(async () => {
  shop = await newShop();
  const { tenant, store, service } = shop;
  const states = [
    "pending",
    "awaiting_approval",
    "confirmed",
    "approved",
    "shipped",
    "delivered",
    "completed",
    "cancelled",
    "pending",
    "pending",
    "shipped",
    "delivered",
  ];
  for (const [index, status] of states.entries()) {
    const [cart] =
      await sql`insert into storefront.carts (tenant_id, market_id, customer_id, status)
      values (${tenant.id}, ${store.id}, ${tenant.customer.id}, 'converted') returning id`;
    const made = new Date(Date.UTC(2026, 0, 20 - index, 12));
    const [row] = await sql`insert into storefront.storefront_orders ${
      sql({
        tenant_id: tenant.id,
        order_number: `55-${index === 11 ? "00%" : String(index).padStart(3, "0")}`,
        market_id: store.id,
        user_id: tenant.customer.id,
        cart_id: cart.id,
        status,
        payment_method: index % 2 ? "wallet" : "cash_on_delivery",
        payment_method_type_id: "5a1e0000-0000-4000-8000-000000000001",
        delivery_service_id: service,
        currency: "IQD",
        subtotal: 1000 * (index + 1),
        shipping_cost: 100 * index,
        discount_amount: 10 * index,
        total_price: 1000 * (index + 1) + 100 * index - 10 * index,
        total_items: index + 1,
        shipping_address: sql.json({ full_address: "Street" }),
        city: index % 3 ? "Baghdad" : "Erbil",
        created_at: made,
        ...(status === "cancelled" ? { cancelled_at: made, cancel_reason: "other" } : {}),
        ...(["delivered", "completed"].includes(status)
          ? {
            // Whatever else runs: what was delivered two weeks ago would be completed.
            delivered_at: new Date(Date.now() - (index === 5 ? 0 : 2 * 86_400_000)),
          }
          : {}),
      })
    } returning id`;
    ids.push(row.id);
  }
});

const found = async (query: Record<string, unknown>) => {
  const answer = await shop.tenant.admin.get(path, { query: { limit: 100, ...query } as never });
  expect(answer).toSucceed(200);
  expect(answer.body.pagination.total).toBe(answer.body.orders.length);
  return answer.body.orders.map(({ id }: { id: string }) => ids.indexOf(id));
};

test("ten, the newest first, with everything a row has", async () => {
  const { body } = await shop.tenant.admin.get(path);
  expect(body.orders).toHaveLength(10);
  expect(body.pagination).toEqual({ page: 1, limit: 10, total: 12, totalPages: 2 });
  expect(body.orders[1]).toEqual({
    id: ids[1],
    order_number: "55-001",
    status: "awaiting_approval",
    fulfilment: "none",
    paymentMethod: "wallet",
    paymentStatus: "pending",
    shippingAddress: { city: "Baghdad" },
    deliveryFee: 100,
    discountAmount: 10,
    finalAmount: 2_090,
    totalItems: 2,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });
});

test("totals of the whole market, whatever the filters", async () => {
  const stats = { totalOrders: 12, pendingOrders: 4, outForDelivery: 2, deliveredToday: 1 };
  for (
    const query of [{}, { status: "cancelled" }, { search: "nothing" }, { page: 9 }, {
      min_amount: 1e9,
    }]
  ) {
    expect((await shop.tenant.admin.get(path, { query })).body.stats).toEqual(stats);
  }
});

describe("filters", () => {
  const day = (number: number) => `2026-01-${String(number).padStart(2, "0")}`;
  const cases: [Record<string, unknown>, number[]][] = [
    [{ status: "pending" }, [0, 1, 8, 9]],
    [{ status: "confirmed" }, [2, 3]],
    [{ status: "completed" }, [5, 6, 11]],
    [{ status: "cancelled" }, [7]],
    [{ status: "shipped" }, [4, 10]],
    [{ status: "delivered" }, [5, 11]],
    [{ status: "pending,confirmed" }, [0, 1, 2, 3, 8, 9]],
    [{ column_filters: { status: ["cancelled", "delivered"] } }, [5, 7, 11]],
    [{ search: "55-00" }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]],
    [{ search: "00%" }, [11]],
    [{ search: "٥٥-۰۰" }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]],
    [{ date_from: day(18) }, [0, 1, 2]],
    [{ date_to: day(10) }, [10, 11]],
    [{ date_from: day(18), date_to: day(18) }, [2]],
    [{ min_amount: 10_000 }, [9, 10, 11]],
    [{ max_amount: 2_090 }, [0, 1]],
    [{ column_filters: { status: "completed", paymentMethod: "wallet" } }, [5, 11]],
    [{ column_filters: { city: "erb" } }, [0, 3, 6, 9]],
    [{ column_filters: { city: "erb" }, status: "pending" }, [0, 9]],
    [{ column_filters: { finalAmount: { min: 2_000, max: 4_000 } } }, [1, 2]],
    [{ column_filters: { deliveryFee: 300 } }, [3]],
    [{ column_filters: { discountAmount: { min: 100 } } }, [10, 11]],
    [{ column_filters: { totalItems: { max: 2 } } }, [0, 1]],
    [{ column_filters: { createdAt: { from: day(19), to: day(19) } } }, [1]],
    [{ status: "pending", column_filters: { status: "cancelled" } }, []],
    [{
      status: "pending",
      search: "55",
      date_from: day(1),
      min_amount: 1,
      column_filters: { city: "Erbil", totalItems: 10, paymentMethod: "wallet" },
    }, [9]],
  ];
  test.each(cases)("%j", async (query, wanted) => expect(await found(query)).toEqual(wanted));

  test("by the customer, also where that is an institution", async () => {
    const { tenant } = shop;
    expect(await found({ customer_id: tenant.customer.id })).toHaveLength(12);
    expect(await found({ customer_id: tenant.institution.id })).toEqual([]);
    await sql.begin(async (tx) => {
      // It is agreed who has ordered: nothing but a test changes that.
      await tx`set local session_replication_role = replica`;
      await tx`update storefront.storefront_orders set user_id = ${tenant.institution.id}
        where id = ${ids[6]}`;
    });
    expect(await found({ customer_id: tenant.institution.id })).toEqual([6]);
    expect(await found({ customer_id: tenant.institution.id, status: "pending" })).toEqual([]);
    expect(await found({ customer_id: randomUUID() })).toEqual([]);
    const wrong = await tenant.admin.get(path, { query: { customer_id: "x" } });
    expect(wrong).toFailWith(400, "invalid_uuid");
  });

  test("by a part of the id", async () => {
    expect(await found({ search: ids[3].slice(5, 20) })).toEqual([3]);
  });

  test.each([
    [{ status: "lost" }, "validation_failed"],
    [{ date_from: "yesterday" }, "validation_failed"],
    [{ min_amount: "much" }, "validation_failed"],
    [{ sort_by: "id" }, "validation_failed"],
    [{ column_filters: "[" }, "invalid_column_filters"],
    [{ column_filters: { status: "lost" } }, "invalid_column_filters"],
    [{ column_filters: { totalItems: "few" } }, "invalid_column_filters"],
  ])("not %j", async (query, code) => {
    expect(await shop.tenant.admin.get(path, { query: query as never })).toFailWith(400, code);
  });
});

test("sorts by each field, both ways, and enforces the limit", async () => {
  for (
    const sort_by of ["createdAt", "finalAmount", "deliveryFee", "discountAmount", "totalItems"]
  ) {
    const up = await found({ sort_by, sort_order: "asc" });
    expect(await found({ sort_by })).toEqual([...up].reverse());
    expect([up[0], up[11]].sort()).toEqual([0, 11]);
  }
  expect((await found({ sort_by: "status" })).slice(0, 2).sort()).toEqual([10, 4]);
  const { body } = await shop.tenant.admin.get(path, { query: { limit: 500, page: 0 } });
  expect(body.pagination).toMatchObject({ page: 1, limit: 100 });
});

test("for administrators, who see no order of another tenant", async () => {
  for (const person of [shop.tenant.customer, shop.tenant.driver, shop.tenant.staff]) {
    expect(await person.get(path)).toFailWith(403, "forbidden");
  }
  expect(await nobody.get(path)).toFailWith(401, "unauthorized");
  const other = await newShop();
  const { body } = await other.tenant.admin.get(path, { query: { search: ids[0] } });
  expect(body.orders).toEqual([]);
  expect(body.stats.totalOrders).toBe(0);
  expect(await other.tenant.admin.get(`${path}/${randomUUID()}`)).toFailWith(
    404,
    "order_not_found",
  );
});
