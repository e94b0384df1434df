/** However large the rows are that people may write: a hundred of them in a list take at most 2 MB, services 3. */
import { beforeAll, expect, test } from "vitest";
import type { TransactionSql } from "postgres";
import type { Person } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { type Everything, newEverything } from "../support/everything.ts";
import { newSystemAdmin } from "../support/people.ts";
import { operations } from "./functions.ts";
import { sampleOf } from "./requests.ts";
import { schemaOf } from "./slots.ts";

const maxPageBytes = 2 * 1_048_576;
/** A service has its description in every language and in the caller's own besides; a company has few services. */
const largerPages: Record<string, number> = { "GET /delivery/services": 3 * 1_048_576 };

let everything: Everything;
let system: Person;
beforeAll(async () => {
  [everything, system] = await Promise.all([newEverything("received"), newSystemAdmin()]);
  await enlarge(everything.tenant.id);
}, 180_000);

interface Column {
  table: string;
  column: string;
  bytes: number;
  json: boolean;
}

/** The columns that constraints allow to be as large as they say, whatever they hold. */
async function boundedColumns(): Promise<Column[]> {
  return await sql<Column[]>`
    with bounds as (
      select k.conrelid, (m)[1] as "column", (m)[2]::int as bytes, k.conname like '%\\_above\\_%' as json, k.oid
      from pg_constraint k
      cross join lateral regexp_matches(pg_get_constraintdef(k.oid), 'octet_length\\((?:\\()?"?(\\w+)"?(?:\\)?::text\\)?)?\\) <= (\\d+)', 'g') as m
      where k.contype = 'c' and (k.conname = 'texts_within_bounds' or k.conname like '%\\_above\\_%\\_bytes')
    )
    select b.conrelid::regclass::text as table, b."column", b.bytes, b.json from bounds b
    join pg_attribute a on a.attrelid = b.conrelid and a.attname = b."column"
    where exists (select from pg_attribute t where t.attrelid = b.conrelid and t.attname = 'tenant_id')
      and not exists (select from pg_index i where i.indrelid = b.conrelid and i.indisunique and a.attnum = any (i.indkey))
      and not exists (select from pg_constraint k where k.conrelid = b.conrelid and k.oid <> b.oid and k.contype in ('c', 'f')
        and a.attnum = any (k.conkey)
        and pg_get_constraintdef(k.oid) !~ 'jsonb_typeof|<> ''''')
      and a.attname <> 'type' and a.attndims = 0
    order by 1, 2`;
}

/** Every row of the tenant as large as it may be; what other rows or words depend on stays. */
async function enlarge(tenantId: string): Promise<void> {
  const columns = await boundedColumns();
  expect(columns.length).toBeGreaterThan(100);
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    for (const { table, column, bytes, json } of columns) {
      const translated = `jsonb_build_object('en', x, 'ar', x, 'ku', x) from repeat('x', ${
        Math.floor(bytes / 3) - 20
      }) x`;
      const longest = !json
        ? `repeat('x', ${bytes})`
        : /name|title|description|tagline/.test(column)
        ? `(select ${translated})`
        : `${column} || jsonb_build_object('more', repeat('x', ${bytes} - 20 - octet_length(${column}::text)))`;
      const which = json ? `and jsonb_typeof(${column}) = 'object'` : `and ${column} is not null`;
      await tx.savepoint((one) =>
        one.unsafe(`update ${table} set ${column} = ${longest} where tenant_id = $1 ${which}`, [
          tenantId,
        ])
      ).catch((error) => {
        throw new Error(`${table}.${column}`, { cause: error });
      });
    }
    await tx`update delivery.addresses set full_address = repeat('x', 4000 - octet_length(title::text) - octet_length(contact_info::text)
      - coalesce(octet_length(city), 0) - coalesce(octet_length(country), 0)) where tenant_id = ${tenantId}`;
    await multiply(tx, tenantId);
  });
}

