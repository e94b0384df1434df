/** A row in every table of cash and settlements. */
import type { Added, Adding } from "./rows.ts";

export async function addMoney({ one, next, made }: Adding): Added {
  const collection = await one("money.cod_collections", {
    delivery_id: made.delivery,
    driver_id: made.driver,
    collection_stage: "dropoff",
    amount: 100,
    cod_amount: 90,
    delivery_fee_amount: 10,
    currency: "IQD",
    delivery_code: next(),
    delivery_number: "1",
  });
  return { collection };
}
