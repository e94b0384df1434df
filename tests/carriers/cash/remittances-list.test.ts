/** Reads of carrier remittances: the list with its filters and sums, as a file, and one remittance with its parcels. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { carried, newSide, payCarried as pay, type Side } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { expectGuarded } from "../../support/promises.ts";

const path = "/carriers/tenant/simulated/remittances";
let side: Side;
let other: Side;
/** The payments, the newest first; each a day older than the one before. */
const ids: string[] = [];
let parcels: Awaited<ReturnType<typeof carried>>;

beforeAll(async () => {
  [side, other] = await Promise.all([newSide(), newSide()]);
  const { tenant } = side;
  parcels = await carried(side, 1_000, 2_000, 3_000);
  const payments = [
    { amount: 3_000, reference: "TRX-100%", delivery_ids: [parcels[0].id], notes: "July" },
    { amount: 9_000, reference: "TRX_200", delivery_ids: [parcels[1].id, parcels[2].id] },
  ];
  for (const { amount, ...more } of payments) {
    const { body } = await pay(tenant.admin, amount, more);
    ids.unshift(body.remittance.id);
  }
  // Remittances of another carrier and in another currency, inserted directly.
  for (
    const [carrier_code, currency, reference] of [["easypost", "IQD", "TRX-100"], [
      "simulated",
      "USD",
      "WIRE-1",
    ]]
  ) {
    const [{ id }] = await sql`insert into money.carrier_remittances ${
      sql({
        tenant_id: tenant.id,
        carrier_code,
        currency,
        amount: 50,
        cod_amount: 50,
        delivery_fee_amount: 0,
        collections: 1,
        reference,
        actor_id: tenant.admin.id,
      })
    } returning id`;
    if (carrier_code === "simulated") ids.unshift(id);
  }
  await sql.begin(async (tx) => {
    // Payments are never changed; days ago they would have been made otherwise.
    await tx`set local session_replication_role = replica`;
    for (const [index, id] of ids.entries()) {
      await tx`update money.carrier_remittances set remitted_at = ${new Date(
        Date.UTC(2026, 4, 20 - index, 12),
      )} where id = ${id}`;
    }
  });
});

const list = async (query: Record<string, unknown> = {}, who = side.tenant.admin) => {
  const answer = await who.get(path, { query: query as never });
  expect(answer).toSucceed(200);
  return answer.body;
};
const found = async (query: Record<string, unknown>) => {
  const { data, pagination: { total } } = await list(query);
  expect(total).toBe(data.length);
  return data.map(({ id }: { id: string }) => ids.indexOf(id));
};

