/** Deliveries from files; what every import promises stands in tests/shared/import.test.ts. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addAddress } from "../../support/addresses.ts";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  newGround,
  order,
  path as deliveries,
} from "../../support/deliveries.ts";
import { fingerprintOf } from "../../support/everything.ts";
import { faultsOf, sendFile } from "../../support/files.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
let ground: Ground;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

/** A line of what an order is, with the name of its recipient. */
const line = (more: Record<string, unknown> = {}) => {
  const { recipient: _, ...rest } = order(ground, more);
  return { ...rest, "recipient.name": "سارا", "recipient.phone": "'+9647701234567", ...more };
};
const path = `${deliveries}/import`;
const lastCode = async (of = tenant) =>
  Number(
    (await sql`select value from app.counters where tenant_id = ${of.id} and counter = 'delivery_code'`)[
      0
    ]
      ?.value ?? 0,
  );

describe("deliveries", () => {
  test("are ordered in the order of the lines and charged like any other", async () => {
    const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
    const before = await lastCode();
    const answer = await sendFile(tenant.ops, path, [
      line(),
      line({ payer_type: "sender", payment_method: "wallet", notes: "الطابق الثاني" }),
      line({ staged: true, warehouse_id: ground.warehouse, cod_amount: 5000 }),
      line({
        dropoff_address_id: "",
        "delivery_location.latitude": 33.3,
        "delivery_location.longitude": 44.4,
        "delivery_location.full_address": "شارع فلسطين",
        status: "draft",
      }),
    ]);
    expect(answer).toSucceed(201);
    const rows = await sql`select * from delivery.deliveries where id = any (${answer.body.ids})
      order by array_position(${answer.body.ids}::uuid[], id)`;
    expect(rows.map((row) => Number(row.delivery_code))).toEqual(
      [1, 2, 3].map((n) => before + n).concat(Number(rows[3].delivery_code)),
    );
    expect(rows).toMatchObject([
      { status: "pending", recipient: { name: "سارا", phone: "+9647701234567" } },
      { notes: "الطابق الثاني", delivery_fee: 2000 },
      { delivery_flow: "pnd_parent" },
      { status: "draft", dropoff_snapshot: { full_address: "شارع فلسطين" } },
    ]);
    expect(await balanceOf(wallet)).toBe(8_000);
  });

  test("a wallet that is short at a line is an error of that line, and nothing is paid", async () => {
    const rich = await newTenant();
    const own = await newGround(rich);
    const wallet = await fundWallet(rich, "customer", rich.customer.id, 5_000);
    const paid = {
      ...line({ payer_type: "sender", payment_method: "wallet" }),
      ...places(rich, own),
    };
    const rows = [paid, paid, paid, { ...paid, unit_size: 0.5 }, { ...paid, unit_size: 1 }];
    const before = [await fingerprintOf(rich.id), await lastCode(rich)];
    for (const query of [{ dry_run: true }, {}]) {
      const answer = await sendFile(rich.ops, path, rows, { query });
      // 2,000 and 2,000 of 5,000 are paid; 1,000 is left for a line that costs no more.
      expect(faultsOf(answer).map(([at, , word]) => [at, word])).toEqual([
        [4, "insufficient_wallet_balance"],
        [5, "can_not_use_this_delivery_for_this_unit_size"],
      ]);
    }
    expect([await fingerprintOf(rich.id), await lastCode(rich)]).toEqual(before);
    expect(await balanceOf(wallet)).toBe(5_000);
    await checkAll(rich);
  });

  test("ids of another tenant are nothing's, line by line", async () => {
    const theirs = await newGround(other);
    const before = await fingerprintOf(other.id);
    const fields = {
      customer_id: other.customer.id,
      delivery_service_id: theirs.service,
      pickup_address_id: theirs.from,
      dropoff_warehouse_id: theirs.warehouse,
      original_delivery_id: randomUUID(),
    };
    const rowsOf = (made: (id: string) => string) =>
      Object.entries(fields).map(([field, id]) =>
        line({
          [field]: made(id),
          ...(field === "original_delivery_id" ? { delivery_flow: "customer_return" } : {}),
        })
      );
    const [foreign, nothing] = [
      await sendFile(tenant.ops, path, rowsOf((id) => id)),
      await sendFile(tenant.ops, path, rowsOf(() => randomUUID())),
    ];
    expect(foreign.body.error_count).toBe(5);
    expect(foreign.body).toEqual(nothing.body);
    expect(await fingerprintOf(other.id)).toEqual(before);
  });

  test("customers order for themselves; whom they may not order for is a fault of the line", async () => {
    const [from, to] = [await addAddress(tenant.customer), await addAddress(tenant.customer)];
    const mine = { ...line(), pickup_address_id: from, dropoff_address_id: to };
    const answer = await sendFile(tenant.customer, path, [mine]);
    expect(answer).toSucceed(201);
    const refused = await sendFile(tenant.customer, path, [
      mine,
      { ...mine, customer_id: tenant.ops.id },
    ]);
    expect(faultsOf(refused)).toEqual([[3, null, "forbidden"]]);
    const outside = { carrier_type: "external", carrier_code: "easypost" };
    const staged = await sendFile(tenant.ops, path, [
      line({ ...outside, staged: true, warehouse_id: ground.warehouse }),
    ]);
    expect(faultsOf(staged)).toEqual([[2, null, "delivery_goes_in_legs"]]);
    expect(await sendFile(nobody, path, [mine])).toFailWith(401, "unauthorized");
    for (const person of [tenant.staff, tenant.driver]) {
      expect(await sendFile(person, path, [mine])).toFailWith(403, "forbidden");
    }
  });

  test("concurrent files and single orders all succeed, and every code is given once", async () => {
    const busy = await newTenant();
    const own = await newGround(busy);
    await fundWallet(busy, "customer", busy.customer.id, 1_000_000);
    await fundWallet(busy, "institution", busy.institution.id, 1_000_000);
    const paid = { payer_type: "sender", payment_method: "wallet", recipient: undefined };
    const byBoth = (first: object, second: object) =>
      Array.from({ length: 10 }, (_, i) => ({
        ...order(own, paid),
        customer_id: undefined,
        ...(i < 5 ? first : second),
      }));
    const customer = { customer_id: busy.customer.id };
    const institution = { institution_user_id: busy.institution.id };
    const key = randomUUID();
    const answers = await Promise.all([
      sendFile(busy.ops, path, byBoth(customer, institution)),
      sendFile(busy.ops, path, byBoth(institution, customer)),
      ...[1, 2].map(() =>
        sendFile(busy.ops, path, byBoth(customer, institution), {
          headers: { "idempotency-key": key },
        })
      ),
      ...Array.from({ length: 6 }, () => busy.ops.post(deliveries, order(own, paid))),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    const [made] = await sql`select count(*)::int as n, count(distinct delivery_code)::int as codes,
      max(delivery_code)::int as last from delivery.deliveries where tenant_id = ${busy.id}`;
    expect(made).toEqual({ n: 36, codes: 36, last: await lastCode(busy) });
    expect(answers[2].body).toEqual(answers[3].body);
    await checkAll(busy);
  });
});

function places(of: Tenant, { from, to, service }: Ground) {
  return {
    customer_id: of.customer.id,
    pickup_address_id: from,
    dropoff_address_id: to,
    delivery_service_id: service,
  };
}
