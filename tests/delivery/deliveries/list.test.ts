import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { settled } from "../../support/changes.ts";
import {
  assign,
  type Ground,
  handedTo,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
const made: Record<string, string> = {};
const codes: Record<string, number> = {};

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  const orders: [string, Record<string, unknown>][] = [
    ["first", {
      external_reference_id: "REF-100%",
      recipient: { name: "Zainab", phone: "+964123" },
    }],
    ["second", { recipient: { name: "Omar" }, cod_amount: 5000, barcode: "BOX-0001" }],
    ["third", { customer_id: tenant.institution.id, recipient: { name: "Sara_1" } }],
    ["draft", { status: "draft" }],
  ];
  for (const [name, more] of orders) {
    const delivery = await newDelivery(ground, more);
    made[name] = delivery.id;
    codes[name] = delivery.delivery_code;
  }
  await assign(tenant, made.second);
});

const list = async (query: Record<string, unknown>, person = tenant.ops) => {
  const answer = await person.get(path, { query: query as Record<string, string> });
  expect(answer).toSucceed(200);
  return answer.body;
};
const ids = async (query: Record<string, unknown>, person = tenant.ops) =>
  (await list(query, person)).data.map(({ id }: { id: string }) => id);

describe("the list of deliveries", () => {
  test("shows the newest first, twenty of a page, with its total", async () => {
    const page = await list({});
    expect(page).toMatchObject({ pagination: { page: 1, limit: 20, total: 4 } });
    expect(page.data.map(({ id }: { id: string }) => id))
      .toEqual([made.draft, made.third, made.second, made.first]);
    expect(await list({ limit: 1000 })).toMatchObject({ pagination: { limit: 100 } });
    expect((await list({ limit: 3, page: 2 })).data).toHaveLength(1);
    expect(page.data[2]).toMatchObject({
      status: "accepted",
      cod_amount: 5000,
      price: 2000,
      customer: { id: tenant.customer.id },
      assignment: { driver_id: tenant.driver.id, status: "accepted" },
    });
  });

  test("narrows by each filter, alone and in column_filters", async () => {
    const wanted: [Record<string, unknown>, string[]][] = [
      [{ status: "accepted" }, ["second"]],
      [{ status: "draft" }, ["draft"]],
      [{ status: "accepted,draft" }, ["draft", "second"]],
      [{ status: "draft,draft,pending", delivery_flow: "standard" }, ["draft", "third", "first"]],
      [{ column_filters: { status: ["accepted", "draft"] } }, ["draft", "second"]],
      [{ column_filters: { status: "accepted,draft" }, status: "draft,pending" }, ["draft"]],
      [{ driver_id: tenant.driver.id }, ["second"]],
      [{ driver_id: tenant.driver2.id }, []],
      [{ customer_id: tenant.customer.id }, ["draft", "second", "first"]],
      [{ institution_user_id: tenant.institution.id }, ["third"]],
      [{ delivery_service_id: ground.service, status: "pending" }, ["third", "first"]],
      [{ delivery_flow: "pnd_parent" }, []],
      [{ external_reference_id: "REF-100%" }, ["first"]],
      [{ date_from: "2020-01-01", date_to: "2020-01-02" }, []],
      [{ column_filters: { cod_amount: { min: 1 } } }, ["second"]],
      [{ column_filters: { external_reference_id: "f-100%" } }, ["first"]],
      [{ column_filters: { status: "pending", payment_method: "cash" } }, ["third", "first"]],
      [{ column_filters: { delivery_code: codes.third } }, ["third"]],
      [{ sort_by: "delivery_code", sort_order: "asc", limit: 2 }, ["first", "second"]],
    ];
    for (const [query, names] of wanted) {
      expect(await ids(query), JSON.stringify(query)).toEqual(names.map((name) => made[name]));
    }
  });

  test("counts, files and follows what several words leave, and says which filter is wrong", async () => {
    expect(await list({ status: "accepted,draft", limit: 1 })).toMatchObject({
      pagination: { total: 2, total_pages: 2 },
    });
    const file = await tenant.ops.get(path, { query: { status: "accepted,draft", format: "csv" } });
    expect(new TextDecoder().decode(file.body).trim().split("\r\n")).toHaveLength(3);
    await settled(tenant.id, ["delivery.deliveries"]);
    const since = await list({ status: "accepted,draft", updated_since: "2020-01-01" });
    expect(since.data).toHaveLength(2);
    const wrong = await tenant.ops.get(path, { query: { status: "draft,lost" } });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body).toMatchObject({
      field: "status",
      message: expect.stringContaining("draft, pending, assigned"),
    });
    expect(await tenant.ops.get(path, { query: { column_filters: { status: ["lost"] } } }))
      .toFailWith(400, "invalid_column_filters");
  });

  test("finds parts of number, barcode, reference, name and phone, wildcards being letters", async () => {
    const wanted: [string, string[]][] = [
      ["zain", ["first"]],
      ["100%", ["first"]],
      ["1_0%", []],
      ["a_1", ["third"]],
      ["ox-00", ["second"]],
      ["+964123", ["first"]],
      [String(codes.third).padStart(10, "0"), ["third"]],
      ["nothing like it", []],
    ];
    for (const [search, names] of wanted) {
      expect(await ids({ search }), search).toEqual(names.map((name) => made[name]));
      expect((await list({ search })).pagination.total).toBe(names.length);
    }
  });

  test("refuses filters that are none", async () => {
    for (
      const query of [
        { status: "lost" },
        { status: "draft,lost" },
        { status: "draft," },
        { driver_id: "x" },
        { sort_by: "price" },
        { date_from: "soon" },
      ]
    ) {
      expect((await tenant.ops.get(path, { query })).status).toBe(
        400,
      );
    }
    expect(await tenant.ops.get(path, { query: { column_filters: "{" } }))
      .toFailWith(400, "invalid_column_filters");
    expect(await nobody.get(path)).toFailWith(401, "unauthorized");
  });

  test("is a person's own, in its search and its total as well", async () => {
    expect(await ids({}, tenant.driver)).toEqual([made.second]);
    expect(await list({ search: "zain" }, tenant.driver)).toMatchObject({
      pagination: { total: 0 },
    });
    expect(await list({}, tenant.institution)).toMatchObject({ pagination: { total: 1 } });
    expect(await list({ status: "pending" }, tenant.customer)).toMatchObject({
      pagination: { total: 1 },
    });
  });
});

