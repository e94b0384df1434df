/** A shortage is booked where its cash is remitted, and a handover ends with the cash that it stands for. */
import { expect, test } from "vitest";
import { accountOf, bookedEarly, newCash, remit, selected, settle } from "../../support/cod.ts";
import { heldBy } from "../../support/cash-desks.ts";
import { sql } from "../../support/db.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newPerson, newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { sound, takeBack } from "../../support/settlements.ts";

const handovers = "/delivery/cod-collections/handovers";

/** Said and counted by the dispatcher: the handover's id. */
async function counted(
  tenant: Tenant,
  amount: number,
  counted_amount: number,
  by = tenant.dispatcher,
) {
  const answer = await by.post("/delivery/cod-collections/handover", {
    driver_id: tenant.driver.id,
    amount,
    counted_amount,
  });
  expect(answer).toSucceed(201);
  return answer.body.data.id as string;
}
const resolve = (tenant: Tenant, id: string, resolution: string, by = tenant.dispatcher) =>
  by.post(`${handovers}/${id}/resolve`, { resolution });
const all = (tenant: Tenant) => ({ scope: "all", driver_id: tenant.driver.id });
const handover = async (id: string) =>
  (await sql`select status, settlement_payment_id from money.cash_handovers where id = ${id}`)[0];
const noticesOf = async (tenant: Tenant) =>
  (await sql`select user_id, payload from tenancy.notifications
    where tenant_id = ${tenant.id} and type = 'cash_count_cancelled'`).map((row) => ({ ...row }));

/** A driver with 1,250 in hand and 2,000 in the wallet. */
async function newDriver() {
  const tenant = await newTenant();
  const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 2_000);
  const { id } = await newCash(tenant);
  return { tenant, wallet, id };
}

test("a number that was mistyped is taken from nobody", async () => {
  const { tenant, wallet } = await newDriver();
  const id = await counted(tenant, 12_500, 1_250);
  for (const way of ["driver_owes", "written_off"]) {
    const refused = await resolve(tenant, id, way);
    expect(refused).toFailWith(400, "invalid_resolution");
    expect(refused.body.message).toContain("less cash than was declared");
  }
  const answer = await tenant.admin.post(remit, all(tenant));
  expect(answer.body.data).toMatchObject({ total_remitted: 1_250, shortage: null });
  expect(await handover(id)).toEqual({
    status: "cancelled",
    settlement_payment_id: answer.body.data.settlement_payment_id,
  });
  expect(await noticesOf(tenant)).toEqual([{
    user_id: tenant.dispatcher.id,
    payload: {
      cash_handover_id: id,
      driver_id: tenant.driver.id,
      amount: 1_250,
      currency: "IQD",
    },
  }]);
  expect(await balanceOf(wallet)).toBe(2_000);
  await sound(tenant);
});

test.each(["counted", "driver_owes", "written_off"])(
  "cash that was %s and is settled from the wallet is paid once, and stands on no desk",
  async (how) => {
    const { tenant, wallet } = await newDriver();
    const id = await counted(tenant, 1_250, how === "counted" ? 1_250 : 1_000);
    if (how !== "counted") expect(await resolve(tenant, id, how)).toSucceed(200);
    expect(await tenant.driver.post(settle, { scope: "all" })).toSucceed(200);
    expect(await balanceOf(wallet)).toBe(750);
    expect((await handover(id))!.status).toBe("cancelled");
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
    expect(await noticesOf(tenant)).toHaveLength(1);
    await sound(tenant);
  },
);

test("a shortage leaves the desk of who receives the cash, and not of who counted it", async () => {
  const { tenant, id } = await newDriver();
  const other = await newPerson(tenant.id, "staff", "dispatcher");
  const short = await counted(tenant, 1_250, 1_000, other);
  expect(await resolve(tenant, short, "written_off", other)).toSucceed(200);
  expect(await tenant.dispatcher.post(remit, selected(id))).toSucceed(200);
  expect(await heldBy(tenant, other)).toBe(0);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(1_000);
  await sound(tenant);
});

test("an open shortage ends with a remittance of other rows beside it, and is not found again", async () => {
  const { tenant } = await newDriver();
  const short = await counted(tenant, 1_250, 1_000);
  await newCash(tenant);
  const first = await tenant.dispatcher.post(remit, all(tenant));
  expect(first.body.data).toMatchObject({ total_remitted: 2_500, shortage: null });
  expect((await handover(short))!.status).toBe("cancelled");
  await newCash(tenant);
  const second = await tenant.dispatcher.post(remit, all(tenant));
  expect(second.body.data).toMatchObject({ total_remitted: 1_250, shortage: null });
  await sound(tenant);
});

test("a count that the driver's cash still covers waits for its remittance", async () => {
  const { tenant, id } = await newDriver();
  const first = await counted(tenant, 1_250, 1_250);
  const { id: later } = await newCash(tenant, { cod: 0, fee: 700 });
  const second = await counted(tenant, 700, 600);
  expect(await tenant.driver.post(settle, selected(later))).toSucceed(200);
  expect([(await handover(first))!.status, (await handover(second))!.status])
    .toEqual(["counted", "cancelled"]);
  expect(await tenant.dispatcher.post(remit, selected(id))).toSucceed(200);
  expect((await handover(first))!.settlement_payment_id).not.toBeNull();
  await sound(tenant);
});