describe("the list", () => {
  test("has this carrier's payments, the newest first, and what they add up to", async () => {
    const { data, ...rest } = await list();
    expect(data.map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(data[2]).toEqual({
      id: ids[2],
      carrier_code: "simulated",
      amount: 3_000,
      cod_amount: 1_000,
      delivery_fee_amount: 2_000,
      currency: "IQD",
      reference: "TRX-100%",
      notes: "July",
      remitted_at: expect.stringContaining("2026-05-18T12:00:00"),
      remitted_count: 1,
      entered_by: { id: side.tenant.admin.id, full_name: expect.any(String) },
      reversed_at: null,
      reversed_by: null,
      reversal_reason: null,
      kind: "payment",
      charges: 0,
      received: 3_000,
    });
    expect(rest).toMatchObject({
      pagination: { page: 1, limit: 20, total: 3, total_pages: 1 },
      summary: {
        remitted: [
          { currency: "IQD", amount: 12_000, remittances: 2 },
          { currency: "USD", amount: 50, remittances: 1 },
        ],
      },
    });
  });

  test.each<[Record<string, unknown>, number[]]>([
    [{ search: "trx" }, [1, 2]],
    [{ search: "0%" }, [2]],
    [{ search: "X_2" }, [1]],
    [{ search: "nothing" }, []],
    [{ currency: "USD" }, [0]],
    [{ from_date: "2026-05-19" }, [0, 1]],
    [{ to_date: "2026-05-18" }, [2]],
    [{ from_date: "2026-05-19", to_date: "2026-05-19", currency: "IQD" }, [1]],
    [{ column_filters: { reference: "wire" } }, [0]],
    [{ column_filters: { notes: "jul" } }, [2]],
    [{ column_filters: { amount: { min: 3_000 } } }, [1, 2]],
    [{ column_filters: { remitted_count: 2, currency: "IQD" } }, [1]],
    [{ column_filters: { cod_amount: 1_000, delivery_fee_amount: 2_000 } }, [2]],
    [{ column_filters: { remitted_at: { from: "2026-05-20" } } }, [0]],
    [{ sort_by: "amount" }, [1, 2, 0]],
    [{ sort_by: "amount", sort_order: "asc" }, [0, 2, 1]],
    [{ sort_by: "remitted_at", sort_order: "asc" }, [2, 1, 0]],
  ])("%j", async (query, wanted) => expect(await found(query)).toEqual(wanted));

  test("adds up what the filters leave", async () => {
    expect((await list({ search: "TRX_" })).summary.remitted)
      .toEqual([{ currency: "IQD", amount: 9_000, remittances: 1 }]);
    expect((await list({ search: "nothing" })).summary.remitted).toEqual([]);
  });

  test("goes page by page, and whole as a file", async () => {
    const pages = [1, 2, 3].map((page) => list({ limit: 2, page }));
    const seen = (await Promise.all(pages)).map(({ data, pagination: { total } }) => {
      expect(total).toBe(3);
      return data.map(({ id }: { id: string }) => id);
    });
    expect(seen).toEqual([ids.slice(0, 2), ids.slice(2), []]);
    const file = await side.tenant.admin.get(path, { query: { format: "csv", currency: "IQD" } });
    const lines = new TextDecoder().decode(file.body).trim().split("\r\n");
    expect(lines).toHaveLength(3);
    expect(lines[0].split(",").slice(0, 9)).toEqual([
      "id",
      "carrier_code",
      "amount",
      "cod_amount",
      "delivery_fee_amount",
      "currency",
      "reference",
      "notes",
      "remitted_at",
    ]);
    expect(lines[2]).toContain("TRX-100%");
  });

  test.each([
    [{ currency: "dinar" }, "validation_failed"],
    [{ from_date: "yesterday" }, "validation_failed"],
    [{ sort_by: "reference" }, "validation_failed"],
    [{ column_filters: { amount: "much" } }, "invalid_column_filters"],
  ])("not %j", async (query, code) => {
    expect(await side.tenant.admin.get(path, { query: query as never })).toFailWith(400, code);
  });

  test("is for the office, which sees no other tenant's", async () => {
    const { tenant } = side;
    await expectGuarded({ method: "GET", path }, {
      denied: [tenant.driver, tenant.customer, tenant.institution],
    });
    for (const who of [tenant.ops, tenant.dispatcher]) {
      expect((await list({}, who)).pagination.total).toBe(3);
    }
    expect((await list({}, other.tenant.admin)).data).toEqual([]);
    expect(await other.tenant.admin.get(path, { query: { tenant_id: tenant.id } }))
      .toFailWith(403, "forbidden");
    const { body } = await tenant.admin.get("/carriers/tenant/internal/remittances");
    expect(body).toMatchObject({ data: [], pagination: { total: 0 }, summary: { remitted: [] } });
  });
});

describe("one payment", () => {
  const at = (id: string, carrier = "simulated") => `/carriers/tenant/${carrier}/remittances/${id}`;

  test("says which parcels' cash it paid, in the order it was taken", async () => {
    const { remittance } = (await side.tenant.dispatcher.get(at(ids[1]))).body;
    const [listed] = (await list({ search: "TRX_200" })).data;
    expect(remittance).toEqual({
      ...listed,
      remitted_collections: parcels.slice(1).map(({ collection, id, code }, index) => ({
        carrier_collection_id: collection,
        delivery_id: id,
        delivery_code: code,
        amount: 4_000 + 1_000 * index,
        cod_amount: 2_000 + 1_000 * index,
        delivery_fee_amount: 2_000,
      })),
    });
  });

  test("is answered when it is entered, with what is still owed", async () => {
    const [parcel] = await carried(side, 500);
    const { still_owed, ...entered } =
      (await pay(side.tenant.admin, 2_500, { delivery_ids: [parcel.id] })).body.remittance;
    expect(still_owed).toBe(0);
    expect((await side.tenant.admin.get(at(entered.id))).body.remittance).toEqual(entered);
  });

  test("shows no payment of another carrier or tenant", async () => {
    for (const id of [ids[0], randomUUID()]) {
      expect(await side.tenant.admin.get(at(id, "easypost")))
        .toFailWith(404, "remittance_not_found");
      expect(await other.tenant.admin.get(at(id))).toFailWith(404, "remittance_not_found");
    }
    expect(await side.tenant.admin.get(at(randomUUID()))).toFailWith(404, "remittance_not_found");
    expect(await side.tenant.admin.get(at("1"))).toFailWith(400, "invalid_uuid");
    for (const person of [side.tenant.driver, side.tenant.customer]) {
      expect(await person.get(at(ids[0]))).toFailWith(403, "forbidden");
    }
    expect(await nobody.get(at(ids[0]))).toFailWith(401, "unauthorized");
  });
});

test("row-level security alone shows no driver, customer or other tenant a payment", async () => {
  const seen = async (who: { id: string }, tenant: { id: string }, sees: boolean) => {
    const [row] = await sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true), set_config('app.user_id', ${who.id}, true),
        set_config('app.sees_tenant', ${
        sees ? "on" : "off"
      }, true), set_config('role', 'barid_caller', true)`;
      return await tx`select count(*)::int as rows from money.carrier_remittances_list where id = any (${ids})`;
    });
    return row.rows;
  };
  expect(await seen(side.tenant.admin, side.tenant, true)).toBe(3);
  expect(await seen(side.tenant.driver, side.tenant, false)).toBe(0);
  expect(await seen(side.tenant.customer, side.tenant, false)).toBe(0);
  expect(await seen(other.tenant.admin, other.tenant, true)).toBe(0);
});
