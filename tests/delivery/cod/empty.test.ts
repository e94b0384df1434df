/** Fields that forms and grids leave empty: no reference, and open ranges. */
import { beforeAll, expect, test } from "vitest";
import { newCash, remit, selected, settle } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { fundWallet } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { key } from "../../support/wallets.ts";

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
  await fundWallet(tenant, "driver", tenant.driver.id, 5000);
});

test.each([[remit, ""], [remit, "  "], [settle, ""]])(
  "%s with the reference %j has none, and its key means the same without it",
  async (path, reference) => {
    const { id } = await newCash(tenant);
    const once = key();
    const answer = await tenant.dispatcher.post(path, { ...selected(id), reference }, once);
    expect(answer).toSucceed(200);
    const again = await tenant.dispatcher.post(path, selected(id), once);
    expect(again.body).toEqual(answer.body);
    const [row] = await sql`select s.reference, p.reference as paid, p.snapshot
      from money.cod_settlements s join money.payments p on p.id = s.payment_id
      where s.payment_id = ${answer.body.data.settlement_payment_id}`;
    expect(row).toMatchObject({ reference: null, paid: null, snapshot: { reference: null } });
  },
);

test.each([{}, { min: "", max: "" }, { min: null, max: null }])(
  "a range %j is no filter, so the direct parameters of its field hold",
  async (amount) => {
    const big = await newCash(tenant, { cod: 90_000, fee: 0 });
    const { body } = await tenant.dispatcher.get("/delivery/cod-collections", {
      query: { amount_min: 90_000, column_filters: { amount } },
    });
    const found = body.cod.collections.map(({ amount }: { amount: number }) => amount);
    expect(found).toContain(90_000);
    expect(new Set(found)).toEqual(new Set([90_000]));
    expect(body.cod.pagination.total).toBe(found.length);
    await tenant.dispatcher.post(remit, selected(big.id));
  },
);
