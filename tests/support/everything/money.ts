/** A row in every table of cash and settlements. */
import type { Added, Adding } from "./rows.ts";

export async function addMoney({ tenant, one, json, next, made }: Adding): Added {
  const settlement = await one("money.payments", {
    category: "DELIVERY",
    type: "COD_SETTLEMENT",
    status: "SUCCESS",
    payment_method: "cash",
    amount: 100,
    currency: "IQD",
    snapshot: json({}),
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
  const handover = await one("money.cash_handovers", {
    driver_id: made.driver,
    currency: "IQD",
    declared_amount: 100,
    declared_by: made.driver,
  });
  return { collection, settlement, handover };
}
