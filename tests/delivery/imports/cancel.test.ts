/** An import that was a mistake is cancelled as a whole. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addAddress } from "../../support/addresses.ts";
import { nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  type Ground,
  move,
  moves,
  newGround,
  order,
  path as deliveries,
} from "../../support/deliveries.ts";
import { fingerprintOf } from "../../support/everything.ts";
import { sendFile } from "../../support/files.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const imports = `${deliveries}/imports`;
let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const line = (more: Record<string, unknown> = {}) =>
  order(ground, { recipient: undefined, ...more });

async function imported(rows: object[], person: Person = tenant.ops) {
  const answer = await sendFile(person, `${deliveries}/import`, rows);
  expect(answer).toSucceed(201);
  return answer.body as { import_id: string; ids: string[] };
}

const cancel = (id: string, person: Person = tenant.ops, key?: string) =>
  person.post(
    `${imports}/${id}/cancel`,
    { reason: "wrong file", notes: "of last week" },
    key ? { headers: { "idempotency-key": key } } : {},
  );

const statuses = async (ids: string[]) =>
  (await sql`select status from delivery.deliveries where id = any (${ids})
    order by array_position(${ids}::uuid[], id)`).map(({ status }) => status);

describe("cancelling an import", () => {
  test("ends what nobody has in hand, gives fees back and frees drivers; the rest is named by line", async () => {
    const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
    const { import_id, ids } = await imported([
      line({ payer_type: "sender", payment_method: "wallet" }),
      line({ status: "draft" }),
      line(),
      line(),
      line({ staged: true, warehouse_id: ground.warehouse }),
      line(),
    ]);
    expect(await balanceOf(wallet)).toBe(8_000);
    await assign(tenant, ids[2], tenant.driver, "assigned");
    await assign(tenant, ids[3]);
    await moves(tenant.driver, ids[3], "pickup");
    await moves(tenant.ops, ids[5], ["cancel", { reason: "by itself" }]);

    const answer = await cancel(import_id);
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({ import_id, cancelled: 4 });
    expect(answer.body.left).toEqual([{
      delivery_id: ids[3],
      delivery_code: expect.any(Number),
      status: "picked_up",
      code: "invalid_status_transition",
      message: expect.stringContaining("picked up"),
    }]);
    expect(await statuses(ids)).toEqual([
      "cancelled",
      "cancelled",
      "cancelled",
      "picked_up",
      "cancelled",
      "cancelled",
    ]);
    expect(await balanceOf(wallet)).toBe(10_000);
    const rows = await sql`select status_reason, status_notes from delivery.deliveries where id = ${
      ids[0]
    }`;
    expect(rows).toEqual([{ status_reason: "wrong file", status_notes: "of last week" }]);
    const told = await sql`select payload from tenancy.notifications
      where user_id = ${tenant.driver.id} and type = 'delivery_cancelled' and payload ->> 'delivery_id' = ${
      ids[2]
    }`;
    expect(told).toHaveLength(1);

    const [row] = (await tenant.ops.get(imports)).body.data;
    expect(row).toMatchObject({
      id: import_id,
      created_by: { id: tenant.ops.id },
      cancelled_by: { id: tenant.ops.id },
      imported: 6,
      cancelled: 5,
      cancellable: 0,
    });
    await moves(tenant.driver, ids[3], "depart", "complete");
    const again = await cancel(import_id);
    expect(again.body).toMatchObject({ cancelled: 0, left: [{ status: "delivered" }] });
  });

  test("leaves what a warehouse prepares, and what waits in one on its way", async () => {
    const { import_id, ids } = await imported([
      line({ staged: true, warehouse_id: ground.warehouse }),
      line(),
    ]);
    const [{ id: inbound }] = await sql`select id from delivery.deliveries where parent_id = ${
      ids[0]
    } and leg = 'A'`;
    await assign(tenant, inbound);
    await moves(tenant.driver, inbound, "pickup", "depart", "complete");
    const answer = await cancel(import_id);
    expect(answer.body).toMatchObject({ cancelled: 1, left: [{ delivery_id: ids[0] }] });
    const arabic = await tenant.ops.post(
      `${imports}/${import_id}/cancel`,
      { reason: "wrong file" },
      { headers: { "accept-language": "ar" } },
    );
    expect(arabic.body.left[0].message).toContain("مستودع");
    expect((await statuses([ids[0]]))[0]).not.toBe("cancelled");
    const returns = await sql`select from delivery.deliveries where original_delivery_id = ${
      ids[0]
    }`;
    expect(returns).toHaveLength(0);
  });

  test("of an owner ends drafts and what waits for a driver; of others it is unknown", async () => {
    const mine = line({
      pickup_address_id: await addAddress(tenant.customer),
      dropoff_address_id: await addAddress(tenant.customer),
    });
    const { import_id, ids } = await imported([mine, mine], tenant.customer);
    await assign(tenant, ids[1], tenant.driver, "assigned");
    const ofOffice = await imported([line()]);
    const listed = await tenant.customer.get(imports);
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([import_id]);
    expect(await cancel(ofOffice.import_id, tenant.customer)).toFailWith(404, "import_not_found");

    const answer = await cancel(import_id, tenant.customer);
    expect(answer.body).toMatchObject({
      cancelled: 1,
      left: [{ delivery_id: ids[1], status: "assigned", code: "invalid_status_transition" }],
    });
    expect(await statuses(ids)).toEqual(["cancelled", "assigned"]);
  });

  test("by two at once, and repeated with its key, ends each delivery once", async () => {
    const wallet = await fundWallet(tenant, "institution", tenant.institution.id, 50_000);
    const paid = line({
      customer_id: undefined,
      institution_user_id: tenant.institution.id,
      payer_type: "sender",
      payment_method: "wallet",
    });
    const { import_id, ids } = await imported(Array(10).fill(paid));
    expect(await balanceOf(wallet)).toBe(30_000);
    const key = randomUUID();
    const answers = await Promise.all([
      cancel(import_id, tenant.ops, key),
      cancel(import_id, tenant.ops, key),
      cancel(import_id, tenant.admin),
      ...ids.slice(0, 3).map((id) => move(tenant.ops, id, "cancel", { reason: "by itself" })),
    ]);
    expect(answers[0].body).toEqual(answers[1].body);
    expect(answers.slice(0, 3).map(({ status }) => status)).toEqual([200, 200, 200]);
    const single = answers.slice(3).filter(({ status }) => status === 200).length;
    expect(answers[0].body.cancelled + answers[2].body.cancelled + single).toBe(10);
    expect(await statuses(ids)).toEqual(Array(10).fill("cancelled"));
    expect(await balanceOf(wallet)).toBe(50_000);
  });

  test("beside drivers who pick the parcels up: each is cancelled or picked up, never both", async () => {
    const { import_id, ids } = await imported(Array(8).fill(line()));
    for (const id of ids) await assign(tenant, id);
    const [answer, ...pickups] = await Promise.all([
      cancel(import_id),
      ...ids.map((id) => move(tenant.driver, id, "pickup")),
    ]);
    expect(answer).toSucceed(200);
    const picked = pickups.filter(({ status }) => status === 200).length;
    expect(answer.body.cancelled + picked).toBe(8);
    expect(answer.body.left).toHaveLength(picked);
    const [{ n }] = await sql`select count(*)::int as n from delivery.deliveries
      where id = any (${ids}) and status = 'picked_up'`;
    expect(n).toBe(picked);
  });

  test("is refused without a reason, to other people, and of another company's import", async () => {
    const { import_id } = await imported([line()]);
    const other = await newTenant();
    const before = await fingerprintOf(tenant.id);
    expect(await tenant.ops.post(`${imports}/${import_id}/cancel`, {})).toFailWith(
      400,
      "validation_failed",
    );
    expect(await cancel(import_id, nobody)).toFailWith(401, "unauthorized");
    for (const person of [tenant.staff, tenant.driver]) {
      expect(await cancel(import_id, person)).toFailWith(403, "forbidden");
      expect(await person.get(imports)).toFailWith(403, "forbidden");
    }
    expect(await nobody.get(imports)).toFailWith(401, "unauthorized");
    for (const id of [import_id, randomUUID()]) {
      expect(await cancel(id, other.ops)).toFailWith(404, "import_not_found");
    }
    expect((await other.ops.get(deliveries, { query: { import_id } })).body.data).toEqual([]);
    expect((await other.ops.get(imports)).body.data).toEqual([]);
    expect(await fingerprintOf(tenant.id)).toEqual(before);
  });
});
