/** The catalogue of events against the code: what any function can write stands there, and nothing else does. */
import type postgres from "postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { textOf } from "../tools/checks/files.ts";
import { operations } from "../contract/functions.ts";
import { schemaOf } from "../contract/slots.ts";
import { sql } from "../support/db.ts";
import { names, schemas } from "./catalogue.ts";

/** Functions by name, without their comments. */
let bodies: Map<string, string>;
let everything: string;
let listed: string[];
beforeAll(async () => {
  const rows = await sql`select p.oid::regproc::text as name, p.prosrc as body from pg_proc p
    where p.pronamespace::regnamespace::text = any (${schemas})`;
  bodies = new Map(rows.map(({ name, body }) => [name, body.replace(/--[^\n]*/g, "")]));
  everything = [...bodies.values()].join("\n");
  listed = await names(sql`select event_type as name from integration.event_types`);
});

/** These write what others name: the way in for cores, the one for those who publish, and the copy for subscribers. */
const passOn = ["app.events_add", "integration.event_publish", "integration.deliveries_add"];

/** Where an event is written: from the statement to its data. */
const writes =
  /app\.events_add\(([\s\S]*?)'event_data'|insert into integration\.(?:system_events|webhook_events)\b([\s\S]*?)(?:jsonb_build_object\(|\bevent_data\(|;)/g;
const dotted = /'(\w+)\.(\w*)'/g;
const madeElsewhere = /jsonb_build_object\('event_type', '(\w+)\.(\w*)'/g;

/** Names of events, and their beginnings where a word is put behind, that stand in the code that writes events. */
function written(): { types: string[]; families: string[] } {
  const found: RegExpMatchArray[] = [];
  for (const [name, body] of bodies) {
    if (passOn.includes(name)) continue;
    for (const [, added, inserted] of body.matchAll(writes)) {
      const here = [...(added ?? inserted).matchAll(dotted)];
      // Whose type is a parameter gets it from those who call it.
      const types = here.length ? here : [...everything.matchAll(
        new RegExp(`${name.replace(".", "\\.")}\\(([\\s\\S]*?)\\);`, "g"),
      )].flatMap(([, input]) => [...input.matchAll(dotted)]);
      // One that is handed over as a whole is written down where it is made.
      if (body.includes("->> 'event_type'")) types.push(...everything.matchAll(madeElsewhere));
      expect(types, name).not.toEqual([]);
      found.push(...types);
    }
  }
  const unique = (list: string[]) => [...new Set(list)].sort();
  return {
    types: unique(
      found.filter(([, , word]) => word).map(([, family, word]) => `${family}.${word}`),
    ),
    families: unique(found.filter(([, , word]) => !word).map(([, family]) => family)),
  };
}

/** The parts of a call, from behind its bracket on. */
function argumentsOf(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const [token] of text.matchAll(/'(?:[^']|'')*'|[\s\S]/g)) {
    if (token === "(") depth++;
    if (token === ")" && depth-- === 0) break;
    if (token === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += token;
  }
  return parts.map((part) => part.replace(/\s+/g, " ").trim());
}

/**
 * The words that calls of a function hand over, written down there or, where it is another expression, those that are said
 * here to come of it. An expression that is not named fails: nobody knows what it brings.
 */
async function told(
  name: string,
  place: number,
  expressions: Record<string, () => Promise<string[]> | string[]> = {},
): Promise<string[]> {
  const handed = everything.split(`${name}(`).slice(1).map((text) => argumentsOf(text)[place]);
  const literal = (part: string) => /^'(\w+)'$/.exec(part)?.[1];
  expect([...new Set(handed.filter((part) => !literal(part)))].sort(), name)
    .toEqual(Object.keys(expressions).sort());
  const behind = await Promise.all(Object.values(expressions).map((wordsOf) => wordsOf()));
  return [...handed.flatMap((part) => literal(part) ?? []), ...behind.flat()];
}

/** The values that a field of a request body allows. */
function choices(name: string, field: string): string[] {
  const operation = operations.find((one) => one.name === name);
  return schemaOf(operation!, "body")!.properties![field].enum as string[];
}

/** The words of a check constraint that lists them. */
async function statesOf(table: string, column: string): Promise<string[]> {
  const [{ words }] = await sql`select pg_get_constraintdef(c.oid) as words from pg_constraint c
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'c' and c.conrelid = ${table}::regclass and cardinality(c.conkey) = 1 and a.attname = ${column}`;
  return [...words.matchAll(/'(\w+)'/g)].map((match) => match[1]);
}

/** Those of the states that something can come into. */
async function reached(states: string[], legal: (from: string, to: string) => Promise<boolean>) {
  const ends = await Promise.all(states.map(async (to) => {
    const ways = await Promise.all(states.map((from) => legal(from, to)));
    return ways.includes(true) ? [to] : [];
  }));
  return ends.flat();
}

const pickings = async () =>
  (await statesOf("warehousing.picking_orders", "status")).filter((status) => status !== "pending")
    .map((status) => status === "in_progress" ? "started" : status);

/** The words behind the beginnings, from where the code has them. */
const words: Record<string, () => Promise<string[]> | string[]> = {
  delivery: async () =>
    reached(
      await statesOf("delivery.deliveries", "status"),
      async (from, to) =>
        (await sql`select bool_or(delivery.move_is_legal(f, ${from}, ${to})) as legal
          from unnest(array['standard', 'pnd_inbound', 'pnd_outbound', 'operational_return', 'customer_return']) f`)[
          0
        ]
          .legal,
    ),
  order: () =>
    told("storefront.order_event_emit", 1, {
      "n.status": async () =>
        reached(
          await statesOf("storefront.storefront_orders", "status"),
          async (from, to) =>
            (await sql`select storefront.order_move_is_legal(${from}, ${to}) as legal`)[0].legal,
        ),
      "case n.payment_status when 'paid' then 'paid' else 'payment_failed' end": () => [
        "paid",
        "payment_failed",
      ],
    }),
  tenant: () =>
    told("tenancy.tenant_event_emit", 0, {
      "case move_tenant.status when 'active' then 'activated' else move_tenant.status end":
        async () =>
          (await reached(
            await statesOf("tenancy.tenants", "status"),
            async (from, to) =>
              (await sql`select tenancy.may_move(${from}, ${to}) as legal`)[0].legal,
          )).map((status) => status === "active" ? "activated" : status),
    }),
  market: () =>
    told("storefront.market_event_emit", 1, {
      "v_decision": () => choices("PUT /storefront/market/:market_id/review", "decision"),
      "market.publish_status": () => statesOf("storefront.markets", "publish_status"),
    }),
  picking_order: () =>
    told("warehousing.picking_event_emit", 2, {
      "to_status": pickings,
      "v_order.status": pickings,
    }),
  custom_domain: async () => [
    ...await told("storefront.domain_event_emit", 1),
    // It hands on words that are counted where it is called.
    ...await told("storefront.domain_event_write", 1, { happened: () => [] }),
  ],
  waybill: () => told("warehousing.waybill_event_emit", 1),
  review: () => choices("PUT /storefront/reviews/:review_id", "decision"),
  assignment: () => choices("PUT /delivery/assignments/:assignmentId", "status"),
  bulk_assignment: () => choices("PUT /delivery/assignments/bulk/:bulkAssignmentId", "status"),
};

test("every event that a function writes is listed, and every one that is listed is written", async () => {
  const { types, families } = written();
  expect(types.length).toBeGreaterThan(25);
  // A new beginning needs a line above that says which words come behind it.
  expect(families).toEqual(Object.keys(words).sort());
  const built = await Promise.all(
    families.map(async (family) => (await words[family]()).map((word) => `${family}.${word}`)),
  );
  expect(listed).toEqual([...new Set([...types, ...built.flat()])].sort());
});

test("the fields are of types there are", async () => {
  expect(
    await names(sql`select t.event_type || ' ' || f.key || ' ' || f.value as name
      from integration.event_types t cross join jsonb_each_text(t.event_data) f
      where f.key !~ '^[a-z][a-z0-9_]*$' or f.value !~ '^(uuid|string|integer|number|boolean|object|array|timestamp)\\??$'`),
  ).toEqual([]);
});

test("docs/operations.md names each of them, or its family", () => {
  const page = textOf("docs/operations.md").split("## System events")[1];
  const silent = listed.filter((type) =>
    !page.includes(`\`${type}\``) && !page.includes(`\`${type.split(".")[0]}.<`)
  );
  // Nobody but the subscriber who asks for it hears of a test.
  expect(silent).toEqual(["webhook.test"]);
});

describe("the watch over what is written (support/event-watch.ts)", () => {
  /** The check's findings for events that are written and rolled back. */
  async function checked(
    write: (tx: postgres.TransactionSql) => Promise<unknown>,
  ): Promise<string[]> {
    const undone = new Error("undone");
    let wrong: string[] = [];
    await sql.begin(async (tx) => {
      await write(tx);
      // Of this transaction: others are checked meanwhile.
      wrong = await names(tx`select wrong as name from watch.untrue_events
        where xmin = pg_current_xact_id()::xid`);
      throw undone;
    }).catch((error) => {
      if (error !== undone) throw error;
    });
    return wrong;
  }
  const told = (event: object) =>
    checked((tx) => tx`select app.events_add(${tx.json([event] as never)})`);
  const id = "00000000-0000-4000-8000-000000000001";
  const right = {
    event_type: "inventory.moved",
    source_module: "warehousing",
    entity_type: "warehouse",
    entity_id: id,
    event_data: { move_id: id, warehouse_id: id, lines: 2, actor_id: null },
  };
  const withData = (more: object) => ({ ...right, event_data: { ...right.event_data, ...more } });

  test("lets pass what is as it is listed", async () => {
    expect(await told(right)).toEqual([]);
  });

  test("names the event and what is wrong with it", async () => {
    expect(await told({ ...right, event_type: "inventory.lost" })).toEqual([
      "inventory.lost is not in the catalogue",
    ]);
    expect(await told({ ...right, source_module: "delivery", entity_type: "item" })).toEqual([
      "inventory.moved comes from delivery, not warehousing",
      "inventory.moved is about a thing of the kind item, not warehouse",
    ]);
    expect(await told(withData({ extra: 1, lines: 1.5, move_id: null, actor_id: "someone" })))
      .toEqual([
        'inventory.moved has "someone" in actor_id, which is declared as uuid?',
        "inventory.moved has 1.5 in lines, which is declared as integer",
        "inventory.moved has a field extra that is not declared: 1",
        "inventory.moved has null in move_id, which is declared as uuid",
      ]);
    const { move_id: _, ...less } = right.event_data;
    expect(await told({ ...right, event_data: less })).toEqual([
      "inventory.moved has no field move_id",
    ]);
  });

  test("has nothing to say of what is published for others, or written by hand", async () => {
    const other = { ...right, event_type: "inventory.lost" };
    expect(await told(other)).toHaveLength(1);
    expect(
      await checked(async (tx) => {
        await tx`select set_config('app.grants', '{service}', true)`;
        await tx`select integration.event_publish(${tx.json({ ...other, tenant_id: null })})`;
      }),
    ).toEqual([]);
    expect(
      await checked((tx) =>
        tx`insert into integration.system_events (event_type, source_module, entity_type, entity_id)
          values ('inventory.lost', 'warehousing', 'warehouse', ${id})`
      ),
    ).toEqual([]);
  });
});
