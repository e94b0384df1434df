/** The version that an answer carries is never newer than what it shows. */
import { expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { newAddress } from "../support/make.ts";
import { overlapping } from "../support/overlapping.ts";
import { newTenant } from "../support/people.ts";

/** Number of the lock behind which the core below waits. */
const gate = 20_261_127;

test("a change that comes while a row is read is refused to who then sends the version that came with it", async () => {
  const tenant = await newTenant();
  const id = await newAddress(tenant);
  const claims = {
    sub: tenant.ops.id,
    tenant_id: tenant.id,
    tenant_mode: "required",
    request_id: "r",
    operation: "o",
  };
  const rule = {
    access: ["permission:manage:operations:tenant"],
    reads_only: true,
    version: { table: "delivery.addresses", column: "id", key: id },
  };
  const versionNow = async () =>
    (await sql`select private.version_at(updated_at) as version from delivery.addresses where id = ${id}`)[
      0
    ]!
      .version as string;
  const before = await versionNow();

  const read = await overlapping(
    async (session) => {
      await session`update delivery.addresses set city = 'Changed meanwhile' where id = ${id}`;
      await session`select pg_advisory_xact_lock(${gate})`;
    },
    () =>
      sql.begin(async (tx) => {
        await tx.unsafe(
          `create function pg_temp.read_slowly(input jsonb) returns jsonb language plpgsql as $$
          declare
            v_city text := (select city from delivery.addresses where id = (input ->> 'id')::uuid);
          begin
            perform pg_advisory_xact_lock_shared(${gate});
            return jsonb_build_object('city', v_city);
          end $$`,
        );
        await tx`grant execute on function pg_temp.read_slowly(jsonb) to barid_caller`;
        const [{ answer }] = await tx`select private.call(${tx.json(claims)}, ${tx.json(rule)},
          'pg_temp.read_slowly', ${tx.json({ id })}) as answer`;
        return answer as { data: { city: string }; version: string };
      }) as Promise<{ data: { city: string }; version: string }>,
  );
  expect(read.data?.city, JSON.stringify(read)).not.toBe("Changed meanwhile");
  expect(read.version).toBe(before);
  expect(await versionNow()).not.toBe(before);
});
