/** Payouts of statements that are reversed. */
import { describe, expect, test } from "vitest";
import { heldBy } from "../../support/cash-desks.ts";
import { sql } from "../../support/db.ts";
import {
  confirm,
  newMerchant,
  open,
  opened,
  pay,
  reverse,
  shownOf,
  sound,
  statementPath,
} from "../../support/merchant-statements.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";

describe("a payout is reversed", () => {
  test("by its mirror: open again, the wallet and the desk have it back", async () => {
    const { tenant } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    expect((await reverse(tenant.ops, id)).body).toMatchObject({
      code: "statement_not_paid",
      from: "open",
    });
    const before = await heldBy(tenant, tenant.dispatcher);
    expect(await pay(tenant.dispatcher, id, { method: "cash" })).toSucceed(200);
    expect(await reverse(tenant.ops, id)).toFailWith(403, "forbidden");
    const answer = await reverse(tenant.dispatcher, id);
    expect(answer).toSucceed(200);
    expect(answer.body.data.statement).toMatchObject({
      status: "open",
      payout_id: null,
      payout: null,
    });
    expect(await shownOf(tenant.customer)).toEqual([7_000, 0, 7_000, 0]);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(before);
    expect(
      await sql`select reversed_by, reversal_reason from money.merchant_payouts where statement_id = ${id}`,
    ).toEqual([{ reversed_by: tenant.dispatcher.id, reversal_reason: "Typed twice" }]);
    const { wallet } = (await tenant.customer.get("/delivery/wallets/me")).body;
    const moved = await tenant.customer.get(`/delivery/wallets/${wallet.id}/transactions`);
    expect(moved.body.data[0]).toMatchObject({
      kind: "merchant_payout_REVERSAL",
      description: "Statement MS-000001: Typed twice",
    });
    expect(await open(tenant)).toFailWith(409, "statement_below_minimum");
    await sound(tenant);
    expect(await pay(tenant.ops, id)).toSucceed(200);
    expect(await reverse(tenant.dispatcher, id)).toFailWith(403, "forbidden");
    expect(await confirm(tenant.customer, id)).toSucceed(200);
    expect(await reverse(tenant.ops, id)).toFailWith(403, "forbidden");
    expect((await reverse(tenant.admin, id)).body.data.statement.confirmed_at).toBeNull();
    await sound(tenant);
  });

  test("with a reason, by the office alone", async () => {
    const { tenant } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    expect(await pay(tenant.ops, id)).toSucceed(200);
    const call = { method: "POST", path: `${statementPath}/${id}/reverse` } as const;
    await expectRefused(tenant.ops, call, [[{}, "reason"], [{ reason: "" }, "reason"]]);
    await expectGuarded({ ...call, body: { reason: "No" } }, {
      denied: [tenant.driver, tenant.customer, tenant.warehouse],
    });
    await expectReplayed(tenant.ops, call.path, { reason: "Wrong account" }, { reason: "Other" });
    await sound(tenant);
  });
});
