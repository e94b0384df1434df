/** The plan of a deletion: all that it removes, and each thing that stands in its way. */
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";
import { peopleWhoLeave } from "./deletion-people.ts";
import { namesOfFiles } from "./files.ts";
import { openItems } from "./open-items.ts";
import { allTenantTables, quoted } from "./tables.ts";

export interface Plan {
  id: string;
  /** Undefined when the company is gone. */
  slug?: string;
  status?: string;
  /** Of a deletion that was begun before. */
  begunAt?: Date;
  endedAt?: Date;
  /** By schema. */
  rows: Record<string, { rows: number; tables: number }>;
  files: number;
  /** Members, and whom the rows name. */
  people: number;
  /** Of them, those who belong to no other company. */
  leaving: string[];
  /** Money and parcels that others still owe or wait for, a line each. */
  open: string[];
  /** Obstacles to be removed before anything of the company is, a line each. */
  obstacles: string[];
}

/** Counts in the transaction `tx`. Fails when there is no such company, and none was deleted. */
export async function planOf(
  tx: postgres.TransactionSql,
  { slug, id }: { slug?: string; id?: string },
): Promise<Plan> {
  const [tenant] = await tx`select t.id, t.slug, t.status from tenancy.tenants t
    where ${slug ? tx`t.slug = ${slug}` : tx`t.id = ${id!}`}`;
  const [record] = await tx`select d.begun_at, d.ended_at, d.leaving from tenancy.deleted_tenants d
    where d.id = ${tenant?.id ?? id ?? null} and (d.ended_at is null or ${!tenant})
    order by d.begun_at desc limit 1`;
  if (!tenant && !record) throw new Failure(`This project has no company "${slug ?? id}".`);
  const tenantId = tenant?.id ?? id;
  const tables = await allTenantTables(tx, tenantId);
  const people = await peopleWhoLeave(tx, tenantId, tables);
  return {
    id: tenantId,
    ...(tenant && { slug: tenant.slug, status: tenant.status }),
    ...(record && { begunAt: record.begun_at, endedAt: record.ended_at ?? undefined }),
    rows: await rowCounts(tx, tables.filter(({ isOfPeople }) => !isOfPeople)),
    files: (await namesOfFiles(tx, tenantId)).length,
    people: people.all,
    leaving: record && !record.ended_at ? record.leaving : people.leaving,
    open: record ? [] : await openItems(tx, tenantId),
    obstacles: record?.ended_at ? [] : await obstaclesOf(tx, tenant!),
  };
}

/** The plan in lines for the operator. */
export function planLines(plan: Plan): string[] {
  const all = Object.values(plan.rows).reduce((sum, { rows }) => sum + rows, 0);
  return [
    plan.slug
      ? `Company: ${plan.slug} (${plan.id}), ${plan.status}`
      : `Company: ${plan.id}, deleted ${plan.endedAt?.toISOString()}`,
    ...(plan.begunAt && !plan.endedAt
      ? [`Its deletion began ${plan.begunAt.toISOString()}. What is left:`]
      : []),
    `Rows: ${all}`,
    ...Object.entries(plan.rows).map(([schema, { rows, tables }]) =>
      `  ${schema}: ${rows} in ${tables} tables`
    ),
    `Files: ${plan.files}`,
    plan.begunAt
      ? `People: ${plan.leaving.length} whose accounts are removed`
      : `People: ${plan.people}; ${plan.leaving.length} belong to no other company, and their accounts are removed`,
    ...plan.open.map((line) => `Open: ${line}`),
    ...plan.obstacles.map((line) => `In the way: ${line}`),
  ];
}

async function rowCounts(
  tx: postgres.TransactionSql,
  tables: { name: string; condition: string }[],
) {
  const counts: Plan["rows"] = {};
  for (const { name, condition } of tables) {
    const [found] = await tx.unsafe(
      `select count(*)::int as rows from ${quoted(name)} where ${condition}`,
    );
    if (found!.rows === 0) continue;
    const [schema] = name.split(".") as [string];
    const { rows, tables } = counts[schema] ?? { rows: 0, tables: 0 };
    counts[schema] = { rows: rows + found!.rows, tables: tables + 1 };
  }
  return counts;
}

async function obstaclesOf(
  tx: postgres.TransactionSql,
  { id, slug, status }: postgres.Row,
): Promise<string[]> {
  return [
    ...(status === "archived"
      ? []
      : [`${slug} is ${status}: archive it first (POST /tenants/${id}/archive).`]),
    ...await refusedSettings(tx),
  ];
}

/** Rows of logs go only with the guards off in the deletion's own transactions, which Supabase lets `postgres` do. */
async function refusedSettings(tx: postgres.TransactionSql): Promise<string[]> {
  try {
    await tx.savepoint((inner) => inner`set local session_replication_role = replica`);
    await tx`set local session_replication_role = origin`;
    return [];
  } catch (error) {
    return [`DATABASE_URL has to be that of postgres: ${(error as Error).message}.`];
  }
}
