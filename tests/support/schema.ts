/** A database in words: every object and right that migrations make, one line each. */
import type postgres from "postgres";

const ours =
  "('app', 'private', 'tenancy', 'money', 'delivery', 'warehousing', 'storefront', 'integration', 'public')";
/** Objects of extensions are left out. */
const own = (oid: string) =>
  `not exists (select from pg_depend d where d.objid = ${oid} and d.deptype = 'e')`;
/** Rights in a fixed order; those that come by default are written out, so that both ways compare equal. */
const rights = (acl: string, kind: string, owner: string) =>
  `(
  select coalesce(string_agg(format('%s=%s%s', coalesce(r.rolname, 'public'), a.privilege_type,
    case when a.is_grantable then '*' else '' end), ' ' order by r.rolname, a.privilege_type), '')
  from aclexplode(coalesce(${acl}, acldefault('${kind}', ${owner}))) a left join pg_roles r on r.oid = a.grantee)`;

const parts: Record<string, string> = {
  schema: `select nspname || ' owner ' || nspowner::regrole || ' ' || ${
    rights("nspacl", "n", "nspowner")
  }
    from pg_namespace where nspname in ${ours}`,
  relation:
    `select format('%s %s rls %s/%s options %s owner %s rights %s', c.relkind, c.oid::regclass, c.relrowsecurity,
      c.relforcerowsecurity, c.reloptions, c.relowner::regrole,
      case when c.relkind in ('i', 'I') then '' else ${rights("c.relacl", "r", "c.relowner")} end)
    from pg_class c where c.relnamespace::regnamespace::text in ${ours} and c.relkind <> 't' and ${
      own("c.oid")
    }`,
  column:
    `select format('%s.%s %s %s null %s default %s identity %s generated %s rights %s', c.oid::regclass, a.attname,
      row_number() over (partition by a.attrelid order by a.attnum),
      format_type(a.atttypid, a.atttypmod), not a.attnotnull, pg_get_expr(x.adbin, x.adrelid), a.attidentity, a.attgenerated, a.attacl)
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    left join pg_attrdef x on x.adrelid = a.attrelid and x.adnum = a.attnum
    where c.relnamespace::regnamespace::text in ${ours} and c.relkind in ('r', 'p', 'v', 'm') and a.attnum > 0
      and not a.attisdropped and ${own("c.oid")}`,
  constraint: `select format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    from pg_constraint where connamespace::regnamespace::text in ${ours} and conrelid <> 0`,
  index:
    `select pg_get_indexdef(i.indexrelid) || ' valid ' || i.indisvalid from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace::regnamespace::text in ${ours}`,
  view: `select c.oid::regclass || ' ' || md5(pg_get_viewdef(c.oid)) from pg_class c
    where c.relkind in ('v', 'm') and c.relnamespace::regnamespace::text in ${ours} and ${
    own("c.oid")
  }`,
  function:
    `select format('%s %s owner %s rights %s', p.oid::regprocedure, md5(pg_get_functiondef(p.oid)), p.proowner::regrole,
      ${rights("p.proacl", "f", "p.proowner")})
    from pg_proc p where p.pronamespace::regnamespace::text in ${ours} and p.prokind in ('f', 'p') and ${
      own("p.oid")
    }`,
  comment: `select format('%s %s is %s', i.type, i.identity, d.description) from pg_description d,
      pg_identify_object(d.classoid, d.objoid, d.objsubid) i
    where i.schema in ${ours} and not exists (select from pg_depend e where e.classid = d.classoid and e.objid = d.objoid and e.deptype = 'e')`,
  policy:
    `select format('%s %s %s %s to %s using %s check %s', polrelid::regclass, polname, polcmd, polpermissive,
      array(select rolname from pg_roles where oid = any (polroles) order by 1), pg_get_expr(polqual, polrelid),
      pg_get_expr(polwithcheck, polrelid))
    from pg_policy`,
  trigger:
    `select pg_get_triggerdef(t.oid) || ' ' || t.tgenabled::text from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and (c.relnamespace::regnamespace::text in ${ours} or c.relnamespace = 'auth'::regnamespace)`,
  extension: `select extname || ' in ' || extnamespace::regnamespace from pg_extension`,
  publication:
    `select pubname || ' ' || schemaname || '.' || tablename from pg_publication_tables where schemaname in ${ours}`,
  default:
    `select format('%s %s %s %s', defaclrole::regrole, defaclnamespace::regnamespace, defaclobjtype, defaclacl) from pg_default_acl`,
  setting:
    `select coalesce(setrole::regrole::text, '') || ' ' || array_to_string(setconfig, ', ') from pg_db_role_setting
    where setdatabase = 0 or setdatabase = (select oid from pg_database where datname = current_database())`,
  member:
    `select roleid::regrole || ' has ' || member::regrole from pg_auth_members where roleid::regrole::text like 'barid%'`,
};

/** All lines, sorted; two databases with the same lines were made by the same statements. */
export async function describeSchema(sql: postgres.Sql): Promise<string[]> {
  return (await sql.begin(async (transaction) => {
    // Names are written with their schema, whatever the path of the connection.
    await transaction`set local search_path = pg_catalog`;
    const lines: string[] = [];
    for (const [part, query] of Object.entries(parts)) {
      const rows = await transaction.unsafe(query).values() as unknown as [string][];
      lines.push(...rows.map(([line]) => `${part} ${line}`));
    }
    const [cron] = await transaction`select to_regclass('cron.job') is not null as here`;
    if (cron!.here) {
      const jobs = await transaction`
        select jobname, schedule, command from cron.job where jobname like 'barid%'`;
      lines.push(...jobs.map((job) => `job ${Object.values(job).join(" | ")}`));
    }
    return lines;
  })).sort();
}
