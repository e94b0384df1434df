/** Whatever fails in the middle of the wizard, all of it is taken back, and the same call works afterwards. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { signIn, signUp } from "../../support/auth.ts";
import { sql, stack } from "../../support/db.ts";
import { newSystemAdmin } from "../../support/people.ts";
import { wizardBody } from "../../support/wizard.ts";

const path = "/tenants/wizard";
let system: Person;

/** Where a run can break, with the row whose writing does it. */
const breaks: [step: string, table: string, event: string][] = [
  ["tenant", "tenancy.tenants", "insert"],
  ["delivery_type", "delivery.delivery_types", "insert"],
  ["settings", "tenancy.tenant_settings", "insert"],
  ["modules", "tenancy.tenant_modules", "insert"],
  ["job", "app.jobs", "insert"],
  ["member", "tenancy.tenant_users", "insert"],
  ["role", "tenancy.tenant_user_roles", "insert"],
  ["events", "integration.system_events", "insert"],
  ["activation", "tenancy.tenants", "update"],
  ["take_back", "tenancy.tenants", "delete"],
];

beforeAll(async () => {
  system = await newSystemAdmin();
  // Only the request that names the step in the id it sends meets the trigger.
  await sql`create or replace function private.test_break_wizard() returns trigger language plpgsql set search_path = '' as $$ begin
    if current_setting('app.client_request_id', true) like '%' || tg_argv[0] || '%' then perform app.fail('service_unavailable'); end if;
    return case tg_op when 'DELETE' then old else new end; end $$`;
  await sql`create or replace function private.test_break_auth() returns trigger language plpgsql set search_path = '' as
    $$ begin raise exception 'no room'; end $$`;
  for (const [step, table, event] of breaks) {
    await sql.unsafe(`create or replace trigger test_break_${step} before ${event} on ${table}
      for each row execute function private.test_break_wizard('break-${step}')`);
  }
  await sql`create or replace trigger test_break_auth before update of email on auth.users for each row
    when (new.email like 'no-room-%') execute function private.test_break_auth()`;
});

afterAll(async () => {
  for (const [step, table] of breaks) {
    await sql.unsafe(`drop trigger test_break_${step} on ${table}`);
  }
  await sql`drop trigger test_break_auth on auth.users`;
  await sql`drop function private.test_break_wizard(), private.test_break_auth()`;
});

const left = async (slug: string, email: string) => {
  const [count] = await sql`select
    (select count(*)::int from tenancy.tenants where slug = ${slug}) as tenants,
    (select count(*)::int from auth.users where email = ${email}) as users,
    (select count(*)::int from tenancy.profiles where email = ${email}) as profiles`;
  return count;
};
const runJobs = () =>
  nobody.post("/tenants/internal/jobs", {}, { headers: { apikey: stack.secretKey } });
const someModule = async () =>
  (await sql`select id from tenancy.modules order by position limit 1`)[0].id as string;

test.each(breaks.filter(([step]) => step !== "take_back").map(([step]) => step))(
  "a failure at %s leaves nothing behind, and the same call with the same key then works",
  async (step) => {
    const body = wizardBody({ modules: { enabled_module_ids: [await someModule()] } });
    const { slug, contact_info: { email } } = body.tenant;
    const key = crypto.randomUUID();
    const broken = await system.post(path, body, {
      headers: { "idempotency-key": key, "x-request-id": `break-${step}` },
    });
    expect(broken).toFailWith(503, "service_unavailable");
    expect(await left(slug, email)).toEqual({ tenants: 0, users: 0, profiles: 0 });
    const again = await system.post(path, body, { headers: { "idempotency-key": key } });
    expect(again).toSucceed(201);
    expect(again.headers.get("idempotency-replayed")).toBeNull();
    expect(await left(slug, email)).toEqual({ tenants: 1, users: 1, profiles: 1 });
    expect(await signIn(email, "Furat-secret-1")).toBeDefined();
  },
);