/** A list row with as many dependent rows as a request may send. */
async function multiply(tx: TransactionSql, tenantId: string): Promise<void> {
  await tx`insert into storefront.product_variants (tenant_id, product_id, sku, price, position, attributes)
    select v.tenant_id, v.product_id, v.sku || '-' || n, v.price, n, v.attributes
    from storefront.product_variants v, generate_series(1, 99) n where v.tenant_id = ${tenantId}`;
  await tx`update storefront.products set images = (
      select jsonb_agg('https://pictures.example/' || repeat('x', 380)) from generate_series(1, 20))
    where tenant_id = ${tenantId}`;
  await tx`update delivery.delivery_exceptions set items = (
      select jsonb_agg(jsonb_build_object('delivery_item_id', gen_random_uuid(), 'quantity', n)) from generate_series(1, 135) n)
    where tenant_id = ${tenantId}`;
  await tx`update delivery.transfer_manifest_exceptions set photo_urls = array_fill(repeat('x', 810), array[10])
    where tenant_id = ${tenantId}`;
  // A bulk call names as many deliveries as it may take; what others publish is as long as it may be.
  const ids = tx`(select jsonb_agg(gen_random_uuid()) from generate_series(1, 1000))`;
  await tx`update integration.system_events set event_data = jsonb_build_object('assignment_ids', ${ids}, 'delivery_ids', ${ids})
    where tenant_id = ${tenantId}`;
  await tx`update integration.webhook_events set body = jsonb_build_object('data',
      jsonb_build_object('assignment_ids', ${ids}, 'delivery_ids', ${ids}))::text where tenant_id = ${tenantId}`;
  await tx`insert into integration.system_events (tenant_id, event_type, source_module, target_module, entity_type, entity_id, error_message, event_data)
    select tenant_id, event_type, source_module, target_module, entity_type, entity_id, error_message,
      jsonb_build_object('words', repeat('x', 16370)) from integration.system_events where tenant_id = ${tenantId}`;
  await tx`insert into integration.webhook_events (tenant_id, subscription_id, event_type, entity_key, error_message, next_attempt_at, body)
    select tenant_id, subscription_id, event_type, entity_key, error_message, null,
      jsonb_build_object('data', jsonb_build_object('words', repeat('x', 16370)))::text
    from integration.webhook_events where tenant_id = ${tenantId}`;
  await tx`update delivery.zones set polygon = jsonb_build_array((select jsonb_agg(jsonb_build_array(44.123456789, 33.123456789))
      from generate_series(1, 2000))) where tenant_id = ${tenantId}`;
  const users = await tx`select gen_random_uuid() as id from generate_series(1, 300)`;
  for (
    const [table, column] of [["delivery.delivery_service_users", "service_id"], [
      "warehousing.warehouse_users",
      "warehouse_id",
    ]]
  ) {
    const [{ id }] = await tx.unsafe(
      `select ${column} as id from ${table} where tenant_id = $1 limit 1`,
      [tenantId],
    );
    await tx`insert into ${tx(table)} ${
      tx(users.map((user) => ({ tenant_id: tenantId, [column]: id, user_id: user.id })))
    }`;
  }
}

/** Files have rows without number; an open delivery has two places of at most 4,000 bytes each, and nothing else that is long. */
const exempt = new Set(["GET /delivery/cod-collections/export", "GET /delivery/assignments/open"]);
const lists = operations.filter((operation) =>
  operation.endpoint.method === "get" && schemaOf(operation, "query")?.properties?.limit &&
  !exempt.has(operation.name)
);

/** The rows of an answer: the longest list in it, not one within a row. */
function rowsOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  if (value === null || typeof value !== "object") return 0;
  return Math.max(0, ...Object.values(value).map(rowsOf));
}

test.each(lists.map((operation) => [operation.name, operation] as const))(
  "%s",
  async (_, operation) => {
    const { tenant, things } = everything;
    const { params, query } = sampleOf(operation, things);
    const path = operation.path.replace(
      /:(\w+)/g,
      (_, word) => String((params as Record<string, unknown>)[word]),
    );
    const own = operation.name === "GET /system/events" ? { tenant_id: tenant.id } : {};
    const options = { query: { ...query as Record<string, string>, ...own, limit: 50 } };
    // Any caller who has rows there.
    for (
      const reader of [tenant.admin, tenant.customer, tenant.driver, tenant.institution, system]
    ) {
      const { status, body } = await reader.get(path, options);
      const rows = rowsOf(body);
      if (status !== 200 || rows === 0) continue;
      const bytes = Buffer.byteLength(JSON.stringify(body));
      expect(bytes / rows, "bytes of a row").toBeLessThan(
        (largerPages[operation.name] ?? maxPageBytes) / 100,
      );
      return;
    }
    expect.unreachable("nobody has rows there");
  },
);
