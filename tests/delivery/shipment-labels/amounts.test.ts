import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newDelivery } from "../../support/deliveries.ts";
import { newTenant } from "../../support/people.ts";
import { newYard } from "../../support/packages.ts";
import { openPdf } from "../../support/pdf.ts";

test.each([
  ["USD", undefined, 1234.5, "1,234.50 USD", 3, "3.00"],
  ["IQD", undefined, 25_000, "25,000 IQD", 1_500, "1,500"],
  ["KWD", undefined, 0.25, "0.250 KWD", 1.5, "1.500"],
  // A company may round to other decimals than its currency has.
  ["USD", 0, 12, "12 USD", 3, "3"],
])(
  "a label in %s (decimals: %s) shows amounts as receipts do",
  async (currency_code, decimals, cod, shown, fee, feeShown) => {
    const tenant = await newTenant({
      settings: { "general.currency": { currency_code, ...(decimals === 0 ? { decimals } : {}) } },
    });
    const { id, delivery_code } = await newDelivery(await newYard(tenant));
    await sql`update delivery.deliveries set cod_amount = ${cod}, delivery_fee = ${fee} where id = ${id}`;
    const answer = await tenant.dispatcher.post("/delivery/shipment-labels", {
      delivery_codes: [delivery_code],
    });
    expect(answer.status).toBe(200);
    const text = await (await openPdf(answer.body)).text(1);
    expect(text).toContain(shown);
    expect(text).toContain(` ${feeShown}`);
    expect(text).not.toContain(`${feeShown}.`);
  },
);
