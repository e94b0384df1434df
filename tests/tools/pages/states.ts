/** docs/states.md: the moves that the database allows, as diagrams, read from the functions that allow them. */
import type postgres from "postgres";

type Move = [from: string, to: string];

export async function statesPage(sql: postgres.Sql): Promise<string> {
  const lines = [
    "# States",
    "",
    "The moves of a status that the database allows, whoever writes it. Written by `npm run docs` from the functions that allow",
    "them. Which call makes a move: [deliveries](deliveries.md#states), [cash](cash.md#states), [warehouse](warehouse.md#states),",
    "[platform](platform.md#states).",
    "",
  ];
  const parts: [title: string, note: string, moves: Move[]][] = [
    [
      "Delivery",
      "`delivery.move_is_legal`, of a delivery from door to door.",
      await moves(
        sql,
        "delivery.deliveries",
        (from, to) => sql`delivery.move_is_legal('standard', ${from}, ${to})`,
      ),
    ],
    [
      "Outbound leg",
      "`delivery.move_is_legal`, of the leg that leaves a warehouse.",
      await moves(
        sql,
        "delivery.deliveries",
        (from, to) => sql`delivery.move_is_legal('pnd_outbound', ${from}, ${to})`,
      ),
    ],
    [
      "Transfer manifest",
      "`delivery.manifest_guard`. A completed manifest reopens only for an item whose order was cancelled.",
      await listed(sql, "delivery.manifest_guard"),
    ],
    [
      "Manifest item",
      "`delivery.manifest_item_guard`. An item leaves `order_created` only when its order was cancelled.",
      await listed(sql, "delivery.manifest_item_guard"),
    ],
    [
      "Picking order",
      "`warehousing.picking_order_guard`. A completed one can be cancelled as well while it waits for its driver or its order.",
      await listed(sql, "warehousing.picking_order_guard"),
    ],
    [
      "Store order",
      "`storefront.order_move_is_legal`. A shipped order whose deliveries all came back is cancelled.",
      await moves(
        sql,
        "storefront.storefront_orders",
        (from, to) => sql`storefront.order_move_is_legal(${from}, ${to})`,
      ),
    ],
  ];
  for (const [title, note, found] of parts) {
    if (!found.length) throw new Error(`No move was found for ${title}.`);
    lines.push(`## ${title}`, "", note, "", "```mermaid", "stateDiagram-v2");
    for (const [from, to] of found) lines.push(`  ${from} --> ${to}`);
    lines.push("```", "");
  }
  return lines.join("\n").trimEnd() + "\n";
}

/** Every pair of the table's statuses for which the function answers true. */
async function moves(
  sql: postgres.Sql,
  table: string,
  legal: (from: postgres.Fragment, to: postgres.Fragment) => postgres.Fragment,
): Promise<Move[]> {
  const rows = await sql<{ from: string; to: string }[]>`
    with statuses as (
      select m[1] as status, position
      from pg_constraint c,
        regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_]+)''::text', 'g') with ordinality as found (m, position)
      where c.conrelid = ${table}::regclass and c.contype = 'c' and pg_get_constraintdef(c.oid) like 'CHECK ((status = ANY%')
    select f.status as from, t.status as to from statuses f, statuses t
    where f.status <> t.status and ${
    legal(sql`f.status`, sql`t.status`)
  } order by f.position, t.position`;
  return rows.map(({ from, to }) => [from, to]);
}

/** The moves that stand in a trigger function's list as `from>to`. */
async function listed(sql: postgres.Sql, name: string): Promise<Move[]> {
  const [{ source }] = await sql`select prosrc as source from pg_proc where oid = ${name}::regproc`;
  return [...(source as string).matchAll(/'([a-z_]+)>([a-z_]+)'/g)].map((
    [, from, to],
  ) => [from, to]);
}
