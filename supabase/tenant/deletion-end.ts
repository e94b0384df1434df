/** The end of a deletion: the company's own row, what names it elsewhere, and the record of it, in one transaction. */
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";
import { orderedTables, removeRows, tablesWithRows } from "./deletion-rows.ts";
import { type Place, sessionSettings } from "./place.ts";

/** How often it begins again because somebody wrote to the company. */
const attempts = 5;

class StillThere extends Error {}

/** Removes the company's row with every foreign key at work, so that nothing refers to what is gone. */
export async function endDeletion(
  place: Place,
  tenant: string,
  print: (line: string) => void,
): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      return void await place.sql.begin((tx) => end(tx, tenant));
    } catch (error) {
      if (!(error instanceof StillThere)) throw error;
      if (attempt === attempts) {
        throw new Failure(
          `Somebody still writes to ${error.message}: look who works in the company.`,
        );
      }
    }
    await removeRows(place, tenant, print);
  }
}

async function end(tx: postgres.TransactionSql, tenant: string): Promise<void> {
  await tx.unsafe(sessionSettings);
  // Writers of a row of the company hold this one: all of them have ended, and none begins.
  await tx`select from tenancy.tenants t where t.id = ${tenant} for update`;
  const left = await tablesWithRows(tx, await orderedTables(tx, tenant));
  if (left.length > 0) throw new StillThere(left.join(", "));
  await tx`delete from tenancy.tenants t where t.id = ${tenant}`;
  const [record] = await tx`select d.leaving from tenancy.deleted_tenants d
    where d.id = ${tenant} and d.ended_at is null for update`;
  await removeTraces(tx, tenant, record?.leaving ?? []);
  await tx`select tenancy.deletion_end(${tenant})`;
}

/**
 * Removes what names the company in rows that are no company's: its log, answers that are kept for repeated calls of
 * administrators, openings by the wizard, messages to apps, and what Auth wrote down of its people.
 */
export async function removeTraces(
  tx: postgres.TransactionSql,
  tenant: string,
  people: string[],
): Promise<void> {
  const like = `%${tenant}%`;
  await tx`set local session_replication_role = replica`;
  await tx`delete from app.audit_log l where l.tenant_id = ${tenant}
    or l.tenant_id is null and (l.entity_id = ${tenant} or l.before::text like ${like} or l.after::text like ${like})`;
  await tx`delete from integration.system_events e where e.tenant_id is null and e.event_type <> 'tenant.deleted'
    and (e.entity_id = ${tenant} or e.event_data::text like ${like})`;
  await tx`delete from app.jobs j where j.tenant_id is null and j.payload::text like ${like}`;
  await tx`delete from tenancy.notifications n where n.tenant_id is null and n.payload::text like ${like}`;
  await tx`delete from app.idempotency_keys k where k.answer::text like ${like}`;
  await tx`delete from tenancy.wizard_runs r where r.new_tenant_id = ${tenant}`;
  for (const [table, condition] of Object.entries(ofThePlatform(tenant, people))) {
    const [{ may }] =
      await tx`select coalesce(has_table_privilege(to_regclass(${table}), 'delete'), false) as may` as [
        { may: boolean },
      ];
    if (may) await tx`delete from ${tx.unsafe(table)} where ${condition(tx)}`;
  }
  await tx`set local session_replication_role = origin`;
}

/** Tables of Supabase, as far as the project has them. */
function ofThePlatform(tenant: string, people: string[]) {
  type Condition = (tx: postgres.TransactionSql) => postgres.PendingQuery<postgres.Row[]>;
  return {
    // Supabase drops them after three days.
    "realtime.messages": (tx) =>
      tx`topic = ${`tenant:${tenant}:board`}
      or starts_with(topic, 'driver:') and substr(topic, 8) = any (${people})`,
    // Auth notes the address of an account with each of its removals.
    "auth.audit_log_entries": (tx) =>
      tx`payload ->> 'actor_id' = any (${people}) or payload -> 'traits' ->> 'user_id' = any (${people})`,
  } satisfies Record<string, Condition>;
}