test("when Auth cannot make the administrator, the tenant goes again", async () => {
  const body = wizardBody();
  const email = `no-room-${body.tenant.slug}@barid.test`;
  body.tenant.contact_info.email = email;
  expect(await system.post(path, body)).toFailWith(503, "service_unavailable");
  expect(await left(body.tenant.slug, email)).toEqual({ tenants: 0, users: 0, profiles: 0 });
});

test("taking back spares an account that was there before", async () => {
  const body = wizardBody();
  const { slug, contact_info: { email } } = body.tenant;
  const id = await signUp(email, "their own secret");
  const answer = await system.post(path, body, { headers: { "x-request-id": "break-events" } });
  expect(answer).toFailWith(503, "service_unavailable");
  expect(await left(slug, email)).toEqual({ tenants: 0, users: 1, profiles: 1 });
  expect(await sql`select from tenancy.invitations where email = ${email}`).toHaveLength(0);
  await sql`update app.jobs j set run_at = now() from tenancy.wizard_runs r
    where r.caller = ${system.id} and j.id = r.undo_job_id and j.status = 'queued'`;
  await runJobs();
  expect(await sql`select id from auth.users where email = ${email}`).toEqual([{ id }]);
});

test("when taking back fails too, the first failure is answered, the second reported, and a job does it", async () => {
  const body = wizardBody();
  const { slug, contact_info: { email } } = body.tenant;
  const answer = await system.post(path, body, {
    headers: { "x-request-id": "break-role.break-take_back" },
  });
  expect(answer).toFailWith(503, "service_unavailable");
  expect(await left(slug, email)).toEqual({ tenants: 1, users: 1, profiles: 1 });
  const [tenant] = await sql`select id, status from tenancy.tenants where slug = ${slug}`;
  expect(tenant.status).toBe("pending");
  const reported =
    await sql`select tenant_id, event_data ->> 'actor_id' as actor from integration.system_events
    where event_type = 'tenant_wizard.rollback_failed' and entity_id = ${tenant.id}`;
  expect(reported).toEqual([{ tenant_id: null, actor: system.id }]);
  const early = await runJobs();
  expect(early).toSucceed(200);
  expect((await left(slug, email)).tenants).toBe(1);
  // A quarter of an hour later.
  const jobs = await sql`update app.jobs j set run_at = now() from tenancy.wizard_runs r
    where r.new_tenant_id = ${tenant.id} and j.id = r.undo_job_id
      and j.run_at between now() + interval '14 minutes' and now() + interval '15 minutes' returning j.id`;
  expect(jobs).toHaveLength(1);
  await runJobs();
  expect(await left(slug, email)).toEqual({ tenants: 0, users: 0, profiles: 0 });
  expect(await sql`select state from tenancy.wizard_runs where new_tenant_id = ${tenant.id}`)
    .toEqual([{ state: "undone" }]);
});

test("a finished run is never taken back, whoever asks", async () => {
  const body = wizardBody();
  const { tenant_id } = (await system.post(path, body)).body;
  const [run] =
    await sql`select id, undo_job_id from tenancy.wizard_runs where new_tenant_id = ${tenant_id}`;
  expect(await sql`select status, last_error from app.jobs where id = ${run.undo_job_id}`)
    .toEqual([{ status: "done", last_error: "withdrawn" }]);
  await sql`insert into app.jobs (kind, payload) values ('tenants.wizard_undo', ${
    sql.json({ run_id: run.id })
  })`;
  await runJobs();
  expect((await left(body.tenant.slug, body.tenant.contact_info.email)).tenants).toBe(1);
  const tried = sql.begin(async (tx) => {
    await tx`select set_config('app.grants', '{permission:manage:tenant}', true), set_config('role', 'barid_caller', true)`;
    await tx`select tenancy.wizard_rollback(${run.id})`;
  });
  await expect(tried).rejects.toThrow("forbidden");
});
