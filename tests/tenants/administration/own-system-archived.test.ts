/** Schedules leave an archived company as it is: after a move it works in another project, which announces the same. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newGround } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { setCycle } from "../../support/merchant-cycle.ts";
import { newShop, placeOrder } from "../../support/orders.ts";
import { failed, onItsWay, report } from "../../support/outcomes.ts";
import { moveToOwnStack } from "../../support/move-to-own-stack.ts";
import { newSystemAdmin, newTenant } from "../../support/people.ts";

// Of its own: schedules are for every company, and nobody else may call them here.
let leave = () => Promise.resolve();
beforeAll(async () => {
  ({ leave } = await moveToOwnStack({ workers: 1 }));
}, 120_000);
afterAll(() => leave());

const schedules = [
  "money.statement_cycles_sweep()",
  "delivery.postponed_resume()",
  "delivery.postponed_notify()",
  "delivery.manifests_complete()",
  "storefront.orders_complete()",
  "tenancy.api_keys_warn()",
  "money.cod_reconcile_all()",
  "warehousing.report_stock()",
  "storefront.domains_recheck()",
];

test.each(["active", "archived"])("of a company that is %s", async (status) => {
  const { tenant, ...shop } = await newShop({ auto: false });
  const { id: order } = await placeOrder({ tenant, ...shop });
  const at = `/storefront/orders/${order}`;
  for (const step of ["approve", "ship", "deliver"]) {
    expect(await tenant.admin.put(`${at}/${step}`)).toSucceed(200);
  }
  await sql`update storefront.storefront_orders set delivered_at = now() - interval '15 days'
    where id = ${order}`;
  const parcel = await onItsWay(await newGround(tenant));
  expect(await report(tenant.driver, parcel, failed)).toSucceed(200);
  await sql`update delivery.deliveries set postponed_to = current_date - 1,
    overnight_notice_at = now() - interval '1 hour' where id = ${parcel}`;
  await setCycle(tenant, { cycle: "daily" });
  await sql`update money.merchant_cycles set begun_at = now() - interval '3 days', day = null
    where tenant_id = ${tenant.id}`;
  await sql`insert into tenancy.api_keys (tenant_id, name, key_hash, scopes, created_by, expires_at)
    values (${tenant.id}, 'Shop', sha256(convert_to(${tenant.id}, 'UTF8')), '{view:tenant}', ${tenant.admin.id},
      now() + interval '5 days')`;
  // Differences that nobody has mended, and a domain whose records wait.
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update warehousing.stock set quantity = quantity + 1 where tenant_id = ${tenant.id}`;
  });
  await sql`insert into storefront.custom_domains (tenant_id, market_id, custom_domain, dns_records)
    select tenant_id, id, ${`${crypto.randomUUID()}.example`}, '[]' from storefront.markets
    where tenant_id = ${tenant.id}`;
  if (status === "archived") {
    const admin = await newSystemAdmin();
    expect(await admin.post(`/tenants/${tenant.id}/archive`)).toSucceed(200);
  }
  const [{ last }] = await sql`select coalesce(max(id), 0) as last from app.audit_log`;
  for (const schedule of schedules) await sql.unsafe(`select ${schedule}`);
  const changed = await sql`select distinct entity from app.audit_log
    where tenant_id = ${tenant.id} and id > ${last} order by 1`;
  const jobs = await sql`select kind from app.jobs
    where tenant_id = ${tenant.id} and kind = 'delivery.merchant_statements'`;
  expect(changed.map(({ entity }) => entity), JSON.stringify(changed)).toEqual(
    status === "archived" ? [] : expect.arrayContaining([
      "delivery.deliveries",
      "storefront.storefront_orders",
    ]),
  );
  expect(jobs).toHaveLength(status === "archived" ? 0 : 1);
  const announced = await sql`select from integration.system_events
    where tenant_id = ${tenant.id} and event_type = 'api_key.expiring'`;
  expect(announced).toHaveLength(status === "archived" ? 0 : 1);
  const differences = await sql`select from integration.system_events
    where tenant_id = ${tenant.id} and event_type = 'stock.mismatch'`;
  expect(differences).toHaveLength(status === "archived" ? 0 : 1);
  const lookUps = await sql`select from app.jobs
    where tenant_id = ${tenant.id} and kind = 'storefront.verify_domain'`;
  expect(lookUps).toHaveLength(status === "archived" ? 0 : 1);
});

test("one is not opened again", async () => {
  const tenant = await newTenant();
  const admin = await newSystemAdmin();
  expect(await admin.post(`/tenants/${tenant.id}/archive`)).toSucceed(200);
  expect((await admin.post(`/tenants/${tenant.id}/activate`)).status).toBe(409);
});
