/** `npm run tenant -- delete` removes a company for good, and nothing of anybody else's. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Place } from "../../../supabase/tenant/place.ts";
import { nobody, type Person, signedIn, withKey } from "../../support/api.ts";
import { newKey } from "../../support/api-keys.ts";
import { sql, stack } from "../../support/db.ts";
import { deleted, placeAt, textsOf, tracesOf } from "../../support/deletion.ts";
import { type Everything, fingerprintOf, newEverything } from "../../support/everything.ts";
import { moveToOwnStack } from "../../support/move-to-own-stack.ts";
import { newPerson, newSystemAdmin, type Tenant } from "../../support/people.ts";
import { wizardBody } from "../../support/wizard.ts";

let place: Place;
let leave: () => Promise<void>;
let gone: Everything;
let beside: Everything;
let system: Person;
let ofBoth: Person;
let invited: Person;
let texts: string[];
let before: Record<string, string>;
let key: string;
let made: string;
let shop: string;
const slug = () => `t-${gone.tenant.id}`;
const path = (tenant: Tenant) => `${tenant.id}/deliveries/photo.png`;
/** A list of each section of the API. */
const sections = [
  "/delivery/deliveries",
  "/warehousing/inventory",
  "/storefront/orders",
  "/carriers/tenant",
  "/payment/webhook-events",
  "/webhooks/subscriptions",
  "/tenants/me/api-keys",
];
const filesOf = (tenant: Tenant) =>
  sql`select name from storage.objects where name like ${`${tenant.id}/%`}`;

beforeAll(async () => {
  // Traces are looked for in every row, of which the shared system has hundreds of thousands.
  ({ leave } = await moveToOwnStack());
  place = placeAt(stack);
  system = await newSystemAdmin();
  gone = await newEverything("received");
  beside = await newEverything("received");
  ofBoth = await newPerson(gone.tenant.id, "staff", "dispatcher");
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
    values (${beside.tenant.id}, ${ofBoth.id}, 'staff')`;
  await sql`update tenancy.profiles set made_by_tenant = ${gone.tenant.id} where id = ${ofBoth.id}`;
  await sql`update tenancy.tenant_users set is_active = false, left_at = now()
    where tenant_id = ${gone.tenant.id} and user_id = ${ofBoth.id}`;
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
    values (${gone.tenant.id}, ${system.id}, 'staff')`;
  invited = await newPerson(gone.tenant.id, "customer", "customer");
  await sql`insert into tenancy.invitations (tenant_id, email, person, expires_at)
    select ${beside.tenant.id}, lower(u.email), '{"tenant_user_type": "customer"}', now() + interval '1 day'
    from auth.users u where u.id = ${invited.id}`;
  await noteElsewhere();
  ({ key } = await newKey(gone.tenant));
  [{ shop }] = await sql<{ shop: string }[]>`select store_name as shop from storefront.markets
    where tenant_id = ${gone.tenant.id}`;
  for (const { tenant } of [gone, beside]) {
    const { error } = await place.storage.from("proofs")
      .upload(path(tenant), new Uint8Array([137, 80]), { contentType: "image/png" });
    expect(error).toBeNull();
  }
  const others = await sql`select user_id from tenancy.tenant_users
    where tenant_id = ${gone.tenant.id} and user_id not in (${ofBoth.id}, ${invited.id}, ${system.id})`;
  texts = [...await textsOf(sql, gone.tenant.id, others.map(({ user_id }) => user_id)), made];
  before = await fingerprintOf(beside.tenant.id);
});
afterAll(async () => {
  await place.close();
  await leave();
});

