/** Statements as the office and their owner read them. */
import { beforeAll, describe, expect, test } from "vitest";
import {
  broughtIn,
  newMerchant,
  opened,
  pay,
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
