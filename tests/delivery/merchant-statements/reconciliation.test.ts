/** The reconciliation compares statements with wallets, holds and payouts, and names what differs. */
import { expect, test } from "vitest";
import { remit, selected } from "../../support/cod.ts";
import { delivered, lawless } from "../../support/cod-holds.ts";
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
import type { Tenant } from "../../support/people.ts";

const path = "/delivery/cod-reconciliation";

interface Made {
  tenant: Tenant;
  /** A statement that is paid, its payout, and one that is open. */
  paid: string;
  payout: string;
  open: string;
  /** The customer's wallet. */
  wallet: string;
}

/** A company with a statement that is paid in cash, one that is open, one that is void, and COD that is held. */
async function newMade(): Promise<Made> {
  const { ground, tenant } = await newMerchant([7_000, 5_000], { keep: 500 });
  const paid = await opened(tenant);
  const answer = await pay(tenant.dispatcher, paid.id, { method: "cash" });
  await broughtIn(ground, [3_000]);
  expect(await cancel(tenant.admin, (await opened(tenant)).id)).toSucceed(200);
  const open = await opened(tenant);
  await delivered(ground, [900]);
  const [{ account_id: wallet }] =
    await sql`select account_id from money.merchant_statements where id = ${open.id}`;
  await sound(tenant);
  return {
    tenant,
    paid: paid.id,
    payout: answer.body.data.statement.payout_id,
    open: open.id,
    wallet,
  };
}

test.each<
  [string, string, (made: Made) => Promise<unknown>, "paid" | "payout" | "open" | "wallet" | null]
>([
  [
    "what a wallet held before there were statements is another amount",
    "statement_balance",
    ({ wallet }) =>
      lawless((tx) =>
        tx`update money.merchant_accounts set opening = 100 where account_id = ${wallet}`
      ),
    "wallet",
  ],
  [
    "a line that is gone",
    "statement_lines",
    ({ open }) =>
      lawless((tx) =>
        tx`delete from money.merchant_statement_lines where statement_id = ${open} and position = 1`
      ),
    "open",
  ],
  [
    "a line of another amount",
    "stated_movement",
    ({ paid }) =>
      lawless((tx) =>
        tx`update money.merchant_statement_lines set amount = amount - 1 where statement_id = ${paid} and position = 1`
      ),
    null,
  ],
  [
    "a line of no movement",
    "stated_movement",
    ({ paid }) =>
      lawless((tx) =>
        tx`update money.merchant_statement_lines set movement = 999 where statement_id = ${paid} and position = 1`
      ),
    "wallet",
  ],
  [
    "a movement that two statements say",
    "stated_movement",
    ({ paid, open }) =>
      lawless((tx) =>
        tx`update money.merchant_statement_lines set movement = (
            select movement from money.merchant_statement_lines where statement_id = ${paid} and position = 1)
          where statement_id = ${open} and position = 1`
      ),
    null,
  ],
  [
    "a movement that no statement will look at",
    "unstated_movement",
    ({ wallet }) =>
      lawless(async (tx) => {
        await tx`update money.merchant_accounts set looked_to = 99 where account_id = ${wallet}`;
        await tx`delete from money.merchant_pending where account_id = ${wallet}`;
        await tx`update money.wallet_holds set counts_from = created_at where account_id = ${wallet}`;
        await tx`delete from money.merchant_statement_lines where statement_id = (
          select id from money.merchant_statements where account_id = ${wallet} and status = 'open') and kind = 'cod'`;
      }),
    null,
  ],
  [
    "an open statement of another net than its lines",
    "stated_balance",
    ({ open }) =>
      lawless((tx) =>
        tx`update money.merchant_statements set net = net + 1, gross_cod = gross_cod + 1 where id = ${open}`
      ),
    "wallet",
  ],
  [
    "a payout of another amount",
    "statement_payout",
    ({ payout }) =>
      lawless((tx) =>
        tx`update money.merchant_payouts set amount = amount + 1 where id = ${payout}`
      ),
    "paid",
  ],
  [
    "a paid statement without its payout",
    "statement_payout",
    ({ payout }) => lawless((tx) => tx`delete from money.merchant_payouts where id = ${payout}`),
    "paid",
  ],
  [
    "an open statement with a payout",
    "statement_payout",
    ({ paid }) =>
      lawless((tx) =>
        tx`update money.merchant_statements set status = 'open', payout_id = null where id = ${paid}`
      ),
    "paid",
  ],
  [
    "a payout that left the desk alone",
    "payout_journal",
    ({ payout }) =>
      lawless((tx) =>
        // The books themselves stay right: they are looked at whole by other tests.
        tx`update money.ledger_transactions set reference_id = gen_random_uuid()
          where kind = 'merchant_payout_cash' and reference_id = ${payout}`
      ),
    "payout",
  ],
  [
    "a payout in cash that says it came from the bank",
    "payout_journal",
    ({ payout }) =>
      lawless((tx) => tx`update money.merchant_payouts set method = 'bank' where id = ${payout}`),
    "payout",
  ],
  [
    "a number that was left out",
    "statement_number",
    ({ open }) =>
      lawless((tx) =>
        tx`update money.merchant_statements set number = number + 1 where id = ${open}`
      ),
    null,
  ],
])("names %s", async (_what, kind, harm, named) => {
  const made = await newMade();
  const { tenant } = made;
  await harm(made);
  const { body } = await tenant.admin.get(path);
  expect(body.reconciled).toBe(false);
  const found = body.differences.filter((one: { kind: string }) => one.kind === kind);
  expect(found).toHaveLength(1);
  if (named) expect(found[0].rows).toEqual([made[named]]);
  if (kind !== "statement_number") expect(found[0].user_id).toBe(tenant.customer.id);
  await sql`select money.cod_reconcile_all(${tenant.id})`;
  const [event] = await sql`select event_data from integration.system_events
    where tenant_id = ${tenant.id} and event_type = 'cod.mismatch'`;
  expect(event.event_data.differences.map((one: { kind: string }) => one.kind)).toContain(kind);
});