describe("handoffs and receipts", () => {
  test("are listed by the record they belong to, and a driver sees only their own", async () => {
    const { b } = await stagedInWarehouse(ground);
    const handoff = await handedTo(ground, b);
    const asked = async (query: Record<string, string>, person = tenant.ops) => {
      const answer = await person.get("/delivery/handoffs", { query });
      expect(answer).toSucceed();
      return answer.body.data.map(({ id }: { id: string }) => id);
    };
    expect(await asked({ status: "pending", warehouse_id: ground.warehouse })).toEqual([handoff]);
    expect(await asked({ driver_id: tenant.driver.id })).toEqual([handoff]);
    expect(await asked({}, tenant.driver)).toEqual([handoff]);
    expect(await asked({}, tenant.driver2)).toEqual([]);
    expect(await tenant.customer.get("/delivery/handoffs")).toFailWith(403, "forbidden");
    const { data: handoffs } = (await tenant.ops.get("/delivery/handoffs")).body;
    expect(handoffs[0]).toMatchObject({
      delivery_id: b,
      driver_id: tenant.driver.id,
      status: "pending",
      custody: "warehouse",
      warehouse_id: ground.warehouse,
    });
    expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`)).toSucceed();
    await moves(tenant.driver, b, "return");
    const orders = async (query: Record<string, string>) =>
      (await tenant.warehouse.get("/warehousing/receiving-orders", { query })).body;
    const { data: pending } = await orders({ status: "pending" });
    expect(pending).toMatchObject([{ source: "delivery_return_handoff", delivery: { id: b } }]);
    expect(await orders({ search: pending[0].reference_number })).toMatchObject({
      pagination: { total: 1 },
    });
    expect(await orders({ search: "%" })).toMatchObject({ pagination: { total: 0 } });
    expect(await orders({ source: "inbound" })).toMatchObject({ pagination: { total: 1 } });
    expect(await orders({ warehouse_id: ground.warehouse })).toMatchObject({
      pagination: { total: 2 },
    });
    expect(await tenant.driver.get("/warehousing/receiving-orders")).toFailWith(403, "forbidden");
  });
});
