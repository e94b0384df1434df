/** Money on the wallets of merchants, where its cash is, and since when it is due. */
import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { carried, newSide, payCarried } from "../../support/carriers.ts";
import { remit, selected } from "../../support/cod.ts";
import {
  delivered,
  handIn,
  leaves,
  newBanker,
  newHolder,
  setPayouts,
  sound as cashSound,
} from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import {
  broughtIn,
  cancel,
  newMerchant,
  opened,
  pay,
  reverse,
  reverseSettlement,
  sound,
} from "../../support/merchant-statements.ts";
import { fundWallet } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectPaged } from "../../support/promises.ts";

const path = "/delivery/merchant-balances";

let other: Tenant;
beforeAll(async () => {
  other = (await newMerchant()).tenant;
});

async function balanceOf(tenant: Tenant, owner = tenant.customer.id): Promise<Body> {
  const answer = await tenant.dispatcher.get(path, { query: { owner_user_id: owner } });
  expect(answer).toSucceed(200);
  expect(answer.body.data).toHaveLength(1);
  return answer.body.data[0];
}

/** The reconciliation says of the cash that is out what the office sees. */
async function asReconciled(tenant: Tenant): Promise<void> {
  const { body } = await tenant.admin.get("/delivery/cod-reconciliation");
  const { body: list } = await tenant.admin.get(path, { query: { limit: 100 } });
  const out = list.data.filter((row: Body) => row.held || row.waiting).map((row: Body) => ({
    wallet_id: row.id,
    ...{ in_hand: row.in_hand_of_drivers, with_carriers: row.with_carriers },
    at_desks: row.at_desks,
    ...{ held: row.held, waiting: row.waiting },
  }));
  expect(out).toEqual(body.held.map((
    { wallet_id, in_hand, with_carriers, at_desks, held, waiting }: Body,
  ) => ({ wallet_id, in_hand, with_carriers, at_desks, held, waiting })));
  for (const { wallet_id, balance, open } of body.statements) {
    const row = list.data.find(({ id }: Body) => id === wallet_id);
    expect([row.balance, row.stated]).toEqual([balance, open]);
  }
}

const figures = (
  [balance, held, waiting, available, stated]: number[],
  [in_hand_of_drivers, with_carriers, at_desks]: number[],
) => ({
  ...{ balance, held, waiting, available, stated },
  ...{ in_hand_of_drivers, with_carriers, at_desks },
});

test("from the door to the payout: what is held by whom, stated, and available", async () => {
  const { ground, tenant } = await newMerchant([], { keep: 500 });
  const [first] = await delivered(ground, [7_000, 3_000]);
  const shown = await balanceOf(tenant);
  expect(shown).toEqual({
    id: expect.any(String),
    owner: { id: tenant.customer.id, full_name: expect.any(String) },
    currency: "IQD",
    ...figures([10_000, 10_000, 0, 0, 0], [10_000, 0, 0]),
    oldest_unpaid_at: expect.any(String),
  });
  expect(await tenant.dispatcher.post(remit, selected(first!))).toSucceed(200);
  expect(await balanceOf(tenant)).toMatchObject(
    figures([10_000, 3_000, 0, 7_000, 0], [3_000, 0, 0]),
  );
  const { id } = await opened(tenant);
  expect(await balanceOf(tenant)).toMatchObject(
    figures([10_000, 3_000, 0, 500, 6_500], [3_000, 0, 0]),
  );
  expect(await pay(tenant.ops, id)).toSucceed(200);
  expect(await balanceOf(tenant)).toMatchObject(figures([3_500, 3_000, 0, 500, 0], [3_000, 0, 0]));
  expect(await reverseSettlement(tenant, first!)).toSucceed(200);
  expect(await balanceOf(tenant))
    .toMatchObject(figures([3_500, 10_000, 0, -6_500, 0], [10_000, 0, 0]));
  await asReconciled(tenant);
  await sound(tenant);
});

test("what waits for its day is not held; the cash of carriers is theirs", async () => {
  const ground = await newHolder({ release: "on_delivery", hold_days: 2 });
  await delivered(ground, [7_000]);
  expect(await balanceOf(ground.tenant)).toMatchObject(figures([7_000, 0, 7_000, 0, 0], [0, 0, 0]));
  const side = await newSide();
  await setPayouts(side.tenant, { release: "on_remit", hold_days: 1 });
  const [first] = await carried(side, 7_000, 4_000);
  expect(await balanceOf(side.tenant))
    .toMatchObject(figures([11_000, 11_000, 0, 0, 0], [0, 11_000, 0]));
  expect(
    await payCarried(side.tenant.admin, 9_000, { carrier_collection_ids: [first!.collection] }),
  ).toSucceed(201);
  expect(await balanceOf(side.tenant))
    .toMatchObject(figures([11_000, 4_000, 7_000, 0, 0], [0, 4_000, 0]));
  await asReconciled(side.tenant);
  await cashSound(side.tenant);
});

