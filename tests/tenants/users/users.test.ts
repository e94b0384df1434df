import { beforeAll, expect, test } from "vitest";
import { nobody, type Person, withKey, withToken } from "../../support/api.ts";
import { claimsOf, signIn, signUp } from "../../support/auth.ts";
import { sql } from "../../support/db.ts";
import { address } from "../../support/invitations.ts";
import { runJobs } from "../../support/jobs.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { authUser, membersOf, person, usersOf } from "../../support/users.ts";

let a: Tenant;
let b: Tenant;
let system: Person;
beforeAll(async () => {
  [a, b, system] = await Promise.all([newTenant(), newTenant(), newSystemAdmin()]);
});

const rowsOf = (tenant: { id: string }, userId: string) =>
  sql`select * from tenancy.tenant_users where tenant_id = ${tenant.id} and user_id = ${userId}`;

test("a new user is added, can sign in, and is in the tenant that the token names", async () => {
  const input = person({ email: ` Mixed.Case-${a.id.slice(0, 8)}@Barid.TEST ` });
  const answer = await system.post(membersOf(a), input);
  expect(answer).toSucceed(201);
  const email = String(input.email).trim().toLowerCase();
  expect(answer.body).toEqual({
    success: true,
    message: "Created.",
    user: {
      id: expect.any(String),
      email,
      phone: "+9647701234567",
      full_name: "Nour Salim",
      first_name: null,
      last_name: null,
      avatar_url: null,
      tenant_user_type: "staff",
      is_business: false,
      is_active: true,
      employee_id: null,
      roles: ["dispatcher"],
      created_at: expect.any(String),
      updated_at: expect.any(String),
    },
  });
  const session = (await signIn(email, "long enough"))!;
  expect(claimsOf(session).app_metadata).toMatchObject({ tenant_id: a.id, roles: ["dispatcher"] });
  const me = await withToken(session.access_token).get("/tenants/me");
  expect(me.body.user).toMatchObject({ id: answer.body.user.id, full_name: "Nour Salim" });
  const jobs =
    await sql`select status, last_error from app.jobs where entity_key = ${me.body.user.id}`;
  expect(jobs).toEqual([{ status: "done", last_error: "withdrawn" }]);
});

test("a driver gets a driver's row, and drivers, institutions and customers a wallet in the tenant's currency", async () => {
  const driver =
    (await system.post(membersOf(a), person({ tenant_user_type: "driver", roles: undefined })))
      .body.user;
  const institution = (await system.post(
    membersOf(a),
    person({ tenant_user_type: "institution", roles: ["institution"] }),
  )).body.user;
  const customer = (await system.post(
    membersOf(a),
    person({
      tenant_user_type: "customer",
      roles: undefined,
      is_business: true,
      phone: undefined,
    }),
  )).body.user;
  expect([driver.roles, institution.roles, customer.roles])
    .toEqual([["driver"], ["institution"], ["customer"]]);
  expect(customer).toMatchObject({ is_business: true, phone: null });
  expect(
    await sql`select status from delivery.drivers where user_id in ${
      sql([driver.id, institution.id, customer.id])
    }`,
  ).toEqual([{ status: "active" }]);
  expect(
    await sql`select kind, owner_type, currency, balance from money.accounts
    where owner_user_id in ${sql([driver.id, institution.id, customer.id])} order by owner_type`,
  )
    .toEqual([
      { kind: "wallet", owner_type: "customer", currency: "IQD", balance: 0 },
      { kind: "wallet", owner_type: "driver", currency: "IQD", balance: 0 },
      { kind: "wallet", owner_type: "institution", currency: "IQD", balance: 0 },
    ]);
});

