/** Somebody who leaves the company while they are assigned to a warehouse: they are in none, whichever comes first. */
import type postgres from "postgres";
import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { overlapping } from "../../support/overlapping.ts";
import { newWarehouse } from "../../support/warehouses.ts";

let tenant: Tenant;
let warehouse: string;
beforeAll(async () => {
  tenant = await newTenant();
  warehouse = await newWarehouse(tenant);
});

const assign = ({ id: user_id }: Person) =>
  tenant.admin.post(`/warehousing/warehouses/${warehouse}/staff`, { user_id });
const leave = ({ id }: Person, on: postgres.Sql = sql) =>
  on`update tenancy.tenant_users set is_active = false, left_at = now()
    where tenant_id = ${tenant.id} and user_id = ${id}`;
const active = ({ id }: Person) =>
  sql`select from warehousing.warehouse_staff where user_id = ${id} and is_active`;

test("who leaves first is assigned to none", async () => {
  const person = await newPerson(tenant.id, "staff", "warehouse_staff");
  const late = await overlapping((session) => leave(person, session), () => assign(person));
  expect(late).toFailWith(404, "user_not_found");
  expect(late.body.field).toBe("user_id");
  expect(await active(person)).toHaveLength(0);
});

test("who is assigned first leaves the warehouse with the company", async () => {
  const person = await newPerson(tenant.id, "staff", "warehouse_staff");
  await overlapping(
    (session) =>
      session`insert into warehousing.warehouse_staff (tenant_id, warehouse_id, user_id)
        values (${tenant.id}, ${warehouse}, ${person.id})`,
    async () => await leave(person),
  );
  expect(await active(person)).toHaveLength(0);
});
