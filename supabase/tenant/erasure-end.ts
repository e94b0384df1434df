/** The account, the platform's own notes, and the end of an erasure with its record. */
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";
import { unguarded } from "./deletion-rows.ts";
import type { Place } from "./place.ts";
import type { Subject } from "./subject.ts";
import { allTenantTables, quoted } from "./tables.ts";

/** Has Auth end the account and its sessions; where another company has them, the membership of this one ends. */
export async function endAccount({ sql, accounts }: Place, { tenant, person, sets }: Subject) {
  if (!person) return;
  const [id] = sets.account!;
  if (!id) {
    await sql.begin(async (tx) => {
      await tx`set local lock_timeout = '5s'`;
      await tx`select set_config('app.tenant_id', ${tenant}, true)`;
      // Lists show them no more, and what they are elsewhere is no affair of this company.
      await tx`select tenancy.member_leaves(${person})`;
    });
    return;
  }
  const [user] = await sql`select from auth.users u where u.id = ${id} and u.deleted_at is null`;
  if (!user) return;
  const { error } = await accounts.deleteUser(id, true);
  if (error) {
    throw new Failure(
      `Auth answers ${error.status} ${error.code ?? error.message} to the end of the account.`,
    );
  }
}

/** Removes the messages and log of Auth and Realtime, as far as the project has it and its owner may; those of parcels say where their door is. */
export async function removeMessages({ sql }: Place, { sets, contact }: Subject): Promise<void> {
  const parcels = [...sets.received ?? [], ...sets.given ?? []];
  const conditions = {
    "realtime.messages": {
      condition:
        `payload::text ~* $2 or starts_with(topic, 'driver:') and substr(topic, 8) = any ($1) or exists (
        select from jsonb_path_query(payload, 'lax $.deliveries[*].id') d (id) where d.id #>> '{}' = any ($3))`,
      more: [parcels],
    },
    "auth.audit_log_entries": {
      condition:
        `payload ->> 'actor_id' = any ($1) or payload -> 'traits' ->> 'user_id' = any ($1) or payload::text ~* $2`,
      more: [],
    },
  };
  for (const [table, { condition, more }] of Object.entries(conditions)) {
    const [may] = await sql`select where has_table_privilege(to_regclass(${table}), 'delete')`;
    if (!may) continue;
    await sql.unsafe(`delete from ${table} where ${condition}`, [
      sets.account!,
      contact,
      ...more,
    ]);
  }
}

/** Looks once more for the contact in every table of the company, prints receipts anew, and writes the end down. */
export async function endErasure({ sql }: Place, subject: Subject, record: string): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe(unguarded);
    const left = await tablesWith(tx, subject);
    if (left.length > 0) {
      throw new Failure(
        `The telephone or e-mail still stands in ${left.join(", ")}: read those rows.`,
      );
    }
    await tx`set local session_replication_role = origin`;
    await tx`set local lock_timeout = '5s'`;
    await tx`select set_config('app.tenant_id', ${subject.tenant}, true)`;
    await tx`with printed as (
        update money.settlement_receipts r set status = 'pending', error = null, storage_path = null, edition = r.edition + 1
        where r.tenant_id = ${subject.tenant} and r.payment_id = any (${
      subject.sets.receipts ?? []
    }) returning r.payment_id)
      select app.job_add('delivery.settlement_receipt', jsonb_build_object('settlement_payment_id', p.payment_id), attempts_max => 3)
      from printed p`;
    await tx`update tenancy.erasures e set ended_at = clock_timestamp(), subject = '{}' where e.id = ${record}`;
  });
}

/** The tables in which the person's telephone or e-mail stands, in whatever column. */
async function tablesWith(
  tx: postgres.TransactionSql,
  { tenant, contact }: Subject,
): Promise<string[]> {
  const left: string[] = [];
  for (const { name, condition, isOfPeople } of await allTenantTables(tx, tenant)) {
    if (isOfPeople || name === "tenancy.erasures") continue;
    const [row] = await tx.unsafe(
      `select from ${quoted(name)} t where ${condition} and t::text ~* $1 limit 1`,
      [contact],
    );
    if (row) left.push(name);
  }
  return left;
}
