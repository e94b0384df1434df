/** Services that people find: those of their tenant, and restricted ones where they may. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { expectGuarded } from "../../support/promises.ts";
import { everyone, newServiceList, type ServiceList } from "../../support/services-to-find.ts";
import { services as path } from "../../support/services.ts";

let { tenant, other, made, ask, names } = {} as ServiceList;
beforeAll(async () => {
  ({ tenant, other, made, ask, names } = await newServiceList());
});

describe("who finds which services", () => {
  const without = (...gone: string[]) => everyone.filter((name) => !gone.includes(name));

  test("staff and drivers find all, customers and institutions those they may use", async () => {
    expect(await names({}, tenant.driver)).toEqual(everyone);
    expect(await names({}, tenant.customer)).toEqual(without("Barred"));
    expect(await names({}, tenant.institution)).toEqual(everyone);
    expect(await names({}, tenant.institution2)).toEqual(without("Barred", "Chosen"));
    expect((await ask({}, tenant.customer)).total).toBe(5);
    // The response does not list the service's other users.
    const chosen = (await ask({ search: "Chosen" }, tenant.customer)).deliveryServices[0];
    expect(chosen.user_ids).toEqual([tenant.customer.id]);
  });

  test("customer_id filters by customer; a customer always gets only their own", async () => {
    expect(await names({ customer_id: tenant.customer.id })).toEqual(without("Barred"));
    expect(await names({ customer_id: tenant.institution2.id })).toEqual(
      without("Barred", "Chosen"),
    );
    expect(await names({ customer_id: tenant.institution.id })).toEqual(everyone);
    expect(await names({ customer_id: tenant.institution2.id }, tenant.customer)).toEqual(
      without("Barred"),
    );
    expect(await names({ customer_id: other.customer.id })).toEqual(without("Chosen"));
  });

  test("stats count what the caller may see, by no other filter", async () => {
    const { stats } = await ask({ search: "alpha", active: true, limit: 1, page: 9 });
    expect(stats).toEqual({
      totalServices: 6,
      activeServices: 5,
      deliveryTypesCount: 2,
      recentlyAdded: everyone.slice(0, 5).map((name) => ({
        id: made[name],
        code: expect.any(String),
        name,
        created_at: expect.any(String),
      })),
    });
    expect((await ask({}, tenant.customer)).stats).toMatchObject({
      totalServices: 5,
      activeServices: 4,
    });
    expect((await ask({ customer_id: tenant.institution2.id })).stats.totalServices).toBe(4);
    expect((await ask({ include_stats: true })).stats.totalServices).toBe(6);
  });

  test("include_stats=false answers null", async () => {
    const body = await ask({ include_stats: false });
    expect(body.stats).toBeNull();
    expect(body.total).toBe(6);
  });

  test("nobody finds another tenant's, nor without a token", async () => {
    expect(await names({}, other.ops)).toEqual(["Foreign"]);
    expect((await ask({}, other.ops)).stats.totalServices).toBe(1);
    expect(await tenant.ops.get(path, { query: { tenant_id: other.id } })).toFailWith(
      403,
      "forbidden",
    );
    await expectGuarded({ method: "GET", path }, { denied: [] });
  });
});

describe("row-level security alone", () => {
  test("hides restricted services and their people, and lets only staff write", async () => {
    const as = (person: Person, sees: boolean, statement: string) =>
      sql.begin(async (tx) => {
        await tx`select set_config('app.tenant_id', ${tenant.id}, true),
          set_config('app.user_id', ${person.id}, true), set_config('app.grants', '{role:customer}', true),
          set_config('app.sees_tenant', ${sees ? "on" : "off"}, true)`;
        await tx`set local role barid_caller`;
        return (await tx.unsafe(statement)).count;
      });
    const { customer, ops } = tenant;
    expect(await as(customer, false, "select from delivery.delivery_services")).toBe(5);
    expect(await as(ops, true, "select from delivery.delivery_services")).toBe(6);
    expect(await as(customer, false, "select from delivery.delivery_service_users")).toBe(2);
    expect(await as(customer, false, "delete from delivery.delivery_service_users")).toBe(0);
    await expect(as(customer, false, "update delivery.delivery_services set default_price = 0"))
      .rejects.toThrow(/row-level security/);
    await expect(as(
      customer,
      false,
      `insert into delivery.delivery_types (tenant_id, code, name) values ('${tenant.id}', 'x', '{}')`,
    )).rejects.toThrow(/row-level security/);
    await expect(as(ops, true, "delete from delivery.delivery_services")).rejects.toThrow(
      /permission denied/,
    );
  });
});
