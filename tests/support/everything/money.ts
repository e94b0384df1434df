/** A row in every table of cash and settlements. */
import { randomUUID } from "node:crypto";
import type { Added, Adding } from "./rows.ts";

export async function addMoney({ tenant, tx, one, json, next, made }: Adding): Added {
  const settlement = await one("money.payments", {
    category: "DELIVERY",
    type: "COD_SETTLEMENT",
    status: "SUCCESS",
    payment_method: "cash",
    amount: 100,
    currency: "IQD",
    snapshot: json({
      method: "remit",
      scope: "selected",
      driver: { id: made.driver, full_name: "Driver" },
      receiver: { id: tenant.dispatcher.id, full_name: "Dispatcher" },
      settled_at: "2026-01-01T00:00:00Z",
      currency: "IQD",
      collections: [],
      totals: { count: 0, amount: 0, cod: 0, delivery_fee: 0 },
    }),
  });
  await one("money.cod_settlements", {
    payment_id: settlement,
    method: "remit",
    scope: "selected",
    driver_id: made.driver,
    actor_id: tenant.dispatcher.id,
    receiver_id: tenant.dispatcher.id,
    currency: "IQD",
    total: 100,
    cod_total: 90,
    fee_total: 10,
    collections: 1,
  }, "payment_id");
  await one("money.settlement_receipts", {
    payment_id: settlement,
    hash: "0".repeat(32),
    status: "failure",
  }, "payment_id");
  const collection = await one("money.cod_collections", {
    delivery_id: made.delivery,
    driver_id: made.driver,
    collection_stage: "dropoff",
    amount: 100,
    cod_amount: 90,
    delivery_fee_amount: 10,
    currency: "IQD",
    status: "remitted",
    remitted_at: new Date(),
    settlement_payment_id: settlement,
    delivery_code: next(),
    delivery_number: "1",
  });
  await one("money.cod_settlement_items", {
    payment_id: settlement,
    position: 1,
    cod_collection_id: collection,
    amount: 100,
    cod_amount: 90,
    delivery_fee_amount: 10,
    delivery_code: 1,
    delivery_number: "1",
  }, "position");
  // Its COD was held until it was remitted.
  const held = {
    account_id: made.wallet,
    reference_type: "cod_collection",
    reference_id: collection,
    release: "on_remit",
    due_at: new Date(0),
    // So late that lists say the same whenever they are read.
    counts_from: new Date("2099-01-01T00:00:00Z"),
  };
  await one("money.wallet_holds", { ...held, step: 1, amount: 90 });
  await one("money.wallet_holds", { ...held, step: 2, amount: -90 });
  const handover = await one("money.cash_handovers", {
    driver_id: made.driver,
    currency: "IQD",
    declared_amount: 100,
    declared_by: made.driver,
  });
  // The dispatcher has the settlement's cash, and brought some of it to the bank.
  await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
  const cash_refund = await one("money.payments", {
    category: "DELIVERY",
    type: "REFUND",
    payment_method: "cash",
    amount: 10,
    currency: "IQD",
    delivery_id: made.delivery,
  });
  const cash_transfer = await one("money.cash_transfers", {
    kind: "bank_deposit",
    from_owner_type: "staff",
    from_user_id: tenant.dispatcher.id,
    amount: 40,
    currency: "IQD",
    reference: "Slip 1",
    actor_id: tenant.dispatcher.id,
  });
  await tx`select money.post_journal(j.kind, j.type, j.id, null, array[j.giver, j.taker], array[-j.amount, j.amount])
    from (select money.account_of('external', 'tenant', null, 'IQD') as outside,
      money.account_of('driver_cash', 'driver', ${made.driver}, 'IQD') as driver,
      money.account_of('cash_on_hand', 'staff', ${tenant.dispatcher.id}, 'IQD') as desk) a
    cross join lateral (values
      ('cash_collected', 'cod_collection', ${collection}::uuid, a.outside, a.driver, 100::numeric),
      ('cod_settlement', 'payment', ${settlement}::uuid, a.driver, a.desk, 100),
      ('cash_transfer', 'cash_transfer', ${cash_transfer}::uuid, a.desk, a.outside, 40)) j (kind, type, id, giver, taker, amount)`;
  // The rest of it is on the desk.
  const part = {
    account_id:
      (await tx`select money.account_of('cash_on_hand', 'staff', ${tenant.dispatcher.id}, 'IQD') as id`)[
        0
      ].id,
    part_id: randomUUID(),
  };
  await one("money.desk_parts", {
    ...part,
    place: 1,
    reference_type: "cod_collection",
    reference_id: collection,
    brought_by: settlement,
    amount: 60,
  }, "part_id");
  await one("money.desk_part_moves", { ...part, amount: 100 });
  await one("money.desk_part_moves", { ...part, amount: -40 });
  // Earned and paid into the wallet.
  const driver_payout = await one("money.driver_payouts", {
    driver_id: made.driver,
    method: "wallet",
    amount: 5,
    currency: "IQD",
    accruals: 1,
    reference: "Week 1",
    actor_id: tenant.admin.id,
  });
  const driver_pay = await one("money.driver_pay", {
    delivery_id: made.delivery,
    driver_id: made.driver,
    mode: "per_delivery",
    base_amount: 5,
    delivery_fee: 10,
    amount: 5,
    currency: "IQD",
    status: "paid",
    paid_at: new Date(),
    payout_id: driver_payout,
    delivery_code: next(),
  });
  await one("money.driver_payout_items", {
    payout_id: driver_payout,
    driver_pay_id: driver_pay,
    amount: 5,
  }, "driver_pay_id");
  await tx`select money.post_journal(j.kind, j.kind, j.id, null, array[a.owed, j.other], array[j.amount, -j.amount])
    from (select money.account_of('driver_payable', 'driver', ${made.driver}, 'IQD') as owed) a
    cross join lateral (values
      ('driver_pay', ${driver_pay}::uuid, money.account_of('driver_cost', 'tenant', null, 'IQD'), 5::numeric),
      ('driver_payout', ${driver_payout}::uuid, money.account_of('wallet', 'driver', ${made.driver}, 'IQD'), -5)) j (kind, id, other, amount)`;
  // Stated and paid, and what the next statement looks at.
  const [{ account_id }] =
    await tx`select money.account_of('wallet', 'institution', ${made.institution}, 'IQD') as account_id`;
  const number = next();
  const merchant_statement = await one("money.merchant_statements", {
    number,
    account_id,
    owner_user_id: made.institution,
    currency: "IQD",
    period_from: new Date(0),
    period_to: new Date(),
    gross_cod: 90,
    fees: 0,
    refunds: 0,
    adjustments: 0,
    net: 90,
    lines: 1,
  });
  const merchant_payout = await one("money.merchant_payouts", {
    statement_id: merchant_statement,
    owner_user_id: made.institution,
    method: "bank",
    amount: 90,
    currency: "IQD",
    reference: "Transfer 1",
    actor_id: tenant.admin.id,
  });
  await tx`update money.merchant_statements set status = 'paid', payout_id = ${merchant_payout} where id = ${merchant_statement}`;
  await one("money.merchant_statement_lines", {
    statement_id: merchant_statement,
    position: 1,
    account_id,
    movement: 1,
    kind: "cod",
    amount: 90,
    delivery_id: made.delivery,
    delivery_code: next(),
    collected_at: new Date(0),
    released_at: new Date(),
  }, "position");
  await tx`update money.merchant_statements s set hash = money.statement_hash(s.id, s.tenant_id, s.number, s.owner_user_id, s.currency::text, s.net,
    array(select l from money.merchant_statement_lines l where l.statement_id = s.id)) where s.id = ${merchant_statement}`;
  await one("money.merchant_accounts", { account_id }, "account_id");
  await one("money.merchant_pending", { account_id, movement: 2 });
  await one("money.merchant_statement_numbers", { last: number }, "tenant_id");
  await one("money.merchant_cycles", { day: "2026-01-01" }, "tenant_id");
  await tx`select money.post_journal(j.kind, j.kind, ${merchant_payout}::uuid, null, array[${account_id}::uuid, a.outside], array[j.amount, -j.amount])
    from (select money.account_of('external', 'tenant', null, 'IQD') as outside) a
    cross join lateral (values ('wallet_adjustment', 90::numeric), ('merchant_payout', -90)) j (kind, amount)`;
  // Waiting for its gateway; and an event that fits no payment.
  // Their numbers are nobody else's in the whole database, and tests of other processes make theirs at the same time.
  const [{ gateway_number }] =
    await tx`select nextval('money.gateway_order_ids')::text as gateway_number`;
  const payment = await one("money.payments", {
    category: "WALLET",
    type: "WALLET_TOPUP",
    payment_method: "gateway",
    amount: 1000,
    currency: "IQD",
    account_id: made.wallet,
    gateway_code: "gatewayone",
    gateway_order_id: gateway_number,
  });
  await one("money.payment_gateways", {
    gateway_code: "gatewayone",
    settings: json({ terminal: "LOCAL001" }),
  });
  const webhook_event = await one("money.payment_webhook_events", {
    gateway_code: "razorpay",
    event_key: randomUUID(),
    event_type: "payment.captured",
    proof: "signature",
    facts: json({ kind: "paid" }),
    outcome: "unmatched",
    reason: "payment_unknown",
  });
  return {
    collection,
    settlement,
    handover,
    payment,
    webhook_event,
    cash_refund,
    cash_transfer,
    driver_payout,
    merchant_statement,
    cashier: tenant.dispatcher.id,
    desk: part.account_id,
    colleague: tenant.ops.id,
  };
}
