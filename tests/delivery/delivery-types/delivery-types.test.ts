import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectPaged,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";

const path = "/delivery/delivery-types";

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
});

test("adding a type answers it in the request's language", async () => {
  const name = { en: "Parcel", ar: "طرد" };
  const answer = await tenant.ops.in("ar").post(path, { code: " parcel ", name });
  expect(answer).toSucceed(201);
  expect(answer.body).toEqual({
    success: true,
    message: expect.stringMatching(/[\u0600-\u06ff]/),
    data: {
      id: expect.any(String),
      code: "parcel",
      name: "طرد",
      name_translations: name,
      created_at: expect.any(String),
    },
  });
  const kurdish = await tenant.ops.in("ku").post(path, { code: "freight", name: "بار" });
  expect(kurdish.body.data.name_translations).toEqual({ ku: "بار" });
});

test("a code is taken once per tenant, also when many ask at once", async () => {
  const body = { code: "once", name: "Once" };
  const answers = await Promise.all(Array.from({ length: 10 }, () => tenant.ops.post(path, body)));
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
  for (const answer of answers.filter((each) => each.status !== 201)) {
    expect(answer).toFailWith(409, "delivery_type_code_exists");
  }
  const [row] = await sql`select count(*)::int as n from delivery.delivery_types
    where tenant_id = ${tenant.id} and code = 'once'`;
  expect(row.n).toBe(1);
  expect(await other.ops.post(path, body)).toSucceed(201);
});

test("adding is refused for wrong input and wrong people", async () => {
  await expectRefused(tenant.ops, { method: "POST", path }, [
    [{}, "code"],
    [{ code: "", name: "X" }, "code"],
    [{ code: "x".repeat(65), name: "X" }, "code"],
    [{ code: "X" }, "name"],
    [{ code: "X", name: {} }, "name"],
    [{ code: "X", name: 7 }, "name"],
    [{ code: "a\u0000", name: "X" }, "code"],
  ]);
  await expectReplayed(tenant.ops, path, { code: "key", name: "X" }, { code: "key2", name: "X" });
  const { staff, warehouse, driver, institution, customer } = tenant;
  await expectGuarded({ method: "POST", path, body: { code: "z", name: "Z" } }, {
    denied: [staff, warehouse, driver, institution, customer],
  });
});

test("every member finds the tenant's types, and no others", async () => {
  const listed = await newTenant();
  for (const code of ["a", "b", "c"]) await listed.ops.post(path, { code, name: "Type " + code });
  for (const person of [listed.customer, listed.driver, listed.institution, listed.staff]) {
    const answer = await person.get(path, { query: { sort_by: "code", sort_order: "asc" } });
    expect(answer.body.data.map((row: { code: string }) => row.code)).toEqual(["a", "b", "c"]);
  }
  await expectPaged(listed.customer, path, "code");
  const found = await listed.ops.get(path, { query: { search: "type B" } });
  expect(found.body.data).toHaveLength(1);
  await expectGuarded({ method: "GET", path }, { denied: [] });
});
