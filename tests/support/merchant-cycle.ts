/** The cycle of merchants' statements for tests: its clock is moved by hand. */
import { nobody } from "./api.ts";
import { sql, stack } from "./db.ts";
import { jobsDone } from "./jobs.ts";
import { saveSettings, type Tenant } from "./people.ts";

/** A time zone in which it is about noon, so that no day ends during a test. */
export function noonZone(): string {
  const ahead = 12 - new Date().getUTCHours();
  return ahead === 0 ? "UTC" : `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`;
}

/** Sets the cycle of a company whose clock shows noon, as if it had been saved long ago. */
export async function setCycle(tenant: Tenant, rule: Record<string, unknown>): Promise<void> {
  await saveSettings(tenant.id, "general.timezone", { name: noonZone() });
  await saveSettings(tenant.id, "delivery.payouts", rule);
  await sql`update money.merchant_cycles set begun_at = now() - interval '1 year' where tenant_id = ${tenant.id}`;
}

/** The start of the company's day. */
export async function midnight(tenant: Tenant): Promise<Date> {
  const [{ at }] = await sql`
    select (now() at time zone z.name)::date::timestamp at time zone z.name as at
    from (select settings ->> 'name' as name from tenancy.tenant_settings
      where tenant_id = ${tenant.id} and module = 'general' and group_key = 'timezone') z`;
  return at;
}

/** Below the guards of the tables: the COD of these rows of cash was credited, and released, at that moment. */
export const creditedAt = (at: Date, ...rows: string[]) =>
  sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update money.ledger_entries e set created_at = ${at} from money.ledger_transactions t
      where t.tenant_id = e.tenant_id and t.id = e.transaction_id and t.reference_id = any (${rows}) and t.kind = 'cod_credit'`;
    await tx`update money.wallet_holds set created_at = ${at}, due_at = ${at}, counts_from = ${at} where reference_id = any (${rows})`;
  });

/** A day later: what the company has booked until now, and the cycle, is a day older. */
export const dayPasses = (tenant: Tenant, days = 1) =>
  sql.begin(async (tx) => {
    const by = `${days} days`;
    await tx`set local session_replication_role = replica`;
    await tx`update money.ledger_entries set created_at = created_at - ${by}::interval where tenant_id = ${tenant.id}`;
    await tx`update money.ledger_transactions set created_at = created_at - ${by}::interval where tenant_id = ${tenant.id}`;
    await tx`update money.wallet_holds set created_at = created_at - ${by}::interval, due_at = due_at - ${by}::interval,
      counts_from = counts_from - ${by}::interval where tenant_id = ${tenant.id}`;
    await tx`update money.merchant_statements set opened_at = opened_at - ${by}::interval, period_from = period_from - ${by}::interval,
      period_to = period_to - ${by}::interval, cycle_day = cycle_day - ${days}::int where tenant_id = ${tenant.id}`;
    await tx`update money.merchant_cycles set begun_at = begun_at - ${by}::interval, day = day - ${days}::int where tenant_id = ${tenant.id}`;
    await tx`update app.jobs set payload = payload || jsonb_build_object('day', (payload ->> 'day')::date - ${days}::int)
      where tenant_id = ${tenant.id} and kind = 'delivery.merchant_statements'`;
  });

/** Cron queues what is due, and the functions do it. */
export async function tick(...tenants: Tenant[]): Promise<void> {
  await sql`select money.statement_cycles_sweep()`;
  await nobody.post("/delivery/internal/jobs", {}, { headers: { apikey: stack.secretKey } });
  for (const { id } of tenants) await jobsDone(id);
}

/** The statements of a company: owner, net and the day of the cycle, the oldest first. */
export async function statementsOf(tenant: Tenant): Promise<[string, number, string | null][]> {
  const made =
    await sql`select owner_user_id, net, cycle_day::text as day from money.merchant_statements
    where tenant_id = ${tenant.id} order by number`;
  return made.map(({ owner_user_id, net, day }) => [owner_user_id, Number(net), day]);
}

/** The day of the company's clock, or one so many days before, as `YYYY-MM-DD`. */
export async function dayOf(tenant: Tenant, daysAgo = 0): Promise<string> {
  const [{ day }] = await sql`
    select ((now() at time zone (s.settings ->> 'name'))::date - ${daysAgo}::int)::text as day from tenancy.tenant_settings s
    where s.tenant_id = ${tenant.id} and s.module = 'general' and s.group_key = 'timezone'`;
  return day;
}
