/** House rules on the database itself: each test asks the catalogue for what breaks one. */
import { describe, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { names, schemas, schemasAndPublic } from "./catalogue.ts";

/** Kept in public because clients subscribe to it, or because the platform looks for it there. */
const inPublic = ["custom_access_token_hook(jsonb)", "delivery_realtime_assignments"];

/** Queries over all books, all stock or a driver's whole month, where planning for the actual values costs less. */
const wholeBooks = [
  "delivery.performance_rows",
  "money.carrier_differences",
  "money.carrier_paid",
  "money.carrier_positions",
  "money.cod_differences",
  "money.cod_hold_differences",
  "money.cod_holds_of",
  "money.cod_positions",
  "money.cod_taken",
  "money.desk_differences",
  "money.desk_positions",
  "money.driver_pay_differences",
  "money.driver_pay_positions",
  "money.reversed_differences",
  "money.stated_movements",
  "money.statement_differences",
  "money.statement_positions",
  "money.verify_books",
  "warehousing.stock_differences",
  "warehousing.verify_stock",
];

test("there are tables, functions and views, so that the rules below say something", async () => {
  const [count] = await sql`select
    (select count(*)::int from pg_tables where schemaname = any (${schemas})) as tables,
    (select count(*)::int from pg_views where schemaname = any (${schemas})) as views,
    (select count(*)::int from pg_proc where pronamespace::regnamespace::text = any (${schemas})) as functions`;
  expect(count.tables).toBeGreaterThan(20);
  expect(count.views).toBeGreaterThan(2);
  expect(count.functions).toBeGreaterThan(30);
});

describe("tables", () => {
  test("have row-level security enabled and forced, and a policy", async () => {
    expect(
      await names(sql`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text = any (${schemasAndPublic})
        and not (c.relrowsecurity and c.relforcerowsecurity
          and exists (select from pg_policy p where p.polrelid = c.oid))
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`),
    )
      .toEqual([]);
  });

  test("of which the newest are listed have an index in the order of lists", async () => {
    expect(
      await names(sql`
      select indexname || ': ' || indexdef as name from pg_indexes
      where schemaname = any (${schemasAndPublic}) and indexname like '%\_recent'
        and indexdef !~ 'DESC NULLS LAST, (payment_)?id DESC\\)'
        -- Indexes for a dashboard, in its own sort order.
        and indexname <> 'inventory_transactions_recent'`),
    )
      .toEqual([]);
  });

  test("with a tenant_id are held to the caller's tenant by every policy of callers", async () => {
    expect(
      await names(sql`
      select c.oid::regclass || ': ' || p.polname as name
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
      join pg_policy p on p.polrelid = c.oid
      where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text = any (${schemasAndPublic})
        -- A restrictive one only narrows what another admits.
        and p.polpermissive
        and not (p.polroles <@ array(select oid from pg_roles where rolname = 'supabase_auth_admin'))
        and pg_get_expr(p.polqual, p.polrelid) <> 'false'
        and (coalesce(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) !~ 'tenant_id = \\(.*app\\.tenant_id\\(\\)'
          or coalesce(pg_get_expr(p.polwithcheck, p.polrelid), pg_get_expr(p.polqual, p.polrelid)) !~ 'tenant_id = \\(.*app\\.tenant_id\\(\\)')`),
    )
      .toEqual([]);
  });

  test("have a primary key", async () => {
    expect(
      await names(sql`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text = any (${schemas})
        and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`),
    )
      .toEqual([]);
  });

  test("are closed to the login role of the functions and to Supabase's own roles", async () => {
    expect(
      await names(sql`
      select r.rolname || ' ' || a.privilege_type || ' ' || c.oid::regclass as name
      from pg_class c
      cross join lateral aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
      left join pg_roles r on r.oid = a.grantee
      where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
        and c.relnamespace::regnamespace::text = any (${schemas})
        and coalesce(r.rolname, 'public') in ('barid_api', 'anon', 'authenticated', 'service_role', 'public')`),
    )
      .toEqual([]);
  });
});

describe("references", () => {
  const foreignKeys = sql`
    select x.oid, x.conname, x.conrelid, x.confrelid, x.conkey, x.confkey, x.confdeltype,
      x.conrelid::regclass || ' ' || x.conname as name
    from pg_constraint x join pg_class c on c.oid = x.conrelid
    where x.contype = 'f' and c.relnamespace::regnamespace::text = any (${schemasAndPublic})`;

  test("say what happens when the row they name is deleted", async () => {
    expect(await names(sql`select f.name from (${foreignKeys}) f where f.confdeltype = 'a'`))
      .toEqual([]);
  });

  test("between tables of tenants carry the tenant, so that none can cross", async () => {
    expect(
      await names(sql`
      select f.name from (${foreignKeys}) f
      join pg_attribute mine on mine.attrelid = f.conrelid and mine.attname = 'tenant_id'
      join pg_attribute theirs on theirs.attrelid = f.confrelid and theirs.attname = 'tenant_id'
      where not exists (select from unnest(f.conkey, f.confkey) k (mine, theirs)
        where k.mine = mine.attnum and k.theirs = theirs.attnum)`),
    )
      .toEqual([]);
  });

  test("are indexed: their columns open an index, whole or of the rows that have them", async () => {
    // No request deletes an item, and where the usual item has a row or two, the planner would take an index of all stock
    // by item for as good as stock_place: a place of an item with thousands of rows would be found by reading them all.
    const unindexed = "stock_tenant_id_item_id_fkey";
    expect(
      await names(sql`
      select f.name from (${foreignKeys}) f
      where f.conname <> ${unindexed} and not exists (
        select from pg_index i
        where i.indrelid = f.conrelid and i.indisvalid
          and (i.indkey::int2[])[0:cardinality(f.conkey) - 1] @> f.conkey
          and (i.indpred is null or (
            select bool_and(position(quote_ident(a.attname) || ' IS NOT NULL' in pg_get_expr(i.indpred, i.indrelid)) > 0)
            from unnest(f.conkey) k (attnum)
            join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.attnum
            where not a.attnotnull)))`),
    )
      .toEqual([]);
  });
});

describe("functions", () => {
  const ours = sql`
    select p.*, p.oid::regprocedure::text as name, n.nspname as schema
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = any (${schemasAndPublic})
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`;

  test("pin their search path to nothing", async () => {
    expect(
      await names(sql`
      select f.name from (${ours}) f
      where not coalesce('search_path=""' = any (f.proconfig), false)`),
    ).toEqual([]);
  });

  test("are PL/pgSQL, which keeps its plans, unless they read books or stock as a whole", async () => {
    const inSql = await names(sql`
      select p.oid::regproc::text as name from pg_proc p
      join pg_language l on l.oid = p.prolang and l.lanname = 'sql'
      where p.pronamespace::regnamespace::text = any (${schemas}) and p.prokind = 'f'
      order by 1`);
    expect(inSql).toEqual(wholeBooks);
  });

  test("have one form only: a changed signature must not leave the old one behind", async () => {
    expect(
      await names(sql`
      select f.schema || '.' || f.proname as name from (${ours}) f
      group by f.schema, f.proname having count(*) > 1`),
    ).toEqual([]);
  });

  test("are for nobody until they are granted", async () => {
    expect(
      await names(sql`
      select f.name from (${ours}) f
      cross join lateral aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
      where a.grantee = 0`),
    ).toEqual([]);
  });

  test("give Supabase's roles nothing, but Auth its token hook", async () => {
    expect(
      await names(sql`
      select r.rolname || ' ' || f.name as name from (${ours}) f
      join pg_roles r on r.rolname in ('anon', 'authenticated', 'service_role', 'supabase_auth_admin')
      where has_function_privilege(r.oid, f.oid, 'execute') and has_schema_privilege(r.oid, f.schema, 'usage')`),
    )
      .toEqual(["supabase_auth_admin custom_access_token_hook(jsonb)"]);
  });
});

test("policies ask with exists: what `in` finds is prepared anew for each row that is looked up by its id", async () => {
  expect(
    await names(sql`
    select p.polrelid::regclass || ' ' || p.polname as name from pg_policy p
    where concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) ~* ' in \\( *select'`),
  ).toEqual([]);
});

describe("views", () => {
  test("read with the rights of their caller", async () => {
    expect(
      await names(sql`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind = 'v' and c.relnamespace::regnamespace::text = any (${schemasAndPublic})
        and not coalesce(c.reloptions @> '{security_invoker=true}' or c.reloptions @> '{security_invoker=on}', false)
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`),
    )
      .toEqual([]);
  });

  test("choose ids by case: PostgreSQL takes coalesce() for leaky, so that policies keep it from every index", async () => {
    expect(
      await names(sql`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind = 'v' and c.relnamespace::regnamespace::text = any (${schemas})
        and pg_get_viewdef(c.oid) ~* '\\mid = coalesce\\('`),
    ).toEqual([]);
  });

  test("are never materialized, where no policy would hold", async () => {
    expect(
      await names(sql`
      select schemaname || '.' || matviewname as name from pg_matviews where schemaname = any (${schemasAndPublic})`),
    )
      .toEqual([]);
  });
});

test("public has nothing of ours but what must be there", async () => {
  const found = await names(sql`
    select p.oid::regprocedure::text as name from pg_proc p where p.pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    union all
    select c.relname from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind not in ('i', 'I', 't')
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`);
  expect(found.filter((name) => !inPublic.includes(name))).toEqual([]);
});

test("the login role of the functions passes no policy and makes nothing", async () => {
  const [role] = await sql`
    select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolinherit
    from pg_roles where rolname = 'barid_api'`;
  expect(Object.values(role)).toEqual([false, false, false, false, false, false]);
});

test("calls that write keep their plans, reads are planned for their values", async () => {
  const modeOf = (rule: object) =>
    sql.begin(async (tx) => {
      await tx`select private.enter('{"service": true, "tenant_mode": "none"}', ${
        JSON.stringify({ access: ["anyone"], ...rule })
      }::text::jsonb)`;
      return (await tx`select current_setting('plan_cache_mode') as mode`)[0].mode;
    });
  expect(await modeOf({})).toBe("force_generic_plan");
  expect(await modeOf({ reads_only: true })).toBe("auto");
});
