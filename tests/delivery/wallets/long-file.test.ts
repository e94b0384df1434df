/** The file of a wallet with more movements than one step of a file reads. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { checkBooks, fundWallet } from "../../support/money.ts";
import { newTenant } from "../../support/people.ts";

const many = 2_001;

test("has each movement once", async () => {
  const tenant = await newTenant();
  const { customer } = tenant;
  const wallet = await fundWallet(tenant, "customer", customer.id, 0);
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    const [{ external }] =
      await tx`select money.account_of('external', 'tenant', null, 'IQD') as external`;
    const entries = Array.from({ length: many }, (_, n) => {
      const journal = {
        journal: `n${n}`,
        kind: "wallet_adjustment",
        reference_type: "test",
        reference_id: randomUUID(),
      };
      return [
        { ...journal, account_id: wallet, amount: 1 },
        { ...journal, account_id: external, amount: -1 },
      ];
    });
    await tx`select money.post(${tx.json(entries.flat())})`;
  });
  const answer = await customer.get(`/delivery/wallets/${wallet}/transactions?format=csv`);
  expect(answer.status).toBe(200);
  const [head, ...lines] = new TextDecoder().decode(answer.body).trimEnd().split("\r\n");
  const id = head.replace("\ufeff", "").split(",").indexOf("id");
  expect(new Set(lines.map((line) => line.split(",")[id])).size).toBe(many);
  expect(lines).toHaveLength(many);
  await checkBooks(tenant);
});
