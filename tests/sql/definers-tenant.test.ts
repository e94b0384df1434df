/**
 * Definers pass row-level security, so one that a request may call and that is told a tenant, by its id or by a row, has to refuse
 * every tenant but the caller's.
 */
import { beforeAll, expect, test } from "vitest";
import { newEverything } from "../support/everything.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import { sql } from "../support/db.ts";
import { names, schemas } from "./catalogue.ts";
import { actingAs, rowsOf } from "./reach.ts";

/** Those that are told a tenant and do not ask app.require_tenant(). */
const others = {
  "integration.tenant_exists": "answers false to all who may not publish in every tenant",
  "tenancy.members_of": "answers null to all who do not manage the system",
  "tenancy.membership_end": "ends the caller's own membership, whichever tenant the caller is in",
};

/** How each is called with the tenant $1 and, as JSON, a row $2 of it, and the table that the row is of. */
const calls: Record<string, { of: string; call: string }> = {
  "delivery.is_sent_back": { of: "delivery.deliveries", call: "r" },
  "delivery.warehouse_name": { of: "warehousing.warehouses", call: "$1, r.id" },
  "delivery.warehouse_place": { of: "warehousing.warehouses", call: "$1, r.id, '{}'" },
  "delivery.ways_ahead": { of: "delivery.deliveries", call: "$1, array[r.id]" },
  "private.api_key_scopes": { of: "tenancy.tenant_users", call: "$1, r.user_id, '{view:tenant}'" },
  "integration.subscription_disabled_event_emit": {
    of: "integration.webhook_subscriptions",
    call: "$1, r.id, 'gone'",
  },
  "delivery.amount_change_write": {
    of: "delivery.deliveries",
    call: "r, 1, 'price', null, false",
  },
  "delivery.amount_at_door": { of: "delivery.deliveries", call: "r, '{}'" },
  "delivery.redirect_at_door": { of: "delivery.deliveries", call: "r, '{}'" },
  "delivery.redirect_at_pickup": { of: "delivery.deliveries", call: "r, '{}'" },
  "delivery.redirect_record": { of: "delivery.deliveries", call: "r, 'none', 0" },
  "delivery.came_from_elsewhere": { of: "delivery.deliveries", call: "r, 1" },
  "delivery.lock_pickup_cash": { of: "delivery.deliveries", call: "r" },
  "delivery.ordered_service": { of: "delivery.deliveries", call: "r" },
  "delivery.require_draft_stands": { of: "delivery.deliveries", call: "r" },
  "delivery.pickup_went_on": { of: "delivery.deliveries", call: "r, 1" },
  "delivery.pickup_withdraw": { of: "delivery.deliveries", call: "r, 'Wrong'" },
  "delivery.booking_binds": { of: "integration.carrier_shipments", call: "r" },
  "delivery.has_ended": { of: "delivery.deliveries", call: "r" },
  "delivery.is_for_waybill": { of: "delivery.deliveries", call: "r" },
  "delivery.is_trackable": { of: "delivery.deliveries", call: "r" },
  "delivery.manifest_notify": {
    of: "delivery.transfer_manifests",
    call: "r, 'manifest_given', array[r.driver_id]",
  },
  "delivery.lock_outcome_effects": {
    of: "delivery.outcomes",
    call: "r, jsonb_populate_record(null::delivery.deliveries, '{}')",
  },
  "delivery.outcome_obstacle": {
    of: "delivery.outcomes",
    call: "r, jsonb_populate_record(null::delivery.deliveries, '{}')",
  },
  "delivery.outcome_withdraw": {
    of: "delivery.outcomes",
    call: "r, jsonb_populate_record(null::delivery.deliveries, '{}'), 'mistake'",
  },
  "delivery.outcome_record": { of: "delivery.deliveries", call: "r, 'failed'" },
  "delivery.priced_from": { of: "delivery.deliveries", call: "r" },
  "delivery.sold_from": { of: "delivery.deliveries", call: "r" },
  "delivery.proof_counts": { of: "delivery.delivery_proofs", call: "r" },
  "money.payment_may_come": { of: "money.payments", call: "r" },
  "storefront.order_paid": { of: "storefront.storefront_orders", call: "r" },
  "storefront.order_item_came": {
    of: "storefront.storefront_orders",
    call: "r, gen_random_uuid()",
  },
  "storefront.order_left_out": { of: "storefront.storefront_orders", call: "r" },
  "storefront.domain_event_emit": { of: "storefront.custom_domains", call: "r, 'connected'" },
  "storefront.order_has_unmatched_payment": { of: "storefront.storefront_orders", call: "r" },
  "storefront.order_refundable": { of: "storefront.storefront_orders", call: "r" },
  "delivery.goods_go_back_to": { of: "delivery.deliveries", call: "r" },
  "warehousing.brings_goods_back": { of: "delivery.deliveries", call: "r" },
  "warehousing.sorting_scans_end": {
    of: "warehousing.sorting_sessions",
    call: "r, gen_random_uuid()",
  },
  "delivery.is_of_store": { of: "delivery.deliveries", call: "r" },
  "money.fee_refund_owed_end": { of: "delivery.deliveries", call: "r, now()" },
  "delivery.draft_is_lost": { of: "delivery.deliveries", call: "r" },
  "delivery.draft_travels": { of: "delivery.deliveries", call: "r" },
  "delivery.leaves_as_it_is": { of: "delivery.deliveries", call: "r" },
  "warehousing.parcel_is_missing": {
    of: "delivery.deliveries",
    call: "r, r.current_warehouse_id",
  },
  "warehousing.return_is_lost": { of: "delivery.deliveries", call: "r" },
};

