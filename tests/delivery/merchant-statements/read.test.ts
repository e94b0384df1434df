/** Statements as the office and their owner read them. */
import { beforeAll, describe, expect, test } from "vitest";
import { lawless } from "../../support/cod-holds.ts";
import {
  broughtIn,
  newMerchant,
  opened,
  pay,
  reverse,
  statementPath,
} from "../../support/merchant-statements.ts";
import { newPerson, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectPaged } from "../../support/promises.ts";

let other: Tenant;
beforeAll(async () => {
  other = (await newMerchant()).tenant;
});

describe("statements are read", () => {
  test("in pages, by the office and by whose they are", async () => {
    const { ground, tenant } = await newMerchant([1_000]);
    await opened(tenant);
    await broughtIn(ground, [2_000]);
    await opened(tenant);
    await broughtIn(ground, [3_000], {
      customer_id: undefined,
      institution_user_id: tenant.institution.id,
    });
    const third = await opened(tenant, { owner_user_id: tenant.institution.id });
    await expectPaged(tenant.dispatcher, statementPath, "net");
    const numbers = async (by = tenant.ops, query: Record<string, string> = {}) =>
      (await by.get(statementPath, { query })).body.data.map(({ number }: { number: string }) =>
        number
      );
    expect(await numbers()).toEqual(["MS-000003", "MS-000002", "MS-000001"]);
    expect(await numbers(tenant.customer)).toEqual(["MS-000002", "MS-000001"]);
    expect(await numbers(tenant.institution)).toEqual(["MS-000003"]);
    expect(await numbers(tenant.customer, { owner_user_id: tenant.institution.id })).toEqual([]);
    expect(await numbers(tenant.ops, { owner_user_id: tenant.institution.id }))
      .toEqual(["MS-000003"]);
    expect(await pay(tenant.ops, third.id)).toSucceed(200);
    expect(await numbers(tenant.ops, { status: "paid" })).toEqual(["MS-000003"]);
    expect(await numbers(tenant.ops, { status: "open" })).toHaveLength(2);
    expect(await numbers(tenant.ops, { search: "000002" })).toEqual(["MS-000002"]);
    expect(await numbers(tenant.ops, { date_to: "2020-01-01" })).toEqual([]);
    expect(await numbers(other.ops, { owner_user_id: tenant.customer.id })).toEqual([]);
    const file = await tenant.customer.get(statementPath, { query: { format: "csv" } });
    expect(file.status).toBe(200);
    const stranger = await newPerson(tenant.id, "customer", "customer");
    expect(await numbers(stranger)).toEqual([]);
    for (const person of [stranger, tenant.customer, other.customer]) {
      expect(await person.get(`${statementPath}/${third.id}`)).toFailWith(
        404,
        "statement_not_found",
      );
    }
  });

  test("by the day, the way and the reference of their payout, which all stay to be read", async () => {
    const { ground, tenant } = await newMerchant([1_000]);
    const first = await opened(tenant);
    await broughtIn(ground, [2_000]);
    const second = await opened(tenant);
    await broughtIn(ground, [3_000]);
    const third = await opened(tenant);
    expect(await pay(tenant.ops, first.id, { reference: "Wire 71" })).toSucceed(200);
    expect(await pay(tenant.dispatcher, second.id, { method: "cash" })).toSucceed(200);
    expect(await reverse(tenant.admin, first.id, "Wrong account")).toSucceed(200);
    expect(await pay(tenant.ops, first.id, { method: "gateway_transfer", reference: "G-72" }))
      .toSucceed(200);
    await lawless((tx) =>
      tx`update money.merchant_payouts set paid_at = now() - interval '40 days'
        where statement_id = ${second.id}`
    );
    const found = async (query: Record<string, string>, by = tenant.ops) =>
      (await by.get(statementPath, { query })).body.data.map(({ id }: { id: string }) => id);
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    const cases: [Record<string, string>, string[]][] = [
      [{ paid_from: day(10) }, [first.id]],
      [{ paid_to: day(10) }, [second.id]],
      [{ paid_from: day(60) }, [second.id, first.id]],
      [{ paid_from: day(60), paid_to: day(50) }, []],
      [{ method: "cash" }, [second.id]],
      [{ method: "cash,gateway_transfer" }, [second.id, first.id]],
      [{ method: "bank" }, []],
      [{ search: "g-72" }, [first.id]],
      [{ search: "wire 71" }, [first.id]],
      [{ sort_by: "paid_at" }, [first.id, second.id, third.id]],
    ];
    for (const [query, ids] of cases) {
      expect(await found(query), JSON.stringify(query)).toEqual(ids);
      expect(await found(query, other.ops)).not.toEqual(expect.arrayContaining([first.id]));
    }
    for (const query of [{ method: "gold" }, { paid_from: "soon" }]) {
      expect((await tenant.ops.get(statementPath, { query })).status).toBe(400);
    }
    for (const by of [tenant.ops, tenant.customer]) {
      const { body } = await by.get(`${statementPath}/${first.id}`);
      const { payout, payouts } = body.data.statement;
      expect(payouts).toEqual([
        { ...payout, reversed_at: null, reversed_by: null, reversal_reason: null },
        {
          id: expect.any(String),
          method: "bank",
          amount: 1_000,
          reference: "Wire 71",
          proof: null,
          paid_at: expect.any(String),
          paid_by: { id: tenant.ops.id, full_name: expect.any(String) },
          reversed_at: expect.any(String),
          reversed_by: { id: tenant.admin.id, full_name: expect.any(String) },
          reversal_reason: "Wrong account",
        },
      ]);
      const listed = (await by.get(statementPath)).body.data;
      expect(listed.map((one: { payouts: unknown[] }) => one.payouts.length)).toEqual([0, 1, 2]);
    }
  });

  test("not without a token, and not of another company", async () => {
    const { id } = await opened(other);
    const { tenant } = await newMerchant([]);
    await expectGuarded({ method: "GET", path: statementPath }, { denied: [] });
    await expectGuarded({ method: "GET", path: `${statementPath}/${id}` }, { denied: [] });
    await expectNoSuch(
      tenant.ops,
      { method: "GET", path: `${statementPath}/{id}` },
      "id",
      "statement_not_found",
      id,
    );
  });
});