test("an account that is there is not made a member: its owner is to be invited", async () => {
  const email = address();
  const id = await signUp(email, "their own secret", { full_name: "Their Own Name" });
  const answer = await system.post(membersOf(a), person({ email, password: "somebody else's" }));
  expect(answer).toFailWith(409, "account_exists");
  expect(answer.body.field).toBe("email");
  expect(await rowsOf(a, id)).toHaveLength(0);
  expect(await signIn(email, "somebody else's")).toBeUndefined();
  expect(await signIn(email, "their own secret")).toBeDefined();
  const member = await sql`select email from tenancy.profiles where id = ${a.driver.id}`;
  expect(await system.post(membersOf(a), person({ email: member[0].email })))
    .toFailWith(409, "user_already_member");
});

test("only the system makes people at once: an administrator of the system, or a key of its own", async () => {
  const body = person();
  for (const somebody of [a.admin, a.ops, a.driver, b.admin]) {
    expect(await somebody.post(membersOf(a), body)).toFailWith(403, "forbidden");
    expect(await somebody.post(membersOf(a), {})).toFailWith(403, "forbidden");
  }
  expect(await nobody.post(membersOf(a), body)).toFailWith(401, "unauthorized");
  const keyOf = async (scopes: string[]) => {
    const key = `members-${crypto.randomUUID()}`;
    await sql`insert into tenancy.api_keys (name, key_hash, scopes, is_system_capable)
      values ('Key', sha256(convert_to(${key}, 'UTF8')), ${sql.array(scopes)}, true)`;
    return withKey(key);
  };
  const half = await keyOf(["manage:user_access:system"]);
  expect(await half.post(membersOf(a), body)).toFailWith(403, "forbidden");
  const other = await keyOf(["manage:system", "manage:tenant"]);
  expect(await other.post(membersOf(a), body)).toFailWith(403, "forbidden");
  expect(await authUser(body.email)).toHaveLength(0);
  const whole = await keyOf(["manage:system", "manage:user_access:system"]);
  expect(await whole.post(membersOf(a), body)).toSucceed(201);
  expect(await system.post(membersOf({ id: crypto.randomUUID() }), person()))
    .toFailWith(404, "tenant_not_found");
  expect(await system.post(membersOf({ id: "none" }), person())).toFailWith(400, "invalid_uuid");
});

test("the same Idempotency-Key answers again without a second user; other input is refused", async () => {
  const headers = { "idempotency-key": crypto.randomUUID() };
  const input = person();
  const first = await system.post(membersOf(a), input, { headers });
  const again = await system.post(membersOf(a), input, { headers });
  expect(first).toSucceed(201);
  expect(again.status).toBe(201);
  expect(again.body).toEqual(first.body);
  expect(first.headers.get("idempotency-replayed")).toBeNull();
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await system.post(membersOf(a), person(), { headers })).toFailWith(
    409,
    "idempotency_conflict",
  );
});

test("a refused addition leaves its Idempotency-Key free", async () => {
  const headers = { "idempotency-key": crypto.randomUUID() };
  const input = person({ roles: ["driver"] });
  expect(await system.post(membersOf(a), input, { headers })).toFailWith(400, "invalid_roles");
  expect(await system.post(membersOf(a), { ...input, roles: ["dispatcher"] }, { headers }))
    .toSucceed(201);
});

test("twelve calls adding the same person make one user and one membership", async () => {
  const input = person();
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => system.post(membersOf(a), input)),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const { body } of answers.filter(({ status }) => status !== 201)) {
    expect(["user_already_member", "user_being_added", "account_exists"]).toContain(body.code);
  }
  const [user] = await authUser(input.email);
  expect(await rowsOf(a, user.id)).toHaveLength(1);
  // The jobs that the losers queued may not remove the winner.
  await sql`update app.jobs set run_at = now()
    where tenant_id = ${a.id} and kind = 'tenants.remove_auth_user' and status = 'queued'`;
  await runJobs("tenants", a.id);
  expect(await authUser(input.email)).toHaveLength(1);
  expect(await system.post(membersOf(a), input)).toFailWith(409, "user_already_member");
});

