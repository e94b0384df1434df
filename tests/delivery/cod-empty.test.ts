/** What forms leave empty when cash is settled: a reference that nobody wrote. */
import { beforeAll, expect, test } from "vitest";
import { newCash, remit, selected, settle } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { fundWallet } from "../support/money.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import { key } from "../support/wallets.ts";

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