test("released by the bank: what is held and with neither driver nor carrier is at the desks", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [first] = await delivered(ground, [7_000, 3_000]);
  expect(await balanceOf(tenant)).toMatchObject(figures([10_000, 10_000, 0, 0, 0], [10_000, 0, 0]));
  await handIn(ground, [first!]);
  expect(await balanceOf(tenant))
    .toMatchObject(figures([10_000, 10_000, 0, 0, 0], [3_000, 0, 7_000]));
  await asReconciled(tenant);
  // The COD and its fee.
  await leaves(tenant.dispatcher, 9_000);
  expect(await balanceOf(tenant)).toMatchObject(
    figures([10_000, 3_000, 0, 7_000, 0], [3_000, 0, 0]),
  );
  await asReconciled(tenant);
  await cashSound(tenant);
});

test("since when it is due: the oldest credit that is on no paid statement", async () => {
  const { ground, tenant } = await newMerchant([]);
  await fundWallet(tenant, "customer", tenant.customer.id, 1_000);
  const since = async () => (await balanceOf(tenant)).oldest_unpaid_at;
  const at = async (kind: string, nth: number) => {
    const found =
      await sql`select to_char(t.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as at
      from money.ledger_transactions t where t.tenant_id = ${tenant.id} and t.kind = ${kind} order by t.created_at`;
    return found[nth]!.at;
  };
  const is = async (instant: string) => expect(await since()).toContain(instant.replace(/0+$/, ""));
  const toppedUp = await since();
  expect(toppedUp).not.toBeNull();
  const [kept] = await broughtIn(ground, [7_000]);
  expect(await since()).toBe(toppedUp);
  const first = await opened(tenant);
  expect(await since()).toBe(toppedUp);
  await delivered(ground, [3_000]);
  expect(await since()).toBe(toppedUp);
  expect(await pay(tenant.ops, first.id)).toSucceed(200);
  await is(await at("cod_credit", 1));
  await broughtIn(ground, [2_000]);
  const second = await opened(tenant);
  await is(await at("cod_credit", 1));
  expect(await cancel(tenant.ops, second.id)).toSucceed(200);
  await is(await at("cod_credit", 1));
  // Paid COD does not become due again when its cash goes back.
  expect(await reverseSettlement(tenant, kept!)).toSucceed(200);
  await is(await at("cod_credit", 1));
  expect(await reverse(tenant.ops, first.id)).toSucceed(200);
  expect(await since()).toBe(toppedUp);
});

test("nothing is due where nothing is on the wallet", async () => {
  const { tenant } = await newMerchant([7_000]);
  const { id } = await opened(tenant);
  expect(await pay(tenant.ops, id)).toSucceed(200);
  expect(await balanceOf(tenant)).toMatchObject({ balance: 0, oldest_unpaid_at: null });
});

test("by name and currency, in pages, with sums and as a file", async () => {
  const { ground, tenant } = await newMerchant([7_000, 3_000]);
  await delivered(ground, [900], {
    customer_id: undefined,
    institution_user_id: tenant.institution.id,
  });
  await fundWallet(tenant, "driver", tenant.driver.id, 10_000);
  await sql`insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, currency, floor)
    values (${tenant.id}, 'wallet', 'customer', ${tenant.customer.id}, 'USD', 0)`;
  await opened(tenant);
  const ask = async (query: Record<string, string>) => (await tenant.ops.get(path, { query })).body;
  const all = await ask({});
  expect(all.pagination.total).toBe(3);
  const sums = figures([10_900, 900, 0, 0, 10_000], [900, 0, 0]);
  expect(all.summary).toEqual([
    { currency: "IQD", wallets: 2, ...sums },
    { currency: "USD", wallets: 1, ...figures([0, 0, 0, 0, 0], [0, 0, 0]) },
  ]);
  const names = all.data.map((row: Body) => row.owner.full_name);
  expect(names).toEqual([...names].sort());
  const found = await ask({ search: names[0].slice(2, 8), currency: "USD" });
  expect(found.data.every((row: Body) => row.currency === "USD")).toBe(true);
  expect((await ask({ currency: "USD" })).summary).toHaveLength(1);
  expect((await ask({ sort_by: "held", sort_order: "desc", limit: "1" })).data[0].held).toBe(900);
  expect((await ask({ fields: "held", currency: "USD" })).data)
    .toEqual([{ id: expect.any(String), held: 0 }]);
  expect((await ask({ search: "nobody of this name" })).data).toEqual([]);
  expect((await tenant.ops.get(path, { query: { currency: "dinar" } })).body.field).toBe(
    "currency",
  );
  const file = await tenant.ops.get(path, { query: { format: "csv" } });
  const [head, ...lines] = new TextDecoder().decode(file.body).trim().split("\r\n");
  expect(head).toContain("in_hand_of_drivers");
  expect(lines).toHaveLength(3);
  await expectPaged(tenant.ops, path, "balance");
});

test("for the office of this company alone", async () => {
  const tenant = await newTenant();
  await expectGuarded({ method: "GET", path }, {
    denied: [other.driver, other.customer, other.institution, other.warehouse],
  });
  const own = (await tenant.admin.get(path)).body.data.map(({ owner }: Body) => owner.id);
  expect(own).not.toContain(other.customer.id);
  const foreign = await tenant.admin.get(path, { query: { owner_user_id: other.customer.id } });
  expect(foreign.body).toMatchObject({ data: [], summary: [] });
  const denied = await tenant.admin.get(path, { query: { tenant_id: other.id } });
  expect(denied.status).toBe(403);
});