test("a failure after Auth made the user leaves nobody behind, at once", async () => {
  await sql`create or replace function private.test_break() returns trigger language plpgsql set search_path = '' as
    $$ begin perform app.fail('service_unavailable'); end $$`;
  await sql`create or replace trigger test_break before insert on tenancy.tenant_users for each row
    when (new.employee_id = 'BREAK') execute function private.test_break()`;
  const headers = { "idempotency-key": crypto.randomUUID() };
  const input = person({ employee_id: "BREAK" });
  const answer = await system.post(membersOf(a), input, { headers });
  expect(answer).toFailWith(503, "service_unavailable");
  expect(await authUser(input.email)).toHaveLength(0);
  expect(await sql`select from tenancy.profiles where email = ${String(input.email)}`)
    .toHaveLength(0);
  await sql`drop trigger test_break on tenancy.tenant_users`;
  await sql`drop function private.test_break()`;
  expect(await system.post(membersOf(a), input, { headers })).toSucceed(201);
});

test("a crash between the steps is cleared up by the job, which spares whoever became a member", async () => {
  const orphan = await signUp(address(), "long enough");
  const member = a.staff.id;
  for (const id of [orphan, member]) {
    await sql`insert into app.jobs (tenant_id, kind, entity_key, payload)
      values (${a.id}, 'tenants.remove_auth_user', ${id}, ${sql.json({ user_id: id })})`;
  }
  await runJobs("tenants", a.id);
  expect(await sql`select from auth.users where id = ${orphan}`).toHaveLength(0);
  expect(await sql`select from tenancy.profiles where id = ${orphan}`).toHaveLength(0);
  expect(await rowsOf(a, member)).toHaveLength(1);
  expect(
    await sql`select distinct status from app.jobs where entity_key in ${sql([orphan, member])}`,
  )
    .toEqual([{ status: "done" }]);
});

test("nobody is made while the removal of the account is pending", async () => {
  const email = address();
  const id = await signUp(email, "long enough");
  await sql`insert into app.jobs (tenant_id, kind, entity_key, payload, run_at)
    values (${b.id}, 'tenants.remove_auth_user', ${id}, ${
    sql.json({ user_id: id })
  }, now() + interval '1 hour')`;
  expect(await system.post(membersOf(a), person({ email }))).toFailWith(409, "user_being_added");
  expect(await rowsOf(a, id)).toHaveLength(0);
});

test("only administrators of the tenant manage its users", async () => {
  const body = person();
  for (
    const somebody of [
      a.ops,
      a.dispatcher,
      a.warehouse,
      a.staff,
      a.driver,
      a.institution,
      a.customer,
    ]
  ) {
    expect(await somebody.get(usersOf(a))).toFailWith(403, "forbidden");
    expect(await somebody.post(usersOf(a), body)).toFailWith(403, "forbidden");
    expect(await somebody.put(`${usersOf(a)}/${a.staff.id}`, {})).toFailWith(403, "forbidden");
    expect(await somebody.post(`${usersOf(a)}/${a.staff.id}/deactivate`)).toFailWith(
      403,
      "forbidden",
    );
  }
  expect(await b.admin.post(usersOf(a), body)).toFailWith(403, "forbidden");
  expect(await b.admin.get(usersOf(a))).toFailWith(403, "forbidden");
  expect(await nobody.get(usersOf(a))).toFailWith(401, "unauthorized");
  expect(await nobody.post(usersOf(a), body)).toFailWith(401, "unauthorized");
  // A caller who may not add users does not learn whether their input was valid.
  expect(await a.driver.post(usersOf(a), {})).toFailWith(403, "forbidden");
  expect(await authUser(body.email)).toHaveLength(0);
  expect(await system.get(usersOf(a))).toSucceed(200);
});

test("messages are in the language asked for", async () => {
  const answer = await system.in("ar").post(membersOf(a), person({ roles: [] }));
  expect(answer.body.message).toBe("هذه الأدوار لا تناسب هذا النوع من المستخدمين.");
});
