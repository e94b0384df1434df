/** Secrets that a key of before sealed are sealed anew with the first one, and the key of before can go. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { sealAnew as SealAnew } from "../../../functions/payment/settings/seal-anew.ts";
import type * as Secrets from "../../../shared/outbound/secrets.ts";
import {
  credentialsPurpose,
  gatewayPurpose,
  secretPurpose,
  webhookPurpose,
} from "../../../shared/outbound/purposes.ts";
import { secretsKey } from "../../../supabase/local/keys.ts";
import { nobody } from "../../support/api.ts";
import { sql, stack } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { until } from "../../support/receiver.ts";

const keyBefore = randomBytes(32).toString("base64");
let before: typeof Secrets;
let now: typeof Secrets;
let sealAnew: typeof SealAnew;

beforeAll(async () => {
  const { host, pathname } = new URL(stack.dbUrl);
  vi.stubEnv("BARID_DB_URL", `postgresql://barid_api:barid-local@${host}${pathname}`);
  before = await withKeys(keyBefore);
  now = await withKeys(`${secretsKey},${keyBefore}`);
  ({ sealAnew } = await import("../../../functions/payment/settings/seal-anew.ts"));
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

/** The keys are read when the module is. */
async function withKeys(keys: string): Promise<typeof Secrets> {
  vi.resetModules();
  vi.stubEnv("BARID_SECRETS_KEY", keys);
  return await import("../../../shared/outbound/secrets.ts");
}

test("of webhooks, carriers and gateways; each opens to what it was, for what it was sealed", async () => {
  const tenant = await newTenant();
  const [webhook, gateway] = [randomUUID(), gatewayPurpose(tenant.id, "razorpay")];
  const { seal, printOf } = before;
  await newWebhook(tenant, webhook, {
    secret: await seal("signs", secretPurpose(webhook)),
    previous_secret: [
      await seal("signed", secretPurpose(webhook)),
      await now.seal("signed before", secretPurpose(webhook)),
    ].join(" "),
  });
  await sql`insert into integration.tenant_carriers ${
    sql({
      tenant_id: tenant.id,
      carrier_code: "simulated",
      credentials: await seal('{"login":"shop"}', credentialsPurpose("simulated")),
      webhook_secret: await seal("reports", webhookPurpose("simulated")),
    })
  }`;
  await sql`insert into money.payment_gateways ${
    sql({
      tenant_id: tenant.id,
      gateway_code: "razorpay",
      secrets: sql.json({
        key_secret: await seal("pays", gateway),
        webhook_secret: await seal("notices", gateway),
      }),
      webhook_secret_print: printOf("notices"),
      previous_webhook_secret: await seal("noticed", gateway),
      previous_accounts: sql.json({
        acc_1: { settings: {}, secrets: { key_secret: await seal("paid", gateway) } },
      }),
    })
  }`;
  expect(await keysOf(tenant)).toEqual({ [before.firstKey()]: 8, [now.firstKey()]: 1 });
  await sealAnew();
  expect(await keysOf(tenant)).toEqual({ [now.firstKey()]: 9 });

  const onlyNow = await withKeys(secretsKey);
  const [w] = await sql`select secret, previous_secret from integration.webhook_subscriptions
    where id = ${webhook}`;
  expect(await onlyNow.unseal(w.secret, secretPurpose(webhook))).toBe("signs");
  const [signed, signedBefore] = w.previous_secret.split(" ");
  expect(await onlyNow.unseal(signed, secretPurpose(webhook))).toBe("signed");
  expect(await onlyNow.unseal(signedBefore, secretPurpose(webhook))).toBe("signed before");
  const [c] = await sql`select credentials, webhook_secret from integration.tenant_carriers
    where tenant_id = ${tenant.id}`;
  expect(await onlyNow.unseal(c.credentials, credentialsPurpose("simulated")))
    .toBe('{"login":"shop"}');
  expect(await onlyNow.unseal(c.webhook_secret, webhookPurpose("simulated"))).toBe("reports");
  const [g] = await sql`select * from money.payment_gateways where tenant_id = ${tenant.id}`;
  expect(await onlyNow.unseal(g.secrets.key_secret, gateway)).toBe("pays");
  expect(await onlyNow.unseal(g.secrets.webhook_secret, gateway)).toBe("notices");
  expect(g.webhook_secret_print).toBe(onlyNow.printOf("notices"));
  expect(await onlyNow.unseal(g.previous_webhook_secret, gateway)).toBe("noticed");
  expect(await onlyNow.unseal(g.previous_accounts.acc_1.secrets.key_secret, gateway)).toBe("paid");
});