/** Names the company where rows are no company's, and makes an account for it that nobody took. */
async function noteElsewhere(): Promise<void> {
  const names = { run_id: randomUUID(), tenant_id: gone.tenant.id, actor_id: system.id };
  await sql`insert into app.idempotency_keys (scope, operation, key, input_hash, answer)
    values (${`-/${system.id}`}, 'POST /tenants', ${randomUUID()}, '\\x00', ${sql.json(names)})`;
  await sql`insert into integration.system_events (event_type, source_module, entity_type, entity_id, event_data)
    values ('tenant_wizard.rollback_failed', 'tenants', 'tenant', ${gone.tenant.id}, ${
    sql.json(names)
  })`;
  await sql`insert into app.jobs (kind, payload, status) values ('none.none', ${
    sql.json(names)
  }, 'done')`;
  await sql`insert into tenancy.notifications (user_id, type, payload)
    values (${ofBoth.id}, 'none', ${sql.json(names)})`;
  made = randomUUID();
  await sql`insert into auth.users (id, email) values (${made}, ${`${made}@barid.test`})`;
  await sql`update tenancy.profiles set made_by_tenant = ${gone.tenant.id} where id = ${made}`;
}

describe("a company", () => {
  test("that is not archived stays", async () => {
    const { failure } = await deleted(place, gone.tenant, { confirm: slug() });
    expect(failure).toContain(`archive it first (POST /tenants/${gone.tenant.id}/archive)`);
  });

  test("that nobody knows is named", async () => {
    const { failure } = await deleted(place, gone.tenant, { slug: "nobody" });
    expect(failure).toBe('This project has no company "nobody".');
  });

  test("is shown, and stays until its slug is confirmed", async () => {
    const { status } = await system.post(`/tenants/${gone.tenant.id}/archive`);
    expect(status).toBe(200);
    const { text, failure } = await deleted(place, gone.tenant);
    expect(failure).toBeUndefined();
    expect(text).toContain("Files: 1");
    expect(text).toMatch(/People: 14; 11 belong to no other company/);
    expect(text).toMatch(/Open: \d+ accounts wallet of institution hold/);
    expect(text).toMatch(/Open: \d+ deliveries are/);
    expect(text).toContain(`--confirm ${slug()}`);
    const wrong = await deleted(place, gone.tenant, { confirm: "another", withOpenItems: true });
    expect(wrong.failure).toContain("--confirm says another");
    expect(await filesOf(gone.tenant)).toHaveLength(1);
  });

  test("with open items stays unless they are given up", async () => {
    const { failure } = await deleted(place, gone.tenant, { confirm: slug() });
    expect(failure).toContain("--with-open-items");
    expect(await sql`select from tenancy.deleted_tenants where id = ${gone.tenant.id}`).toEqual([]);
  });
});

