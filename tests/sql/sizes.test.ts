/** Nothing is kept without a size: every text, document and list of a table has a bound, or is made of bounded parts. */
import { expect, test } from "vitest";
import { sql } from "../support/db.ts";

/** Documents that Barid itself puts together, of parts that have their bounds. */
const derived = [
  "delivery.assignments.route_details",
  "delivery.deliveries.service_snapshot",
  "delivery.deliveries.source_snapshot",
  "delivery.driver_searches.passed_over",
  "delivery.outcomes.before",
  "delivery.redirects.before",
  "delivery.transfer_manifest_events.payload",
  "delivery.transfer_manifests.source_snapshot",
  "integration.event_types.event_data",
  "integration.event_types.merchant_fields",
  "integration.system_events.event_data",
  "money.cod_collections.leg_codes",
  "money.payment_webhook_events.facts",
  "money.payments.snapshot",
  "storefront.custom_domains.dns_records",
  "storefront.storefront_order_items.attributes",
  "storefront.storefront_order_items.images",
  "tenancy.deleted_tenants.row_counts",
  "tenancy.erasures.row_counts",
  "tenancy.erasures.subject",
  "tenancy.notifications.payload",
  "tenancy.wizard_runs.answer",
  "tenancy.wizard_runs.steps",
  "warehousing.picking_orders.picking_progress",
];

test("every column that can grow has a bound in the database", async () => {
  const open = await sql<{ name: string }[]>`
    select c.oid::regclass || '.' || a.attname as name
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    join pg_type t on t.oid = a.atttypid
    where c.relkind in ('r', 'p') and n.nspname in ('tenancy', 'delivery', 'warehousing', 'storefront', 'money', 'integration')
      and (t.typname in ('text', 'jsonb') or t.typcategory = 'A' and t.typelem = 'text'::regtype)
      and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and a.attnum = any (k.conkey)
        and pg_get_constraintdef(k.oid) ~ 'octet_length')
    order by 1`;
  expect(open.map(({ name }) => name)).toEqual(derived);
});
