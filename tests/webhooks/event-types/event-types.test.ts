/** Which events there are: the list that subscribers read, and that what is sent to them is as it says. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { assign, move, newDelivery, newGround } from "../../support/deliveries.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { startReceiver, until, verified } from "../../support/receiver.ts";
import { moduleId, publish, subscribe, wake } from "../../support/webhooks.ts";

const path = "/webhooks/event-types";
const subscriptions = "/webhooks/subscriptions";
let tenant: Tenant;
let other: Tenant;
let all: Body[];
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  all = (await tenant.staff.get(path)).body.data;
});
const typesOf = (list: Body[]) => list.map((one) => one.event_type);
const list = async (query: Record<string, string>, language: "en" | "ar" | "ku" = "en") => {
  const answer = await tenant.staff.in(language).get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body.data as Body[];
};

describe("the list", () => {
  test("says of each type whose it is, what it means and what is in it", () => {
    expect(all.length).toBeGreaterThan(80);
    expect(all.find((one) => one.event_type === "waybill.received")).toEqual({
      event_type: "waybill.received",
      module: "warehousing",
      entity_type: "waybill",
      description: "A waybill was received at its destination.",
      event_data: {
        waybill_id: "uuid",
        waybill_number: "string",
        source_warehouse_id: "uuid",
        destination_warehouse_id: "uuid",
        driver_id: "uuid",
        received_count: "integer",
        missing_count: "integer",
        missing_delivery_ids: "array",
        actor_id: "uuid?",
      },
    });
  });

  test("is one page, however many are asked for, and says that it takes no limit", async () => {
    const { body } = await tenant.staff.get(path, { query: { limit: 2, page: 2 } });
    expect(body).toMatchObject({
      ignored: ["limit", "page"],
      pagination: { page: 1, limit: all.length, total: all.length },
    });
    expect(body.data).toHaveLength(all.length);
  });

  test("is in the order of modules and names; what may be of any module comes last", () => {
    const places = all.map(({ module, event_type }) => `${module ?? "~"} ${event_type}`);
    expect(places).toEqual([...places].sort());
    expect(typesOf(all.slice(-2))).toEqual(["job.dead", "webhook.test"]);
    expect(all.at(-1)!.module).toBeNull();
  });

  test("names modules as subscriptions do, by whose subscription hears of the event", async () => {
    const { body } = await tenant.staff.get(subscriptions);
    const keys = body.subscriptions.map((one: Body) => one.module.key);
    const modules = new Set(all.map((one) => one.module).filter(Boolean));
    expect([...modules].sort()).toEqual([...keys].sort());
    const moduleOf = (type: string) => all.find((one) => one.event_type === type)!.module;
    expect(moduleOf("cod_settlement.created")).toBe("cod");
    expect(moduleOf("tenant.updated")).toBe("webhooks");
  });

  test("is told in three languages", async () => {
    const [en, ar, ku] = await Promise.all([list({}), list({}, "ar"), list({}, "ku")]);
    expect(typesOf(ar)).toEqual(typesOf(en));
    expect(typesOf(ku)).toEqual(typesOf(en));
    for (const one of en) expect(one.description).toMatch(/^[A-Z][^{}_]+\.$/);
    for (const one of [...ar, ...ku]) {
      expect(one.description, one.event_type).toMatch(/^[\u0600-\u06ff][^{}A-Za-z_]+\.$/);
    }
    const sealed = (list: Body[]) =>
      list.find((one) => one.event_type === "waybill.sealed")!.description;
    expect([en, ar, ku].map(sealed)).toEqual([
      "A waybill was sealed.",
      "خُتمت بوليصة.",
      "بارنامەیەک مۆر کرا.",
    ]);
    // Each says something of its own.
    for (const told of [en, ar, ku]) {
      expect(new Set(told.map((one) => one.description)).size).toBe(told.length);
    }
  });

  test("of a module has what its subscription can hear of, and no more", async () => {
    expect(typesOf(await list({ module: "cod" }))).toEqual([
      "cash_handover.cancelled",
      "cash_handover.counted",
      "cash_handover.discrepancy",
      "cash_handover.resolved",
      "cash_transfer.created",
      "cash_transfer.reversed",
      "cod.mismatch",
      "cod_settlement.created",
      "cod_settlement.reversed",
      "job.dead",
      "webhook.test",
    ]);
    const some = await list({ module: "carriers" });
    expect(new Set(some.map((one) => one.module))).toEqual(new Set(["carriers", null]));
    expect(await tenant.staff.get(path, { query: { module: "payment" } })).toFailWith(
      400,
      "validation_failed",
    );
  });

  test("is searched by name and by what it says, in the language it is said in", async () => {
    expect(typesOf(await list({ search: "Waybill.S" }))).toEqual(["waybill.sealed"]);
    expect(typesOf(await list({ search: "BOOKED WITH" }))).toEqual(["shipment.booked"]);
    expect(typesOf(await list({ search: "خُتمت" }, "ar"))).toEqual(["waybill.sealed"]);
    expect(await list({ search: "خُتمت" })).toEqual([]);
    expect(typesOf(await list({ module: "cod", search: "settlement." }))).toEqual([
      "cod_settlement.created",
      "cod_settlement.reversed",
    ]);
    expect(await list({ search: "  " })).toHaveLength(all.length);
    expect(await tenant.staff.get(path, { query: { search: "x".repeat(201) } })).toFailWith(
      400,
      "validation_failed",
    );
  });

  test("is the same for every tenant, for staff and administrators", async () => {
    for (const who of [tenant.admin, tenant.ops, other.staff]) {
      expect((await who.get(path)).body.data).toEqual(all);
    }
    for (const who of [tenant.driver, tenant.customer]) {
      expect(await who.get(path)).toFailWith(403, "forbidden");
    }
    expect(await nobody.get(path)).toFailWith(401, "unauthorized");
  });

  test("is written by nobody", async () => {
    const [{ rights }] = await sql`select array_agg(distinct privilege_type::text) as rights
      from information_schema.role_table_grants
      where table_schema = 'integration' and table_name = 'event_types' and grantee = 'barid_caller'`;
    expect(rights).toEqual(["SELECT"]);
  });
});

/** True when a value is what the list says of its field. */
function isOf(type: string, value: unknown): boolean {
  if (value === null) return type.endsWith("?");
  const kind = type.replace("?", "");
  if (kind === "uuid") return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(value));
  if (kind === "array") return Array.isArray(value);
  if (kind === "integer") return Number.isInteger(value);
  const is: string = typeof value;
  return is === kind;
}

