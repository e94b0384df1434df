/** Tables whose audit compares columns: the log says of them what it says of every other table. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { newEverything } from "../support/everything.ts";

let tenant: string;

beforeAll(async () => {
  tenant = (await newEverything("received")).things.tenant;
});

/** Values of every kind: text, numbers, times, documents, and a null of JSON in the place of none. */
const changes: Record<string, string> = {
  "delivery.deliveries":
    `notes = 'Ring twice', cod_amount = cod_amount + 1.5, promised_at = now(), package_details = 'null', label_outdated = not label_outdated,
      recipient = recipient || '{"name": "Zed", "tags": [1, null]}', attempts_used = attempts_used + 1, external_reference_id = null`,
  "delivery.assignments":
    `notes = 'Ring twice', units = units + 1.25, responded_at = now(), route_details = '{"km": 1.50}', response_reason = null`,
  "delivery.transfer_manifest_items":
    `package_details = 'null', metadata = metadata || '{"shelf": {"row": 1}}', position = position + 1000`,
};

const byColumn = () =>
  sql<{ table: string; source: string; columns: string[] }[]>`
    select t.tgrelid::regclass::text as table, p.prosrc as source, array(
      select a.attname::text from pg_attribute a where a.attrelid = t.tgrelid and a.attnum > 0 and not a.attisdropped) as columns
    from pg_trigger t join pg_proc p on p.oid = t.tgfoid
    where t.tgname = 'audit_update' and p.proname like 'audit\\_%' order by 1`;

test("every column is compared, but when the row was changed last", async () => {
  const tables = await byColumn();
  expect(tables.map(({ table }) => table)).toEqual(Object.keys(changes).sort());
  for (const { table, source, columns } of tables) {
    const compared = columns.filter((name) =>
      source.replaceAll('"', "").includes(`jsonb_build_object('${name}', n.${name})`)
    );
    const left = columns.filter((name) => !compared.includes(name));
    expect(left.sort(), table).toEqual(
      columns.filter((name) => /^(changed|updated_at)$/.test(name)).sort(),
    );
  }
});

test.each(Object.entries(changes))(
  "of %s it writes the rows that private.audit writes",
  async (table, set) => {
    const written = await logged(table, set);
    expect(written.own.length).toBeGreaterThan(0);
    expect(written.own).toEqual(written.common);
    expect(written.own[0]!.after).not.toEqual({});
  },
);

test.each(Object.keys(changes))("of %s it writes nothing where nothing changed", async (table) => {
  expect(await logged(table, "updated_at = now()")).toEqual({ own: [], common: [] });
});

interface Row {
  after: Record<string, unknown>;
}

/** The rows that both functions write of one update of the tenant's rows, which is undone. */
async function logged(table: string, set: string): Promise<{ own: Row[]; common: Row[] }> {
  let rows: { own: Row[]; common: Row[] } | undefined;
  await sql.begin(async (tx) => {
    // No other trigger writes, or refuses a move that no core would make.
    await tx.unsafe(
      `create trigger zz_audit after update on ${table} referencing old table as old_rows new table as new_rows
      for each statement execute function private.audit('')`,
    );
    await tx.unsafe(`alter table ${table} disable trigger user`);
    for (const name of ["audit_update", "zz_audit"]) {
      await tx.unsafe(`alter table ${table} enable trigger ${name}`);
    }
    await tx`select set_config('app.tenant_id', ${tenant}, true), set_config('app.operation', 'TEST', true)`;
    const [last] = await tx`select coalesce(max(id), 0) as id from app.audit_log`;
    await tx.unsafe(`update ${table} set ${set} where tenant_id = '${tenant}'`);
    const all = await tx<{ row: Row }[]>`select to_jsonb(l) - 'id' as row from app.audit_log l
      where l.id > ${last!.id} and l.tenant_id = ${tenant} and l.operation = 'TEST' order by l.id`;
    const written = all.map(({ row }) => row);
    rows = { own: written.slice(0, written.length / 2), common: written.slice(written.length / 2) };
    throw new Error("undo");
  }).catch((error) => {
    if (error.message !== "undo") throw error;
  });
  return rows!;
}
