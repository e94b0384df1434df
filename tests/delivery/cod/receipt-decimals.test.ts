/** The amounts on a receipt have the decimals that the company rounds to. */
import { expect, test } from "vitest";
import { newCash, remit, selected } from "../../support/cod.ts";
import "../../support/expect.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { openPdf } from "../../support/pdf.ts";

/** The text of the receipt of a settlement, once it is printed. */
async function receiptOf({ dispatcher }: Tenant, payment: string): Promise<string> {
  for (let tries = 0; tries < 400; tries++) {
    const { status, body } = await dispatcher.get(`/delivery/cod-settlements/${payment}/receipt`);
    if (status === 200) {
      const file = await (await fetch(body.url)).arrayBuffer();
      return await (await openPdf(new Uint8Array(file))).text(1);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the receipt was never printed");
}

test.each([
  [{ decimals: 2 }, "IQD", 1235.5, " 1,235.50 "],
  [{ currency_code: "KWD" }, "KWD", 12.3, " 12.300 "],
  [{ currency_code: "USD", decimals: 0 }, "USD", 35, " 35 "],
])("of %j", async (chosen, currency, fee, shown) => {
  const tenant = await newTenant({ settings: { "general.currency": chosen } });
  const { id } = await newCash(tenant, { cod: 0, fee, currency });
  const settled = await tenant.dispatcher.in("en").post(remit, selected(id));
  expect(settled).toSucceed(200);
  const text = await receiptOf(tenant, settled.body.data.settlement_payment_id);
  expect(text).toContain(shown);
});
