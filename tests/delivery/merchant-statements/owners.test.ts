/** Owners of statements who are no customers any more: a driver, or somebody of a warehouse, with the wallet of a buyer. */
import { describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  confirm,
  linesOf,
  newMerchant,
  opened,
  pay,
  sound,
  statementPath,
} from "../../support/merchant-statements.ts";
import { newPerson, type Tenant } from "../../support/people.ts";

/** The customer gets another place in the company. */
async function becomes(tenant: Tenant, type: string, role: string): Promise<Person> {
  const { id } = tenant.customer;
  await sql`update tenancy.tenant_users set tenant_user_type = ${type}
    where tenant_id = ${tenant.id} and user_id = ${id}`;
  await sql`update tenancy.tenant_user_roles set role_key = ${role}
    where tenant_id = ${tenant.id} and user_id = ${id}`;
  return tenant.customer;
}

const idsOf = async (person: Person) => {
  const answer = await person.get(statementPath);
  expect(answer).toSucceed(200);
  return answer.body.data.map(({ id }: { id: string }) => id);
};

describe.each([
  ["driver", "driver"],
  ["staff", "warehouse_staff"],
])("a customer who became %s (%s)", (type, role) => {
  test("reads and confirms the statement that was open, and no other one", async () => {
    const { tenant } = await newMerchant([4_000]);
    const { id } = await opened(tenant);
    const owner = await becomes(tenant, type, role);
    expect(await idsOf(owner)).toEqual([id]);
    expect(await linesOf(owner, id)).toEqual(await linesOf(tenant.ops, id));
    expect((await owner.get(`${statementPath}/${id}/document`)).status).toBe(200);
    expect(await pay(tenant.ops, id)).toSucceed(200);
    expect(await confirm(owner, id)).toSucceed(200);
    const { body } = await owner.get(`${statementPath}/${id}`);
    expect(body.data.statement).toMatchObject({
      status: "paid",
      owner: { id: owner.id },
      confirmed_at: expect.any(String),
    });
    await sound(tenant);
  });

  test("is the only one of them who finds it", async () => {
    const { tenant } = await newMerchant([4_000]);
    const { id } = await opened(tenant);
    expect(await pay(tenant.ops, id)).toSucceed(200);
    const [statement] = await sql`select hash from money.merchant_statements where id = ${id}`;
    for (
      const person of [tenant.driver, tenant.warehouse, await newPerson(tenant.id, type, role)]
    ) {
      expect(await idsOf(person)).toEqual([]);
      for (const path of ["", "/document"]) {
        expect(await person.get(`${statementPath}/${id}${path}`))
          .toFailWith(404, "statement_not_found");
      }
      const checked = await person.get(`${statementPath}/verify`, {
        query: { hash: statement.hash },
      });
      expect(checked.body).toMatchObject({ printed: false, statement: null });
      expect(await confirm(person, id)).toFailWith(404, "statement_not_found");
    }
  });
});