test("that cannot be opened stay as they are, and hold up no other", async () => {
  const tenant = await newTenant();
  const strange = await withKeys(randomBytes(32).toString("base64"));
  const ids = [randomUUID(), randomUUID(), randomUUID()].sort();
  const sealed = [
    await before.seal("first", secretPurpose(ids[0]!)),
    await strange.seal("nobody's", secretPurpose(ids[1]!)),
    await before.seal("last", secretPurpose(ids[2]!)),
  ];
  const tenants = [tenant, await newTenant(), await newTenant()];
  for (const [at, id] of ids.entries()) {
    await newWebhook(tenants[at]!, id, { secret: sealed[at]! });
  }
  await sealAnew();
  const rows = await sql`select secret from integration.webhook_subscriptions
    where id = any (${ids}) order by id`;
  expect(await now.unseal(rows[0]!.secret, secretPurpose(ids[0]!))).toBe("first");
  expect(rows[1]!.secret).toBe(sealed[1]);
  expect(rows[2]!.secret).toContain(`s1.${now.firstKey()}.`);
});

test("that were changed meanwhile stay as they became", async () => {
  const tenant = await newTenant();
  const id = randomUUID();
  const secret = await now.seal("newer", secretPurpose(id));
  await newWebhook(tenant, id, { secret });
  const [{ done }] = await sql`
    select integration.sealed_replace('webhook', ${id}, 's1.00000000.older', 's1.11111111.x', null) as done`;
  expect(done).toBe(false);
  const [row] = await sql`select secret from integration.webhook_subscriptions where id = ${id}`;
  expect(row.secret).toBe(secret);
});

test("by a job of the function payment, of which one waits at a time", async () => {
  await newWebhook(await newTenant(), randomUUID(), { secret: "s1.00000000.none" });
  const [{ added }] = await sql`select integration.secrets_seal_anew() as added`;
  expect([0n, 1n]).toContain(added);
  const [{ again }] = await sql`select integration.secrets_seal_anew() as again`;
  expect(again).toBe(0n);
  const asked = await nobody.post("/payment/internal/jobs", {}, {
    headers: { apikey: stack.secretKey },
  });
  expect(asked).toSucceed(200);
  await until(async () =>
    (await sql`select from app.jobs where kind = 'payment.seal_anew' and status <> 'done'`)
      .length === 0
  );
});

async function newWebhook(
  tenant: Tenant,
  id: string,
  { secret, previous_secret: previous = null }: { secret: string; previous_secret?: string | null },
): Promise<void> {
  await sql`insert into integration.webhook_subscriptions
      (id, tenant_id, module_id, url, event_types, secret, previous_secret, previous_secret_until)
    select ${id}, ${tenant.id}, m.id, 'https://hooks.example', '{*}', ${secret}, ${previous}, now() + interval '1 day'
    from tenancy.modules m limit 1`;
}

/** How many secrets of the tenant are sealed with which key. */
async function keysOf(tenant: Tenant): Promise<Record<string, number>> {
  const rows = await sql`select split_part(sealed, '.', 2) as key, count(*)::int as count
    from integration.sealed_texts() where tenant_id = ${tenant.id} group by 1`;
  return Object.fromEntries(rows.map(({ key, count }) => [key, count]));
}