let tenant: Tenant;
let stranger: Tenant;

beforeAll(async () => {
  tenant = (await newEverything()).tenant;
  stranger = await newTenant();
});

/** Definers that requests may call, with an argument that is named a tenant or a row whose tenant_id they use. */
const told = sql`
  select p.pronamespace::regnamespace || '.' || p.proname as name, p.prosrc ~ 'app\\.require_tenant\\(' as asks
  from pg_proc p
  where p.prosecdef and has_function_privilege('barid_caller', p.oid, 'execute')
    and p.pronamespace::regnamespace::text = any (${schemas})
    and exists (
      select from unnest(p.proargnames[:p.pronargs]) a (name)
      where a.name ~ 'tenant' or p.prosrc ~ ('\\m' || a.name || '\\.tenant_id'))`;

test("each that is told a tenant asks whether it is the caller's, or is listed here with another check", async () => {
  expect(await names(sql`select t.name from (${told}) t where not t.asks`))
    .toEqual(Object.keys(others).sort());
  expect(await names(sql`select t.name from (${told}) t where t.asks`))
    .toEqual(Object.keys(calls).sort());
});

test.each(Object.keys(calls))("%s refuses a stranger, and not the tenant itself", async (name) => {
  expect(await refusalOf(name, stranger)).toBe("forbidden");
  expect(await refusalOf(name, tenant)).not.toBe("forbidden");
});

/** How a call with a row of the tenant is refused to an administrator of one; null when it is not. */
async function refusalOf(name: string, { id, admin }: Tenant): Promise<string | null> {
  const { of, call } = calls[name]!;
  const [row] = await rowsOf(of, tenant.id);
  expect(row, of).toBeDefined();
  const statement =
    `select ${name}(${call}) from jsonb_populate_record(null::${of}, $2::text::jsonb) r
    where r.tenant_id = $1::uuid`;
  return await actingAs(
    { tenant: id, user: admin.id, kind: "admin" },
    (tx) =>
      tx.savepoint((inner) => inner.unsafe(statement, [tenant.id, JSON.stringify(row!.doc)]))
        .then(() => null, ({ message }) => message),
  );
}
