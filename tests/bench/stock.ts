/**
 * Warehouses: picking orders on 10,000 and on 1,000,000 rows of one tenant, a transfer of 100 lines
 * against the one plain statement it comes down to, the dashboard of a warehouse with 100,000 rows, and
 * fifty who want one unit each of ten, on two processes.
 */
import { randomUUID } from "node:crypto";
import { compareRows, get, p95, p95s, post, timed } from "./ask.ts";
import { type Bench, startBench } from "./bench-stack.ts";
import { fillTables } from "./fill.ts";
import { median } from "./load.ts";
import type { Report } from "./report.ts";

const small = 10_000;
const large = 1_000_000;
const lines = 100;
const rows = 100_000;

export async function benchStock(report: Report): Promise<void> {
  await benchRace(report);
  const bench = await startBench();
  try {
    await prepare(bench);
    await fillPicking(bench, 0, small);
    const few = await measureOrders(bench, small);
    await fillPicking(bench, small, large);
    const many = await measureOrders(bench, large);
    compareRows(report, { few, many, rows: [small, large], of: "picking orders" });
    await benchTransfer(bench, report);
    await benchDashboard(bench, report);
  } finally {
    await bench.stop();
  }
}

/** Two warehouses with 200 bins each, 100 items, and the signed-in person at work in the first. */
async function prepare({ stack, tenantId, userId }: Bench): Promise<void> {
  const { sql } = stack;
  await sql`insert into warehousing.warehouses (tenant_id, name, code, address_id)
    select ${tenantId}, 'Bench', 'BENCH-' || n, (select id from delivery.addresses where tenant_id = ${tenantId} limit 1)
    from generate_series(1, 2) n`;
  await sql`insert into warehousing.bins (tenant_id, warehouse_id, code, name)
    select w.tenant_id, w.id, 'BENCH-' || lpad(n::text, 4, '0'), 'Bench'
    from warehousing.warehouses w, generate_series(1, 200) n where w.tenant_id = ${tenantId} and w.code like 'BENCH-%'`;
  await sql`insert into warehousing.inventory_items (tenant_id, name, sku)
    select ${tenantId}, 'Bench', 'BENCH-' || n from generate_series(1, ${lines}) n`;
  await sql`insert into warehousing.warehouse_staff (tenant_id, warehouse_id, user_id)
    select w.tenant_id, w.id, ${userId} from warehousing.warehouses w where w.tenant_id = ${tenantId} and w.code like 'BENCH-%'`;
  await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    values (${tenantId}, ${userId}, 'warehouse_manager') on conflict do nothing`;
}

/** Picking orders of one line, spread over two warehouses whose codes begin with BENCH. */
export async function fillPicking(bench: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading picking orders ${from} to ${to} ...`);
  const tables = ["warehousing.picking_orders", "warehousing.picking_order_items"];
  await fillTables(bench, { tables, tallies: ["picking_orders"] }, async (tx, tenantId) => {
    await tx`insert into warehousing.picking_orders (tenant_id, reference_number, warehouse_id, order_type, status, priority, created_at)
      select ${tenantId}, 'PKO-' || lpad((s.n::bigint * 7919 % 9999991)::text, 7, '0'), w.id, 'individual',
        (array['pending', 'in_progress', 'completed', 'handed_off', 'cancelled'])[1 + s.n % 5], s.n % 10,
        now() - s.n * interval '1 second'
      from generate_series(${from + 1}::int, ${to}::int) s (n)
      join warehousing.warehouses w on w.tenant_id = ${tenantId} and w.code = 'BENCH-' || 1 + s.n % 2`;
    await tx`insert into warehousing.picking_order_items (tenant_id, picking_order_id, position, warehouse_id, item_id, bin_id, quantity)
      select o.tenant_id, o.id, 1, o.warehouse_id, gen_random_uuid(), gen_random_uuid(), 1
      from warehousing.picking_orders o where o.tenant_id = ${tenantId} and not exists (
        select from warehousing.picking_order_items i where i.tenant_id = o.tenant_id and i.picking_order_id = o.id)`;
  });
}

