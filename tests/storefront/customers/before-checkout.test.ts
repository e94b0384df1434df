/** Ways to pay, services and prices that a customer sees before the checkout. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";
import { newStore, type Store } from "../../support/storefront.ts";

let tenant: Tenant;
let other: Tenant;
let foreign: Store;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  foreign = await newStore(other);
});

const newCustomer = () => newPerson(tenant.id, "customer", "customer");

describe("before the checkout", () => {
  const methods = "/storefront/payment-methods";

  test("payment methods are those the market turned on", async () => {
    const mine = await newTenant();
    const own = await newStore(mine);
    const ask = async (payment_methods: Body) => {
      await sql`update storefront.markets set settings = ${sql.json({ payment_methods })}
        where id = ${own.id}`;
      const answer = await mine.customer.in("ar").get(methods, { query: { marketId: own.id } });
      expect(answer).toSucceed(200);
      return answer.body.data;
    };
    const codes = async (setting: Body) => (await ask(setting)).map(({ code }: Body) => code);
    const setUp = (code: string, is_active = true) =>
      sql`insert into money.payment_gateways (tenant_id, gateway_code, is_active)
        values (${mine.id}, ${code}, ${is_active})`;
    // A gateway that nobody has set up, or that is switched off, is not offered.
    await setUp("razorpay", false);
    expect(await codes(["wallet", "gateway"])).toEqual(["wallet"]);
    await setUp("gatewayone");
    expect(await ask(["wallet", "gatewayone"])).toEqual([
      { id: expect.any(String), code: "wallet", type: "wallet", name: "المحفظة" },
      {
        id: expect.any(String),
        code: "gatewayone",
        type: "gateway",
        gateway_code: "gatewayone",
        name: "بطاقة",
      },
    ]);
    expect(await codes([])).toEqual([]);
    expect(await codes(null)).toEqual([]);
    expect(await codes({ cod: true, wallet: false, gateway: { enabled: true } }))
      .toEqual(["cash_on_delivery", "gatewayone"]);
    await sql`update money.payment_gateways set is_active = true where tenant_id = ${mine.id}`;
    expect(await codes(["gateway"])).toEqual(["gatewayone", "razorpay"]);
    await sql`update storefront.markets set settings = '{"payment_methods": ["wallet", "razorpay"]}'
      where id = ${own.id}`;
    const shown = await mine.customer.get(`/storefront/public/markets/${own.name}`);
    expect(shown.body.market.settings.payment_methods).toEqual(["wallet", "razorpay"]);
    await expectGuarded({ method: "GET", path: `${methods}?marketId=${own.id}` }, {
      denied: [mine.driver, mine.institution, mine.staff],
    });
    for (const marketId of [foreign.id, randomUUID()]) {
      expect(await mine.customer.get(methods, { query: { marketId } }))
        .toFailWith(404, "market_not_found");
    }
    expect(await mine.customer.get(methods)).toFailWith(400, "validation_failed");
  });

  test("the address book keeps one default", async () => {
    const customer = await newCustomer();
    const addresses = "/storefront/addresses";
    const body = { full_address: "Street 1", city: "Baghdad", country: "IQ" };
    const first = await customer.post(addresses, { ...body, lat: 33.3, long: 44.4 });
    expect(first).toSucceed(201);
    expect(first.body.data).toMatchObject({
      ...body,
      latitude: 33.3,
      longitude: 44.4,
      is_default: true,
    });
    expect((await customer.post(addresses, body)).body.data.is_default).toBe(false);
    expect((await customer.post(addresses, { ...body, is_default: true })).body.data.is_default)
      .toBe(true);
    await customer.post("/delivery/addresses", body);
    const list = await customer.get(addresses, { query: { sort_by: "is_default" } });
    expect(list.body.data.map(({ is_default }: Body) => is_default))
      .toEqual([true, false, false, false]);
    expect(list.body.pagination).toEqual({ page: 1, limit: 20, total: 4, total_pages: 1 });
    expect((await tenant.customer.get(addresses)).body.data).toEqual([]);
    const [row] =
      await sql`select owner_user_id from delivery.addresses where id = ${first.body.data.id}`;
    expect(row.owner_user_id).toBe(customer.id);
    const rival = await newCustomer();
    await Promise.all(Array.from({ length: 6 }, () => rival.post(addresses, body)));
    const [count] =
      await sql`select count(*) filter (where is_default)::int as defaults, count(*)::int as all
      from storefront.customer_addresses where user_id = ${rival.id}`;
    expect(count).toEqual({ defaults: 1, all: 6 });
    await expectRefused(customer, { method: "POST", path: addresses }, [
      [{}, "full_address"],
      [{ full_address: "" }, "full_address"],
      [{ ...body, lat: 91 }, "lat"],
      [{ ...body, lat: 33 }, "longitude"],
      [{ ...body, contact_info: [] }, "contact_info"],
    ]);
    await expectGuarded({ method: "POST", path: addresses, body }, {
      denied: [tenant.admin, tenant.driver],
    });
    await expectGuarded({ method: "GET", path: addresses }, { denied: [tenant.admin] });
  });
});
