/** `updated_since` and its cursor: a copy that polls misses nothing, whoever commits when. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../support/api.ts";
import { settled } from "../support/changes.ts";
import { sql } from "../support/db.ts";
import { type Everything, newEverything } from "../support/everything.ts";

/** The lists that are polled: path, table, where the rows stand. */
const nothing = { search: "nothing is called this" };
const polled: [string, string, (body: Body) => Body[], Record<string, string>][] = [
  ["/delivery/deliveries", "delivery.deliveries", (body) => body.data, nothing],
  ["/delivery/assignments", "delivery.assignments", (body) => body.assignments, {
    driver_id: randomUUID(),
  }],
  ["/delivery/cod-collections", "money.cod_collections", (body) => body.cod.collections, nothing],
  ["/storefront/orders", "storefront.storefront_orders", (body) => body.orders, nothing],
  ["/warehousing/picking-orders", "warehousing.picking_orders", (body) => body.orders, nothing],
];

let all: Everything;
beforeAll(async () => {
  all = await newEverything("received");
  await settled(all.tenant.id, polled.map(([, table]) => table));
});

describe.each(polled)("%s", (path, table, rowsOf, nobodys) => {
  const poll = async (query: Record<string, string | number>) => {
    const answer = await all.tenant.admin.get(path, { query });
    expect(answer).toSucceed(200);
    return { body: answer.body, ids: rowsOf(answer.body).map(({ id }: Body) => id) };
  };

  /** Follows the cursor to where nothing more waits. */
  const readOn = async (query: Record<string, string | number>) => {
    const ids: string[] = [];
    let body: Body;
    do {
      const step = await poll(query);
      body = step.body;
      ids.push(...step.ids);
      query = { limit: query.limit ?? 100, cursor: body.next_cursor };
    } while (body.has_more);
    return { ids, cursor: body.next_cursor as string };
  };

  /** Changes rows without their guards minding: only the time moves. */
  const touch = (tx: typeof sql, ids: readonly string[]) =>
    tx.unsafe(`update ${table} set updated_at = now() where id = any($1::text[]::uuid[])`, [
      ids as string[],
    ]);

  test(
    "tells every row once in steps, then only what changed, also what was committed late",
    async () => {
      const stored = await sql.unsafe(`select id from ${table} where tenant_id = $1`, [
        all.tenant.id,
      ]);
      const first = await readOn({ updated_since: "2000-01-01", limit: 1 });
      expect(first.ids.toSorted()).toEqual(stored.map(({ id }) => id).toSorted());
      expect(first.ids.length).toBeGreaterThan(0);
      expect((await readOn({ cursor: first.cursor })).ids).toEqual([]);

      const id = first.ids[0];
      let { cursor } = first;
      // A change that is committed later than one that began after it.
      let commit!: () => void;
      const waiting = new Promise<void>((resolve) => (commit = resolve));
      let noteBegun!: () => void;
      const begun = new Promise<void>((resolve) => (noteBegun = resolve));
      const slow = sql.begin(async (tx) => {
        await touch(tx as unknown as typeof sql, [id]);
        noteBegun();
        await waiting;
      });
      await begun;
      if (first.ids.length > 1) await touch(sql, [first.ids[1]]);
      ({ cursor } = await readOn({ cursor }));
      commit();
      await slow;
      // Other tests' transactions on this server may hold the line for a moment.
      const seen = new Set<string>();
      const wanted = first.ids.slice(0, 2);
      for (let attempt = 0; attempt < 100 && !wanted.every((one) => seen.has(one)); attempt++) {
        const step = await readOn({ cursor });
        for (const one of step.ids) seen.add(one);
        cursor = step.cursor;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect([...seen].toSorted()).toEqual(wanted.toSorted());
    },
    30_000,
  );

  test("filters narrow it, and a moment in the future has nothing yet", async () => {
    expect((await poll({ updated_since: "2999-01-01" })).ids).toEqual([]);
    const { body } = await poll({ updated_since: "2000-01-01", ...nobodys });
    expect(rowsOf(body)).toEqual([]);
    expect(body).toMatchObject({ has_more: false, next_cursor: null });
  });

  test("refuses a cursor that is none, and a time that is none", async () => {
    for (
      const cursor of [
        "x",
        "%%%",
        btoa("1.x"),
        btoa("99999999999999999999.".padEnd(40, "0")),
        "a".repeat(200),
      ]
    ) {
      expect(await all.tenant.admin.get(path, { query: { cursor } })).toFailWith(
        400,
        "invalid_cursor",
      );
    }
    expect(await all.tenant.admin.get(path, { query: { updated_since: "yesterday" } }))
      .toFailWith(400, "validation_failed");
  });

  test("refuses a cursor that was given before the database was set back: the changes until there would be missed", async () => {
    const [{ next }] = await sql`select pg_snapshot_xmax(pg_current_snapshot())::text as next`;
    const cursorAt = (number: bigint) =>
      btoa(`${number}.ffffffff-ffff-4fff-8fff-ffffffffffff`).replaceAll("=", "");
    for (const query of [{}, { format: "csv" }, { limit: 1 }]) {
      const cursor = cursorAt(BigInt(next) + 1_000_000n);
      expect(await all.tenant.admin.get(path, { query: { ...query, cursor } })).toFailWith(
        400,
        "invalid_cursor",
      );
    }
    expect((await poll({ cursor: cursorAt(BigInt(next) - 1n) })).ids).toEqual([]);
  });

  test("plain pages say nothing of it", async () => {
    const { body } = await poll({});
    expect(body).not.toHaveProperty("next_cursor");
    expect(rowsOf(body)[0]).not.toHaveProperty("changed");
    expect(rowsOf(body)[0]).not.toHaveProperty("changed_at");
  });
});

test("a time far back in many changes is found without reading all before it, and nothing after it is left out", async () => {
  const since = "2020-06-01T12:00:00Z";
  const [{ id: tenant }] = [all.tenant];
  // Numbers of transactions and when they changed their row, in minutes from `since`: not quite in one order.
  const changes = [[10, -600], [20, -300], [30, 5], [40, -30], [50, 1], [60, -59], [70, 90]];
  await sql`insert into warehousing.picking_orders (tenant_id, reference_number, warehouse_id, order_type, changed, updated_at)
    select ${tenant}, 'CHANGES-' || c.number, w.id, 'individual', c.number, ${since}::timestamptz + c.minutes * interval '1 minute'
    from (select id from warehousing.warehouses where tenant_id = ${tenant} limit 1) w,
      unnest(${changes.map(([number]) => number!)}::int[], ${
    changes.map(([, minutes]) => minutes!)
  }::int[]) c (number, minutes)`;
  const { body } = await all.tenant.admin.get("/warehousing/picking-orders", {
    query: { updated_since: since, search: "CHANGES-" },
  });
  expect(body.orders.map((order: Body) => order.reference_number)).toEqual(
    [30, 50, 70].map((number) => `CHANGES-${number}`),
  );
  const from = await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant}, true)`;
    const [row] =
      await tx`select private.changes_from('warehousing.picking_orders', ${since})::int as number`;
    return row!.number;
  });
  expect(from).toBe(20);
});