async function measureOrders(bench: Bench, total: number): Promise<Record<string, number>> {
  const { stack, tenantId } = bench;
  const sample = await stack
    .sql`select reference_number, warehouse_id from warehousing.picking_orders
    where tenant_id = ${tenantId} order by created_at desc limit 200 offset ${
    Math.floor(total / 2)
  }`;
  const list = (query: string) => get(bench, `/warehousing/picking-orders?${query}`);
  const at = (i: number) => sample[i % sample.length]!;
  return await p95s({
    "first page": () => list(""),
    "first page of a warehouse and a status": (i) =>
      list(`warehouse_id=${at(i).warehouse_id}&status=pending`),
    "found by reference": (i) => list(`search=${at(i).reference_number}`),
    "found by part of a reference": (i) => list(`search=${at(i).reference_number.slice(-6)}`),
  });
}

/**
 * A transfer over HTTP beside the one statement that writes the same rows: the transfer with its lines, both stock
 * rows of each line and their paired movements, with the constraints and the audit log those tables have, by a
 * superuser who asks no policy, checks no rule, locks in no order and answers nothing.
 */
async function benchTransfer(bench: Bench, report: Report): Promise<void> {
  const { stack: { sql }, tenantId } = bench;
  const [here, there] = await sql`select id from warehousing.warehouses
    where tenant_id = ${tenantId} and code like 'BENCH-%' order by code`;
  const binOf = async (warehouse: string) => {
    const [bin] = await sql`select id from warehousing.bins where warehouse_id = ${warehouse}
      order by code limit 1`;
    return bin!.id as string;
  };
  const [from, to] = [await binOf(here!.id), await binOf(there!.id)];
  const items = await sql`select id from warehousing.inventory_items
    where tenant_id = ${tenantId} and sku like 'BENCH-%' order by sku`;
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenantId}, true)`;
    await tx`select warehousing.stock_receive(${
      JSON.stringify([[here!.id, from], [there!.id, to]].flatMap(([warehouse_id, bin_id]) =>
        items.map(({ id }) => ({ item_id: id, warehouse_id, bin_id, quantity: 100_000 }))
      ))
    }::text::jsonb)`;
  });
  await sql`vacuum analyze warehousing.stock`;
  const wanted = items.map(({ id }) => ({
    item_id: id,
    quantity: 1,
    source_bin_id: from,
    destination_bin_id: to,
  }));
  const body = {
    source_warehouse_id: here!.id,
    destination_warehouse_id: there!.id,
    items: wanted,
  };
  const plain = () =>
    sql`with transfer as (
        insert into warehousing.inventory_transfers (tenant_id, reference_number, source_warehouse_id, destination_warehouse_id)
        values (${tenantId}, ${randomUUID()}, ${here!.id}, ${there!.id}) returning id
      ), wanted as materialized (
        select * from rows from (jsonb_to_recordset(${JSON.stringify(wanted)}::text::jsonb)
          as (item_id uuid, quantity bigint, source_bin_id uuid, destination_bin_id uuid))
          with ordinality w (item_id, quantity, source_bin_id, destination_bin_id, position)
      ), lines as (
        insert into warehousing.inventory_transfer_items (tenant_id, transfer_id, position, item_id, quantity, source_warehouse_id,
          source_bin_id, destination_warehouse_id, destination_bin_id)
        select ${tenantId}, t.id, w.position, w.item_id, w.quantity, ${
      here!.id
    }, w.source_bin_id, ${there!.id}, w.destination_bin_id
        from wanted w, transfer t
      ), moved as (
        update warehousing.stock s set quantity = s.quantity + e.sign * w.quantity
        from wanted w cross join lateral (values (w.source_bin_id, -1), (w.destination_bin_id, 1)) e (bin_id, sign)
        where s.tenant_id = ${tenantId} and s.bin_id = e.bin_id and s.item_id = w.item_id and s.status = 'available'
        returning s.id, s.item_id, s.warehouse_id, s.bin_id, s.status, w.quantity, e.sign < 0 as leaves
      )
      insert into warehousing.inventory_transactions (tenant_id, transaction_type, item_id, warehouse_id, quantity,
        from_stock_id, to_stock_id, from_bin_id, to_bin_id, from_status, to_status, reference_type, reference_id)
      select ${tenantId}, case when m.leaves then 'transfer_out' else 'transfer_in' end, m.item_id, m.warehouse_id, m.quantity,
        case when m.leaves then m.id end, case when not m.leaves then m.id end,
        case when m.leaves then m.bin_id end, case when not m.leaves then m.bin_id end,
        case when m.leaves then m.status end, case when not m.leaves then m.status end, 'transfer', t.id
      from moved m, transfer t`;
  // By turns, so that a busy moment of the machine meets both.
  const took = { through: [] as number[], plain: [] as number[] };
  for (let i = -10; i < 60; i++) {
    const through = await timed(() => post(bench, "/warehousing/inventory-transfers", body));
    const bare = await timed(plain);
    if (i < 0) continue;
    took.through.push(through);
    took.plain.push(bare);
  }
  const [through, bare] = [median(took.through), median(took.plain)];
  report.note(
    `transfer of ${lines} lines: ${through.toFixed(1)} ms through the API, ${
      bare.toFixed(1)
    } ms as one plain statement`,
  );
  report.ratio({
    what: `transfer of ${lines} lines through the API against one plain statement`,
    value: through / bare,
    atMost: 2,
  });
}

/** Through the gateway, which gives requests to the processes in turn: from the first question to the last answer. */
async function benchRace(report: Report): Promise<void> {
  const bench = await startBench({}, 2);
  try {
    await prepare(bench);
    const { stack: { sql, url }, token, tenantId } = bench;
    const took: number[] = [];
    for (let round = 0; round < 5; round++) {
      const [place] = await sql`select b.warehouse_id, b.id as bin_id, i.id as item_id
        from warehousing.bins b, warehousing.inventory_items i
        where b.tenant_id = ${tenantId} and b.code = 'BENCH-0001' and i.tenant_id = ${tenantId}
          and i.sku = ${`BENCH-${round + 1}`} limit 1`;
      await sql.begin(async (tx) => {
        await tx`set local session_replication_role = replica`;
        await tx`insert into warehousing.stock (tenant_id, warehouse_id, bin_id, item_id, status, quantity)
          values (${tenantId}, ${place!.warehouse_id}, ${place!.bin_id}, ${
          place!.item_id
        }, 'available', 10)`;
      });
      const begun = performance.now();
      const answers = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const response = await fetch(`${url}/functions/v1/warehousing/picking-orders`, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
            body: JSON.stringify({
              warehouse_id: place!.warehouse_id,
              order_type: "individual",
              status: "in_progress",
              item_details: [{ item_id: place!.item_id, bin_id: place!.bin_id, quantity: 1 }],
            }),
          });
          await response.arrayBuffer();
          return response.status;
        }),
      );
      const won = answers.filter((status) => status === 201).length;
      if (won !== 10 || answers.some((status) => ![201, 409].includes(status))) {
        throw new Error(`race answered ${answers}`);
      }
      // The first round loads what the processes need.
      if (round > 0) took.push(performance.now() - begun);
    }
    report.ratio({
      what: "50 want one unit each of 10, two processes: the last answer",
      value: median(took),
      atMost: 1_000,
      unit: "ms",
    });
  } finally {
    await bench.stop();
  }
}

/** Two dashboards of warehouses of the same tenant: a nearly empty one and one with many rows. */
async function benchDashboard(bench: Bench, report: Report): Promise<void> {
  const { stack, tenantId } = bench;
  const { sql } = stack;
  const [here, there] = await sql`select id from warehousing.warehouses
    where tenant_id = ${tenantId} and code like 'BENCH-%' order by code`;
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`insert into warehousing.stock (tenant_id, warehouse_id, bin_id, item_id, status, lot_number, quantity)
      select b.tenant_id, b.warehouse_id, b.id, i.id, (array['available', 'damaged', 'expired', 'quarantine'])[1 + n % 4], 'L' || n, 3
      from warehousing.bins b
      cross join warehousing.inventory_items i
      cross join generate_series(1, ${Math.ceil(rows / (200 * lines))}::int) n
      where b.warehouse_id = ${
      here!.id
    } and b.code like 'BENCH-%' and i.tenant_id = ${tenantId} and i.sku like 'BENCH-%'`;
  });
  await sql`select private.tally_rebuild('stock')`;
  await sql`vacuum analyze warehousing.stock`;
  const see = (warehouse: string) =>
    p95(() => get(bench, `/warehousing/dashboard?warehouse_id=${warehouse}`));
  const [few, many] = [await see(there!.id), await see(here!.id)];
  report.note(
    `dashboard: p95 ${few.toFixed(1)} ms with ${lines} stock rows, ${
      many.toFixed(1)
    } ms with ${rows}`,
  );
  report.ratio({
    what: `dashboard: p95 with ${rows} stock rows in the warehouse`,
    value: many,
    atMost: 50,
    unit: "ms",
  });
}
