/** A person corrects their own names, telephone and picture, which all their companies see. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, signedIn, withKey } from "../../support/api.ts";
import { newKey } from "../../support/api-keys.ts";
import { signUp } from "../../support/auth.ts";
import { sql, stack } from "../../support/db.ts";
import { newDelivery, newGround } from "../../support/deliveries.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

const path = "/tenants/me/profile";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

const stored = async (id: string) =>
  (await sql`select full_name, first_name, last_name, phone, avatar_url from tenancy.profiles where id = ${id}`)[
    0
  ];

describe("a person who belongs to two companies", () => {
  test("changes what both of them show, which neither could", async () => {
    const person = await newPerson(a.id, "staff", "dispatcher");
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      values (${b.id}, ${person.id}, 'customer')`;
    const changed = {
      full_name: "Shilan Rasul",
      first_name: "Shilan",
      last_name: "Rasul",
      phone: "+9647701234567",
      avatar_url: "https://pictures.test/shilan.png",
    };
    const answer = await person.put(path, {
      ...changed,
      full_name: "  Shilan Rasul ",
      phone: "+٩٦٤٧٧٠١٢٣٤٥٦٧",
    });
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({
      user: { id: person.id, ...changed, is_system_admin: false },
      memberships: [{ tenant_id: a.id }, { tenant_id: b.id }],
      active_tenant_id: a.id,
    });
    const { message: _, ...me } = (await person.get("/tenants/me")).body;
    const { message: __, ...said } = answer.body;
    expect(said).toEqual(me);
    for (const company of [a, b]) {
      const { data } =
        (await company.admin.get(`/tenants/${company.id}/users`, { query: { search: "Shilan" } }))
          .body;
      expect(data).toMatchObject([{ id: person.id, ...changed }]);
      expect(await company.admin.put(`/tenants/${company.id}/users/${person.id}`, { phone: null }))
        .toFailWith(409, "user_field_fixed");
    }
  });

  test("sends what changes alone; null removes what may be missing", async () => {
    const person = await newPerson(a.id, "driver", "driver");
    const before = await stored(person.id);
    expect(await person.put(path, { first_name: "Ali", avatar_url: "https://pictures.test/a.png" }))
      .toSucceed(200);
    expect(await stored(person.id)).toEqual({
      ...before,
      first_name: "Ali",
      avatar_url: "https://pictures.test/a.png",
    });
    expect(await person.put(path, { first_name: null, phone: null, avatar_url: null })).toSucceed(
      200,
    );
    expect(await stored(person.id)).toEqual({ ...before, phone: null });
  });
});

test("a person in no company, and an administrator of the system, have a profile too", async () => {
  const id = await signUp(`lone-${a.id}@barid.test`, "long enough");
  const answer = await signedIn(id, null).put(path, { full_name: "Lone Rider" });
  expect(answer).toSucceed(200);
  expect(answer.body).toMatchObject({
    user: { full_name: "Lone Rider" },
    memberships: [],
    active_tenant_id: null,
  });
  const system = await newSystemAdmin();
  expect((await system.put(path, { full_name: "Root" })).body.user)
    .toMatchObject({ full_name: "Root", is_system_admin: true });
});

test("every role does; a suspended company hinders nobody", async () => {
  for (
    const person of [a.admin, a.ops, a.warehouse, a.staff, a.driver, a.institution, a.customer]
  ) {
    expect(await person.put(path, { last_name: "Same" })).toSucceed(200);
  }
  const suspended = await newTenant();
  await sql`update tenancy.tenants set status = 'suspended' where id = ${suspended.id}`;
  expect(await suspended.customer.put(path, { last_name: "Mine" })).toSucceed(200);
});

test("nobody is named but the caller, whatever the body or the address says", async () => {
  const before = await stored(b.staff.id);
  const mine =
    await sql`select email, made_by_tenant, proven_at from tenancy.profiles where id = ${a.staff.id}`;
  const answer = await a.staff.put(path, {
    full_name: "Me",
    id: b.staff.id,
    user_id: b.staff.id,
    email: "other@barid.test",
    proven_at: "2026-01-01T00:00:00Z",
    made_by_tenant: b.id,
  }, { query: { tenant_id: b.id, user_id: b.staff.id } });
  expect(answer.body.user).toMatchObject({ id: a.staff.id, full_name: "Me" });
  expect(await stored(b.staff.id)).toEqual(before);
  expect(
    await sql`select email, made_by_tenant, proven_at from tenancy.profiles where id = ${a.staff.id}`,
  )
    .toEqual(mine);
});

test.each([
  [{}, "body"],
  [{ email: "new@barid.test" }, "body"],
  [{ full_name: "" }, "full_name"],
  [{ full_name: "  " }, "full_name"],
  [{ full_name: null }, "full_name"],
  [{ full_name: "x".repeat(501) }, "full_name"],
  [{ first_name: "" }, "first_name"],
  [{ last_name: "x".repeat(101) }, "last_name"],
  [{ phone: "1" }, "phone"],
  [{ phone: 9647701234567 }, "phone"],
  [{ avatar_url: "javascript:alert(1)" }, "avatar_url"],
  [{ avatar_url: "" }, "avatar_url"],
])("%j is refused", async (body, field) => {
  const before = await stored(a.dispatcher.id);
  const answer = await a.dispatcher.put(path, body);
  expect(answer).toFailWith(400, "validation_failed");
  expect(answer.body.field).toBe(field);
  expect(await stored(a.dispatcher.id)).toEqual(before);
});

test("no token is 401; a company's key, and the system, are nobody", async () => {
  const body = { full_name: "Nobody" };
  expect(await nobody.put(path, body)).toFailWith(401, "unauthorized");
  const { key } = await newKey(a);
  expect(await withKey(key).put(path, body)).toFailWith(403, "api_key_not_a_person");
  expect(await nobody.put(path, body, { headers: { apikey: stack.secretKey } }))
    .toFailWith(403, "forbidden");
});

test("sent twice under one Idempotency-Key it is done once", async () => {
  const person = await newPerson(a.id, "staff", "dispatcher");
  const headers = { "idempotency-key": crypto.randomUUID() };
  const first = await person.put(path, { phone: "0770" }, { headers });
  await person.put(path, { phone: "0771" });
  const again = await person.put(path, { phone: "0770" }, { headers });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect((await stored(person.id)).phone).toBe("0771");
});

test("it stands in no company's log", async () => {
  await a.ops.put(path, { full_name: "Own Affair" });
  expect(
    await sql`select from app.audit_log where entity = 'tenancy.profiles' and entity_id = ${a.ops.id}`,
  ).toEqual([]);
});

test("what was copied under an order stays", async () => {
  const ground = await newGround(a);
  const { id } = await newDelivery(ground);
  const read = async () => (await a.ops.get(`/delivery/deliveries/${id}`)).body.delivery;
  const before = await read();
  for (const person of [a.customer, a.institution, a.ops]) {
    expect(await person.put(path, { full_name: "Renamed", phone: "0779" })).toSucceed(200);
  }
  expect((await read()).recipient).toEqual(before.recipient);
  expect((await read()).pickup_address).toEqual(before.pickup_address);
});

test("a picture that a person registers with is kept where it is an address of the web", async () => {
  // As Auth makes the row of somebody who registers.
  const pictureOf = async (avatar_url: string) => {
    const id = crypto.randomUUID();
    await sql`insert into auth.users (id, email, raw_user_meta_data)
      values (${id}, ${`${id}@barid.test`}, ${sql.json({ avatar_url })})`;
    return (await stored(id)).avatar_url;
  };
  expect(await pictureOf("https://pictures.test/me.png")).toBe("https://pictures.test/me.png");
  for (
    const none of [
      "javascript:alert(1)",
      "http://pictures.test/me.png",
      "https://",
      "data:text/html,x",
    ]
  ) {
    expect(await pictureOf(none)).toBeNull();
  }
});