test("lines, what is held and what is unstated are the balance and what was paid, at any moment", async () => {
  const { ground, tenant, rows } = await newMerchant([7_000, 5_000], { keep: 500 });
  const at = async (as_of?: string) => {
    const { body } = await tenant.dispatcher.get(path, { query: { as_of } });
    expect(body.differences).toEqual([]);
    return body.statements.map((
      { lines, held, unstated, balance, paid, open }: Record<string, number>,
    ) => [lines, held, unstated, balance, paid, open]);
  };
  const steps: [() => Promise<unknown>, number[][]][] = [];
  let id = "";
  const first = async () => id = (await opened(tenant)).id;
  steps.push([first, [[11_500, 0, 500, 12_000, 0, 11_500]]]);
  steps.push([() => pay(tenant.dispatcher, id, { method: "cash" }), [[
    11_500,
    0,
    500,
    500,
    11_500,
    0,
  ]]]);
  steps.push([() => delivered(ground, [900]), [[11_500, 900, 500, 1_400, 11_500, 0]]]);
  steps.push([() => reverse(tenant.dispatcher, id), [[11_500, 900, 500, 12_900, 0, 11_500]]]);
  steps.push([() => cancel(tenant.ops, id), [[0, 900, 12_000, 12_900, 0, 0]]]);
  // Both rows were remitted in one settlement: they are held again.
  steps.push([() => reverseSettlement(tenant, rows[0]!), [[0, 12_900, 0, 12_900, 0, 0]]]);
  steps.push([() => tenant.dispatcher.post(remit, selected(...rows)), [[
    0,
    900,
    12_000,
    12_900,
    0,
    0,
  ]]]);
  const moments: string[] = [];
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
  for (const [step, expected] of steps) {
    await step();
    expect(await at()).toEqual(expected);
    await pause();
    moments.push(new Date().toISOString());
    await pause();
  }
  for (const [n, [, expected]] of steps.entries()) expect(await at(moments[n])).toEqual(expected);
  await sound(tenant);
});

test("each part is a file of its own; that of the drivers unless said", async () => {
  const { tenant } = await newMerchant([7_000]);
  await opened(tenant);
  const file = async (part?: string) => {
    const answer = await tenant.dispatcher.get(`${path}/export`, { query: { part } });
    expect(answer.status).toBe(200);
    return new TextDecoder().decode(answer.body).trim().split(/\r?\n/);
  };
  const [head, ...lines] = await file("statements");
  expect(head).toBe("wallet_id,user_id,user_name,currency,lines,held,unstated,balance,paid,open");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/,IQD,7000,0,0,7000,0,7000$/);
  expect(await file()).toEqual(await file("drivers"));
  expect((await file("held"))[0]).toContain("waiting");
  const wrong = await tenant.dispatcher.get(`${path}/export`, { query: { part: "wallets" } });
  expect(wrong).toFailWith(400, "validation_failed");
  expect(wrong.body.field).toBe("part");
});
