/** A company in which everything that moves the cash of desks happened, in a mixed order, some of it reversed. */
import { expect } from "vitest";
import type { Answer, Body } from "./api.ts";
import { carried, newSide, payCarried, type Side } from "./carriers.ts";
import { desks, key, reverse, transfer } from "./cash-desks.ts";
import { newCash, remit, selected } from "./cod.ts";
import { delivered, setPayouts } from "./cod-holds.ts";
import { sql } from "./db.ts";
import { assign, moves, newDelivery } from "./deliveries.ts";
import { brought, payOut, perDelivery, reverse as unpay, setRule } from "./driver-pay.ts";
import { opened, pay, reverse as unstate, reverseSettlement } from "./merchant-statements.ts";
import type { Tenant } from "./people.ts";
import { newWallet } from "./wallets.ts";

/** The data of an answer that succeeded. */
export const ok = (answer: Answer): Body => {
  expect([200, 201], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body.data;
};
const done = async (answer: Promise<Answer>): Promise<void> => void ok(await answer);

/** One act: the id that its journal refers to, and the call that reverses it. */
interface Made {
  id: string;
  undo: () => Promise<void>;
}

const moved = async (tenant: Tenant, body: Body): Promise<Made> => {
  const { id } = ok(await transfer(tenant.dispatcher, body));
  return { id, undo: () => done(reverse(tenant.admin, id)) };
};

/** Rows of cash are remitted to the dispatcher. */
async function remitted(tenant: Tenant, ...rows: string[]): Promise<Made> {
  const { settlement_payment_id: id } = ok(await tenant.dispatcher.post(remit, selected(...rows)));
  return { id, undo: () => done(reverseSettlement(tenant, rows[0])) };
}

async function refundPaid({ tenant, ground }: Side): Promise<Made> {
  const more = { payer_type: "sender", customer_id: null };
  const { id } = await newDelivery(ground, more);
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup", "depart");
  const { refund_due } = await moves(tenant.driver, id, "return");
  const call = `${desks}/refunds/${refund_due.id}/pay`;
  const paid = ok(await tenant.dispatcher.post(call, { reference: "R-17" }, key()));
  return { id: paid.id, undo: () => done(reverse(tenant.admin, paid.id)) };
}

/** Cash that is declared and counted as 400 less, remitted, and found in a second count: it cannot be reversed any more. */
async function found(tenant: Tenant): Promise<Made> {
  const { id } = await newCash(tenant, { cod: 0, fee: 1_000 });
  const counted = { driver_id: tenant.driver.id, amount: 1_000, counted_amount: 600 };
  const handover = ok(await tenant.dispatcher.post("/delivery/cod-collections/handover", counted));
  await remitted(tenant, id);
  const call = `/delivery/cod-collections/handovers/${handover.id}/resolve`;
  ok(
    await tenant.dispatcher.post(call, {
      resolution: "recounted",
      counted_amount: 1_000,
      notes: "Under the seat",
    }),
  );
  return { id: handover.id, undo: () => Promise.resolve() };
}

/** The kinds of movement, each with an act that makes one. */
const ways = (side: Side, wallet: string): Record<string, () => Promise<Made>> => {
  const { tenant } = side;
  return {
    remittance: async () => remitted(tenant, (await newCash(tenant, { cod: 0, fee: 3_000 })).id),
    carrier_remittance: async () => {
      await carried(side, 1_000);
      const { body } = await payCarried(tenant.admin, 3_000, { charges: 250 }, key().headers);
      const { id } = body.remittance;
      const call = `/carriers/tenant/simulated/remittances/${id}/reverse`;
      return {
        id,
        undo: () => done(tenant.admin.post(call, { reason: "Typed twice" }, key())),
      };
    },
    shortage: () => found(tenant),
    driver_payout: async () => {
      await brought(side.ground);
      const { payout } = ok(
        await payOut(tenant.dispatcher, { driver_id: tenant.driver.id }, key()),
      );
      return { id: payout.id, undo: () => done(unpay(tenant.admin, payout.id, "Twice", key())) };
    },
    merchant_payout: async () => {
      const [row] = await delivered(side.ground, [1_500]);
      await remitted(tenant, row);
      const statement = await opened(tenant);
      const paid = ok(await pay(tenant.dispatcher, statement.id, { method: "cash" }, key()));
      return {
        id: paid.statement.payout_id,
        undo: async () => {
          await done(unstate(tenant.admin, statement.id));
          ok(await tenant.ops.post(`/delivery/merchant-statements/${statement.id}/void`, {}));
        },
      };
    },
    bank_deposit: () => moved(tenant, { amount: 500, reference: "Slip 1" }),
    handover: () => moved(tenant, { kind: "handover", to_user_id: tenant.admin.id, amount: 300 }),
    refund: () => refundPaid(side),
    expense: () => moved(tenant, { kind: "expense", amount: 50, notes: "Fuel" }),
    bank_withdrawal: () => moved(tenant, { kind: "bank_withdrawal", amount: 700 }),
    wallet_deposit: () => moved(tenant, { kind: "wallet_deposit", wallet_id: wallet, amount: 90 }),
    wallet_payout: () =>
      moved(tenant, {
        kind: "wallet_payout",
        wallet_id: wallet,
        amount: 20,
        reference: "Receipt 5",
      }),
  };
};

/** Numbers that seem random and are the same each time. */
function shuffled<T>(values: readonly T[], seed: number): T[] {
  let state = seed;
  const next = () => (state = (state * 48_271) % 2_147_483_647);
  return values.map((value) => ({ value, place: next() })).sort((a, b) => a.place - b.place)
    .map(({ value }) => value);
}

export interface Mixture {
  side: Side;
  /** Every act by the id that its movements refer to. */
  made: Map<string, { kind: string; reversed: boolean }>;
  kinds: string[];
}

/** Each kind of movement at least twice, and all but the first reversed; what was counted again never is. */
export async function mixture(): Promise<Mixture> {
  const side = await newSide();
  const { tenant } = side;
  await setPayouts(tenant, { release: "on_remit" });
  await setRule(tenant, perDelivery(500));
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}' where id = ${side.ground.service}`;
  const wallet = await newWallet(tenant, tenant.institution, "institution");
  const made: Mixture["made"] = new Map();
  const first = await remitted(tenant, (await newCash(tenant, { cod: 0, fee: 9_000 })).id);
  made.set(first.id, { kind: "remittance", reversed: false });
  ok(await transfer(tenant.dispatcher, { kind: "wallet_deposit", wallet_id: wallet, amount: 200 }));
  const acts = ways(side, wallet);
  const kinds = Object.keys(acts);
  for (const kind of shuffled([...kinds, ...kinds], 7)) {
    const { id, undo } = await acts[kind]();
    const again = [...made.values()].some((one) => one.kind === kind);
    const reversed = kind !== "shortage" && again;
    if (reversed) await undo();
    made.set(id, { kind, reversed });
  }
  return { side, made, kinds };
}