describe("a deletion", () => {
  test("ends, with all rows, files and accounts", async () => {
    const options = { confirm: slug(), withOpenItems: true, by: "Dana" };
    const { text, failure } = await deleted(place, gone.tenant, options);
    expect(failure).toBeUndefined();
    expect(text).toContain("Files removed: 1");
    expect(text).toContain("Accounts removed: 11");
  });

  test("leaves nothing that names the company, or people of it alone", async () => {
    expect(await tracesOf(sql, texts)).toEqual([]);
    expect(await filesOf(gone.tenant)).toEqual([]);
  });

  test("leaves a record without a name", async () => {
    const [record] = await sql`select * from tenancy.deleted_tenants where id = ${gone.tenant.id}`;
    expect(record).toMatchObject({ run_by: "Dana", leaving: [] });
    expect([record!.file_count, record!.person_count].map(Number)).toEqual([1, 11]);
    expect(record!.row_counts).toHaveProperty("money.rows");
    expect(record!.ended_at).not.toBeNull();
  });

  test("leaves the companies beside it as they were", async () => {
    expect(await fingerprintOf(beside.tenant.id)).toEqual({
      ...before,
      "tenancy.profiles": expect.any(String),
    });
    expect(await filesOf(beside.tenant)).toHaveLength(1);
    for (const path of sections) {
      expect((await beside.tenant.admin.get(path)).status, path).toBe(200);
    }
  });

  test("is known to the administrators of the system", async () => {
    const { body } = await system.get("/system/events", {
      query: { event_type: "tenant.deleted", entity_id: gone.tenant.id },
    });
    expect(body.events).toMatchObject([{ event_type: "tenant.deleted", tenant_id: null }]);
    const { body: { event } } = await system.get(`/system/events/${body.events[0].id}`);
    expect(event.event_data).toMatchObject({ tenant_id: gone.tenant.id, files: 1, people: 11 });
  });

  test("refuses tokens of its people, without a failure", async () => {
    for (const path of [...sections, "/tenants/me"]) {
      expect((await gone.tenant.admin.get(path)).status, path).toBe(401);
      const byKey = await withKey(key).get(path);
      expect(byKey.status, path).toBe(401);
    }
    const { status, body } = await signedIn(ofBoth.id, gone.tenant.id).get("/delivery/deliveries");
    expect([status, body.code]).toEqual([403, "forbidden"]);
    const named = await system.get("/delivery/deliveries", {
      query: { tenant_id: gone.tenant.id },
    });
    expect([named.status, named.body.code]).toEqual([404, "tenant_not_found"]);
  });

  test("answers strangers, carriers and gateways that there is no such company", async () => {
    const raw = JSON.stringify({ event_id: "late", tracking_number: "SIM-1", status: "delivered" });
    const answers = [
      await nobody.get(`/storefront/public/markets/${shop}`),
      await nobody.post(`/carriers/webhooks/simulated/${gone.tenant.id}`, raw),
      await nobody.post("/payment/webhooks/gatewayone", { orderId: "900000000009" }),
    ];
    for (const { status, body } of answers) {
      expect(status, JSON.stringify(body)).toBeGreaterThanOrEqual(400);
      expect(status, JSON.stringify(body)).toBeLessThan(500);
    }
  });

  test("leaves people of two companies the other, and the maker of their account unknown", async () => {
    const { status } = await signedIn(ofBoth.id, beside.tenant.id).get("/tenants/me");
    expect(status).toBe(200);
    const [profile] =
      await sql`select made_by_tenant, left_tenants from tenancy.profiles where id = ${ofBoth.id}`;
    expect(profile).toEqual({
      made_by_tenant: "00000000-0000-0000-0000-000000000000",
      left_tenants: null,
    });
  });

  test("leaves the account that another company's invitation waits for", async () => {
    const [{ waits }] = await sql`select count(*)::int as waits from tenancy.invitations i
      join auth.users u on lower(u.email) = i.email where u.id = ${invited.id}`;
    expect(waits).toBe(1);
  });

  test("is repeated by the id alone, for files that came later", async () => {
    const { error } = await place.storage.from("proofs")
      .upload(path(gone.tenant), new Uint8Array([137]), { contentType: "image/png" });
    expect(error).toBeNull();
    const options = { slug: undefined, id: gone.tenant.id, confirm: gone.tenant.id };
    const { text, failure } = await deleted(place, gone.tenant, options);
    expect(failure).toBeUndefined();
    expect(text).toContain("Nothing is left of it.");
    expect(await filesOf(gone.tenant)).toEqual([]);
  });
});

test("a company that the wizard opened is gone with the answers that are kept, and people deleted softly", async () => {
  const body = wizardBody();
  const headers = { "idempotency-key": crypto.randomUUID() };
  const opened = await system.post("/tenants/wizard", body, { headers });
  expect(opened).toSucceed(201);
  const { tenant_id: id } = opened.body;
  const [{ user_id }] = await sql`select user_id from tenancy.tenant_users where tenant_id = ${id}`;
  expect((await place.accounts.deleteUser(user_id, true)).error).toBeNull();
  expect((await system.post(`/tenants/${id}/archive`)).status).toBe(200);
  await sql`delete from app.jobs where tenant_id = ${id}`;
  const { slug } = body.tenant;
  const { text, failure } = await deleted(place, { id } as Tenant, { slug, confirm: slug });
  expect(failure).toBeUndefined();
  expect(text).not.toContain("Open:");
  expect(await tracesOf(sql, [id, slug, user_id, body.tenant.contact_info.email])).toEqual([]);
});