/** Whether a request to a subscriber is as the API document has it. */
async function documented(): Promise<(body: Body) => boolean> {
  const { body: document } = await nobody.get("/webhooks/openapi.json");
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "barid:api", ...document });
  return (body) => {
    const pointer = `#/webhooks/${body.type}/post/requestBody/content/application~1json/schema`;
    return ajv.validate({ $ref: `barid:api${pointer}` }, body);
  };
}

test("what a subscriber receives is as the list says, and as the API document says", async () => {
  const isDocumented = await documented();
  const receiver = await startReceiver();
  const { id, secret } = await subscribe(tenant, receiver.url);
  const ground = await newGround(tenant);
  const delivery = await newDelivery(ground);
  await assign(tenant, delivery.id);
  expect(await move(tenant.driver, delivery.id, "pickup")).toSucceed(200);
  expect(await tenant.admin.post(`${subscriptions}/${id}/test`)).toSucceed(200);
  const wanted = [
    "delivery.accepted",
    "delivery.created",
    "delivery.picked_up",
    "webhook.test",
  ];
  await until(async () => {
    // As the clock does: what is written below the functions wakes nobody.
    await wake(nobody);
    return wanted.every((type) => receiver.received.some(({ body }) => body.type === type));
  });
  for (const one of receiver.received) {
    const { type, data } = verified(secret, one);
    const { event_data } = all.find((known) => known.event_type === type)!;
    expect(Object.keys(data).sort(), type).toEqual(Object.keys(event_data).sort());
    const wrong = Object.entries(event_data as Record<string, string>)
      .filter(([field, kind]) => !isOf(kind, data[field]));
    expect(wrong, type).toEqual([]);
    expect(isDocumented(one.body), type).toBe(true);
    expect(isDocumented({ ...one.body, data: { ...data, actor_id: 1, test: 1 } }), type).toBe(
      false,
    );
  }
  await receiver.close();
});

describe("a subscription to what nobody knows", () => {
  test("is saved, and the answer names it", async () => {
    const own = await newTenant();
    const body = {
      module_id: await moduleId("delivery"),
      url: "http://127.0.0.1:9/hook",
      event_types: ["*", "delivery.*", "delivery.lost", "waybill.sealed", "parcels.*", "rain"],
    };
    const made = await own.admin.post(subscriptions, body);
    expect(made).toSucceed(201);
    expect(made.body.unknown_event_types).toEqual(["delivery.lost", "parcels.*", "rain"]);
    const { id, event_types } = made.body.subscription;
    expect(event_types).toHaveLength(6);
    const change = (input: Body) => own.admin.put(`${subscriptions}/${id}`, input);
    expect((await change({ event_types: ["order.*", "no.such"] })).body.unknown_event_types)
      .toEqual(["no.such"]);
    // All are known, and nothing is said of types that were not sent.
    for (const input of [{ is_active: false }, { event_types: ["order.paid", "*"] }]) {
      expect(await change(input)).toSucceed(200);
      expect((await change(input)).body).not.toHaveProperty("unknown_event_types");
    }
  });

  test("names what the subscriptions of other modules alone hear of", async () => {
    const own = await newTenant();
    const made = await own.admin.post(subscriptions, {
      module_id: await moduleId("webhooks"),
      url: "http://127.0.0.1:9/hook",
      event_types: ["order.paid", "cod_settlement.created", "job.dead", "tenant.*", "no.such"],
    });
    expect(made).toSucceed(201);
    expect(made.body).toMatchObject({
      unknown_event_types: ["no.such"],
      other_module_event_types: ["cod_settlement.created", "order.paid"],
    });
    const { id } = made.body.subscription;
    const changed = await own.admin.put(`${subscriptions}/${id}`, {
      event_types: ["order.*", "*"],
    });
    expect(changed.body.other_module_event_types).toEqual(["order.*"]);
    expect(changed.body).not.toHaveProperty("unknown_event_types");
  });

  test("knows what was published for the tenant, and for no other", async () => {
    const [own, stranger] = await Promise.all([newTenant(), newTenant()]);
    await publish(nobody, own, { event_type: "route.planned" });
    await publish(nobody, stranger, { event_type: "route.dropped" });
    await publish(nobody, own, { event_type: "order_update" });
    const answer = await own.admin.post(subscriptions, {
      module_id: await moduleId("delivery"),
      url: "http://127.0.0.1:9/hook",
      event_types: ["route.planned", "route.*", "route.dropped", "order_update"],
    });
    expect(answer).toSucceed(201);
    expect(answer.body.unknown_event_types).toEqual(["route.dropped"]);
  });
});