test("too much on a desk is given back whatever became of the rest", async () => {
  const { tenant } = await newDriver();
  const id = await counted(tenant, 1_250, 1_500);
  expect(await tenant.driver.post(settle, { scope: "all" })).toSucceed(200);
  expect((await handover(id))!.status).toBe("discrepancy");
  expect(await resolve(tenant, id, "returned")).toSucceed(200);
});

test("where a count is required, one whose cash is gone serves no later remittance", async () => {
  const { tenant } = await newDriver();
  await saveSettings(tenant.id, "delivery.cod", { require_handover: true });
  await counted(tenant, 1_250, 1_250);
  expect(await tenant.driver.post(settle, { scope: "all" })).toSucceed(200);
  await newCash(tenant);
  expect(await tenant.dispatcher.post(remit, all(tenant)))
    .toFailWith(409, "cash_handover_required");
});

test("remitted, reversed and settled from the wallet, what the driver owed is given back", async () => {
  const { tenant, wallet, id } = await newDriver();
  const short = await counted(tenant, 1_250, 1_000);
  expect(await resolve(tenant, short, "driver_owes")).toSucceed(200);
  expect(await balanceOf(wallet)).toBe(2_000);
  const { body } = await tenant.dispatcher.post(remit, selected(id));
  expect(body.data).toMatchObject({
    counted: 1_000,
    shortage: { amount: 250, discrepancy_id: short },
  });
  expect(await balanceOf(wallet)).toBe(1_750);
  expect(await accountOf(tenant, "driver_shortage", tenant.driver.id)).toBe(0);
  await sound(tenant);
  expect(await takeBack(tenant.dispatcher, body.data.settlement_payment_id)).toSucceed(200);
  expect(await balanceOf(wallet)).toBe(2_000);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
  await sound(tenant);
  expect(await tenant.driver.post(settle, selected(id))).toSucceed(200);
  expect(await balanceOf(wallet)).toBe(750);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
  await sound(tenant);
});

test("a wallet that was emptied meanwhile refuses the remittance until the cash is counted anew", async () => {
  const { tenant, wallet, id } = await newDriver();
  const short = await counted(tenant, 1_250, 1_000);
  expect(await resolve(tenant, short, "driver_owes")).toSucceed(200);
  expect(
    await tenant.admin.post(`/delivery/wallets/${wallet}/adjust`, {
      direction: "debit",
      amount: 1_900,
      reason: "Paid out",
    }, { headers: { "idempotency-key": crypto.randomUUID() } }),
  ).toSucceed();
  expect(await tenant.dispatcher.post(remit, selected(id)))
    .toFailWith(400, "insufficient_wallet_balance");
  expect(await tenant.dispatcher.post(`${handovers}/${short}/cancel`)).toSucceed(200);
  await counted(tenant, 1_250, 1_000);
  const { body } = await tenant.dispatcher.post(remit, selected(id));
  expect(body.data.shortage.amount).toBe(250);
  expect(await accountOf(tenant, "driver_shortage", tenant.driver.id)).toBe(250);
  await sound(tenant);
});

test("nobody owes more than their wallet holds", async () => {
  const tenant = await newTenant();
  await fundWallet(tenant, "driver", tenant.driver.id, 100);
  await newCash(tenant);
  const short = await counted(tenant, 1_250, 1_000);
  expect(await resolve(tenant, short, "driver_owes"))
    .toFailWith(400, "insufficient_wallet_balance");
  expect((await handover(short))!.status).toBe("discrepancy");
});

test.each(["remitted", "cancelled", "settled from the wallet"])(
  "a shortage that 1.6.0 booked when it was resolved is booked once when its cash is %s",
  async (how) => {
    const { tenant, wallet, id } = await newDriver();
    const short = await counted(tenant, 1_250, 1_000);
    expect(await resolve(tenant, short, "written_off")).toSucceed(200);
    await bookedEarly(tenant, short, tenant.dispatcher, 250);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(-250);
    await sound(tenant);
    if (how === "cancelled") {
      expect(await tenant.dispatcher.post(`${handovers}/${short}/cancel`)).toSucceed(200);
      expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
    } else if (how === "remitted") {
      const { body } = await tenant.dispatcher.post(remit, selected(id));
      expect(body.data).toMatchObject({ counted: 1_250, shortage: null });
      expect(await heldBy(tenant, tenant.dispatcher)).toBe(1_000);
      await sound(tenant);
      expect(await takeBack(tenant.dispatcher, body.data.settlement_payment_id)).toSucceed(200);
      expect(await heldBy(tenant, tenant.dispatcher)).toBe(-250);
    } else {
      expect(await tenant.driver.post(settle, selected(id))).toSucceed(200);
      expect(await balanceOf(wallet)).toBe(750);
      expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
    }
    await sound(tenant);
  },
);
