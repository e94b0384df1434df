/** The traces of a refusal in the database's log, which records the statement of every error. */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { sql, stack } from "../support/db.ts";
import { newTenant, type Tenant } from "../support/people.ts";

let tenant: Tenant;
beforeAll(async () => void (tenant = await newTenant()));

/** The log of PostgreSQL with what its statements hold in base64 beside it. */
function databaseLog(): string {
  const text = readFileSync(stack.postgresLog, "utf8");
  const sent = [...text.matchAll(/decode\('([A-Za-z0-9+/=]+)'/g)];
  return [text, ...sent.map(([, base64]) => Buffer.from(base64, "base64").toString("utf8"))]
    .join("\n");
}

test("the caller's input is not logged for a refusal; an error of ours is logged", async () => {
  const secret = `Confidential-${randomUUID()}`;
  // A core: the addresses of the delivery are nobody's.
  const byCore = await tenant.ops.post("/delivery/deliveries", {
    pickup_address_id: randomUUID(),
    dropoff_address_id: randomUUID(),
    notes: secret,
    recipient: { name: secret, phone: "07701234567" },
  });
  expect(byCore.status, JSON.stringify(byCore.body)).toBeGreaterThanOrEqual(400);
  expect(byCore.status).toBeLessThan(500);

  // A constraint that is named after its error.
  const code = `C${randomUUID().slice(0, 8)}`.toUpperCase();
  const warehouse = () =>
    tenant.ops.post("/warehousing/warehouses", { name: secret, code, type: "standard" });
  await warehouse();
  expect((await warehouse()).status).toBeGreaterThanOrEqual(400);

  // The access rule, and the database itself.
  const byRule = await tenant.customer.post("/delivery/services", { name: { en: secret } });
  expect(byRule.status, JSON.stringify(byRule.body)).toBeLessThan(500);
  const byType = await tenant.admin.put(`/tenants/${tenant.id}`, {
    metadata: { note: `${secret}\u0000` },
  });
  expect(byType).toFailWith(400, "validation_failed");

  expect(databaseLog()).not.toContain(secret);

  const fault = `no_such_table_${randomUUID().replaceAll("-", "")}`;
  await expect(sql.unsafe(`select * from ${fault}`)).rejects.toThrow(fault);
  await expect.poll(databaseLog).toContain(fault);
});
