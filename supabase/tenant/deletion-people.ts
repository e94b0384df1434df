/** The people of a company that is deleted: who belongs to no other company goes with it. */
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";
import { collectPeople, referencesToPeople } from "./people.ts";
import type { Place } from "./place.ts";
import { unguarded } from "./deletion-rows.ts";
import { quoted, type Table } from "./tables.ts";

/** How many are removed at a time. */
const together = 8;

/** How many people the company has or made accounts for, and those of them whom nothing of others names. */
export async function peopleWhoLeave(
  tx: postgres.TransactionSql,
  tenant: string,
  tables: Table[],
): Promise<{ all: number; leaving: string[] }> {
  await collectPeople(tx, tables);
  await tx`create temporary table leaving on commit drop as
    select m.id from pg_temp.moving_people m
    union select p.id from tenancy.profiles p where p.made_by_tenant = ${tenant}
    union select i.account_id from tenancy.invitations i
      join tenancy.profiles p on p.id = i.account_id where i.tenant_id = ${tenant}`;
  const [{ all }] = await tx`select count(*)::int as all from pg_temp.leaving` as [
    { all: number },
  ];
  await keepThoseOfOthers(tx, tenant);
  const leaving = await tx`select l.id from pg_temp.leaving l order by 1`;
  return { all, leaving: leaving.map(({ id }) => id) };
}

/** Leaves in the temporary table `leaving` those whom no row and no open invitation of another company names, and who do not manage the system. */
async function keepThoseOfOthers(tx: postgres.TransactionSql, tenant: string): Promise<void> {
  await tx`delete from pg_temp.leaving l
    where exists (select from tenancy.system_users s where s.user_id = l.id)`;
  // An invitation names an account by its address; the mail leads into it, or into the notices of who has it.
  await tx`delete from pg_temp.leaving l using auth.users u
    where u.id = l.id and exists (select from tenancy.invitations i where i.tenant_id <> ${tenant}
      and (i.account_id = l.id or i.email = lower(u.email)) and i.status = 'pending' and i.expires_at > now())`;
  for (const { table, column, is_tenants } of await referencesToPeople(tx)) {
    const owner = table === "tenancy.tenants" ? "id" : is_tenants ? "tenant_id" : undefined;
    if (!owner) continue;
    await tx.unsafe(`delete from pg_temp.leaving l where exists (
      select from ${quoted(table)} t where t.${
      quoted(column)
    } = l.id and t.${owner} <> '${tenant}')`);
  }
}

/**
 * Has Auth remove the accounts of those who leave, once no row names them; answers how many. Who joined another company
 * meanwhile stays. Of those who stay nothing says any more that they were here.
 */
export async function removePeople({ sql, accounts }: Place, tenant: string): Promise<number> {
  const leaving = await sql.begin(async (tx) => {
    await tx.unsafe(unguarded);
    await tx`create temporary table leaving on commit drop as
      select l.id from tenancy.deleted_tenants d, unnest(d.leaving) l (id)
      join auth.users u on u.id = l.id where d.id = ${tenant} and d.ended_at is null`;
    await keepThoseOfOthers(tx, tenant);
    return (await tx`select l.id from pg_temp.leaving l`).map(({ id }) => id as string);
  }) as string[];
  for (let start = 0; start < leaving.length; start += together) {
    const results = await Promise.all(
      leaving.slice(start, start + together).map((id) => accounts.deleteUser(id)),
    );
    const failed = results.find(({ error }) => error && error.status !== 404)?.error;
    if (failed) {
      throw new Failure(
        `Auth answers ${failed.status} ${
          failed.code ?? failed.message
        } to the removal of an account.`,
      );
    }
  }
  await sql.begin(async (tx) => {
    await tx.unsafe(unguarded);
    const [{ left }] = await tx`select count(*)::int as left from auth.users u
      where u.id = any (${leaving})` as [{ left: number }];
    if (left > 0) throw new Failure(`Auth still has ${left} accounts.`);
    await forget(tx, tenant);
  });
  return leaving.length;
}

/**
 * Takes the company out of the profiles of those who stay. An account whose first password one of its administrators knows
 * is still no account that its owner registered: the maker becomes a company that there is not.
 */
async function forget(tx: postgres.TransactionSql, tenant: string): Promise<void> {
  await tx`update tenancy.profiles p set
      made_by_tenant = case when p.made_by_tenant is distinct from ${tenant} then p.made_by_tenant
        when p.proven_at is null then '00000000-0000-0000-0000-000000000000'::uuid end,
      left_tenants = nullif(array_remove(p.left_tenants, ${tenant}), '{}')
    where p.made_by_tenant = ${tenant} or ${tenant} = any (p.left_tenants)`;
}
