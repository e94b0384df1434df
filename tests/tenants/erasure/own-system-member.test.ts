/** `npm run tenant -- erase` and `person` for people with an account: a driver, a merchant, somebody of two companies. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { disclosePerson } from "../../../supabase/tenant/disclose.ts";
import type { Place } from "../../../supabase/tenant/place.ts";
import { sql } from "../../support/db.ts";
import {
  erased,
  type Lived,
  newCompany,
  newPlace,
  receives,
  rowsThatSay,
  textsOfPerson,
} from "../../support/erasure.ts";
import { fingerprintOf } from "../../support/everything.ts";
import { jobsDone } from "../../support/jobs.ts";
import { newPerson } from "../../support/people.ts";
import { booksOf, cashOf } from "../../support/reconciled.ts";

const guest = {
  name: "Narin Sabri",
  phone: "+9647505550001",
  email: "narin@example.test",
  street: "Ankawa 120, gate 4",
};
const named = { full_name: "Bahoz Tariq Amin", first_name: "Bahoz", phone: "+9647504440002" };
const address = "bahoz.t@example.test";
let here: Lived;
let there: Lived;
let place: Place;
let end = () => Promise.resolve();
let parcel: { id: string; payment: string };
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barid-person-"));
  ({ place, end } = await newPlace());
  [here, there] = await Promise.all([newCompany(), newCompany()]);
  const { tenant } = here.shop;
  await sql`update auth.users set email = ${address} where id = ${tenant.driver.id}`;
  await sql`update tenancy.profiles set ${
    sql({ ...named, email: address })
  } where id = ${tenant.driver.id}`;
  await sql`insert into auth.identities (provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
    values (${tenant.driver.id}, ${tenant.driver.id}, ${
    sql.json({ email: address })
  }, 'email', now(), now(), now())`;
  parcel = await receives(here, guest);
  await sql`insert into delivery.driver_positions (tenant_id, driver_id, recorded_at, latitude, longitude)
    values (${tenant.id}, ${tenant.driver.id}, now(), 33.3, 44.4)`;
  await jobsDone(tenant.id);
}, 120_000);
afterAll(async () => {
  await end();
  rmSync(folder, { recursive: true, force: true });
});

const ask = { person: address };

describe("a driver", () => {
  test("whose cash is not settled stays", async () => {
    const { tenant } = here.shop;
    await sql`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units)
      select tenant_id, id, ${tenant.driver.id}, 'accepted', 1 from delivery.deliveries where id = ${parcel.id}`;
    const { text, failure } = await erased(place, tenant, { ...ask, confirm: address });
    expect(text).toContain("Open: 1 parcels are carried by them");
    expect(failure).toContain("settle it first. Nothing was erased.");
    await sql`delete from delivery.assignments where delivery_id = ${parcel.id} and status = 'accepted'`;
  });

  test("gets all that is kept of them, and nothing of others", async () => {
    const file = join(folder, "driver.json");
    const options = { slug: `t-${here.shop.tenant.id}`, ...ask, export: file };
    await disclosePerson(place, options, () => {});
    const text = readFileSync(file, "utf8");
    const shown = JSON.parse(text);
    expect(shown.tables["tenancy.profiles"]).toMatchObject([{ ...named, email: address }]);
    expect(shown.tables["money.payments"]).toMatchObject([{
      snapshot: { driver: { full_name: named.full_name } },
    }]);
    expect(shown.tables["delivery.driver_positions"]).toEqual([
      { recorded_at: expect.any(String), latitude: 33.3, longitude: 44.4 },
    ]);
    for (const of of Object.values(guest)) expect(text).not.toContain(of);
    await expect(disclosePerson(place, options, () => {})).rejects.toThrow("EEXIST");
  });

  test("goes with the account, and keeps the books until then", async () => {
    const { tenant } = here.shop;
    const others = await rowsThatSay(textsOfPerson(guest));
    const tomorrow = new Date(Date.now() + 86_400_000 * 2).toISOString().slice(0, 10);
    const first = await erased(place, tenant, {
      ...ask,
      confirm: address,
      keepBooksUntil: tomorrow,
    });
    expect(first.failure, first.text).toBeUndefined();
    const kept = (await rowsThatSay([named.full_name, named.phone, address])).map((row) =>
      row.split(":")[0]
    );
    expect([...new Set(kept)].sort()).toEqual(["money.payments", "tenancy.erasures"]);
    expect((await tenant.driver.get("/tenants/me")).status).toBe(401);
    const waiting = await erased(place, tenant, ask);
    expect(waiting.text).toContain(`kept until ${tomorrow}`);
    expect(waiting.text).toContain("Nothing more is to be erased.");
    await sql`update tenancy.erasures set books_until = current_date where tenant_id = ${tenant.id}`;
    const last = await erased(place, tenant, { ...ask, confirm: address });
    expect(last.failure, last.text).toBeUndefined();
    expect(await rowsThatSay([named.full_name, named.phone, address])).toEqual([]);
    expect((await rowsThatSay(textsOfPerson(guest))).length).toBe(others.length);
    expect([await booksOf(tenant), await cashOf(tenant)]).toEqual([[], []]);
    const [record] = await sql`select * from tenancy.erasures where tenant_id = ${tenant.id}`;
    expect(record).toMatchObject({ subject: {}, ended_at: expect.any(Date) });
  });

  test("is found no more, and shown by the word alone", async () => {
    const { tenant } = here.shop;
    const { text, failure } = await erased(place, tenant, { person: tenant.driver.id });
    expect(failure).toBeUndefined();
    expect(text).toContain("Nothing more is to be erased.");
    const detail = await tenant.admin.get(`/delivery/cod-settlements/${parcel.payment}`);
    expect(detail).toSucceed(200);
    for (
      const path of [`/tenants/${tenant.id}/users`, "/delivery/drivers", "/delivery/assignments"]
    ) {
      expect((await tenant.admin.get(path)).status, path).toBe(200);
    }
  });
});

describe("somebody", () => {
  test("of two companies keeps account and profile, and the other company all of its rows", async () => {
    const { tenant } = here.shop;
    const both = await newPerson(tenant.id, "staff", "dispatcher");
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      values (${there.shop.tenant.id}, ${both.id}, 'staff')`;
    // Which companies a person has left stands in the profile, and is nothing of the other one's.
    const rowsThere = async () => ({
      ...await fingerprintOf(there.shop.tenant.id),
      "tenancy.profiles":
        await sql`select to_jsonb(p) - '{left_tenants,updated_at}'::text[] as profile
        from tenancy.profiles p join tenancy.tenant_users u on u.user_id = p.id
        where u.tenant_id = ${there.shop.tenant.id} order by p.id`,
    });
    const before = await rowsThere();
    const { text, failure } = await erased(place, tenant, { person: both.id, confirm: both.id });
    expect(failure, text).toBeUndefined();
    expect(text).toContain("another company has them");
    expect(await rowsThere()).toEqual(before);
    const [member] = await sql`select is_active, left_at, was_shut_out from tenancy.tenant_users
      where tenant_id = ${tenant.id} and user_id = ${both.id}`;
    expect(member).toEqual({ is_active: false, left_at: expect.any(Date), was_shut_out: false });
    const { body } = await tenant.admin.get(`/tenants/${tenant.id}/users?limit=100`);
    expect(body.data.map(({ id }: { id: string }) => id)).not.toContain(both.id);
    const roles = await sql`select from tenancy.tenant_user_roles
      where tenant_id = ${tenant.id} and user_id = ${both.id}`;
    expect(roles).toHaveLength(0);
    const again = await erased(place, tenant, { person: both.id });
    expect(again.text).toContain("Nothing more is to be erased.");
  });

  test("whom the company had shut out stays shut out", async () => {
    const { tenant } = here.shop;
    const out = await newPerson(tenant.id, "customer", "customer");
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      values (${there.shop.tenant.id}, ${out.id}, 'customer')`;
    const shut = await tenant.admin.put(`/tenants/${tenant.id}/users/${out.id}`, {
      is_active: false,
    });
    expect(shut).toSucceed(200);
    const { failure, text } = await erased(place, tenant, { person: out.id, confirm: out.id });
    expect(failure, text).toBeUndefined();
    const [member] = await sql`select was_shut_out from tenancy.tenant_users
      where tenant_id = ${tenant.id} and user_id = ${out.id} and left_at is not null`;
    expect(member).toEqual({ was_shut_out: true });
  });

  test("who alone administers the company stays until somebody else does", async () => {
    const { tenant } = there.shop;
    const { text, failure } = await erased(place, tenant, {
      person: tenant.admin.id,
      confirm: tenant.admin.id,
    });
    expect(text).toContain("Open: they are the last administrator of the company");
    expect(failure).toContain("settle it first. Nothing was erased.");
  });

  test("who is a merchant is sent nothing more: their subscription goes, with what was sent to it", async () => {
    const { tenant } = here.shop;
    const merchant = await newPerson(tenant.id, "institution", "institution");
    const [{ id }] = await sql`insert into integration.webhook_subscriptions
      (tenant_id, module_id, url, event_types, secret, owner_user_id)
      select ${tenant.id}, m.id, 'https://shop.example/hook', '{*}', 's1.sealed', ${merchant.id}
      from tenancy.modules m where m.key = 'delivery' returning id` as [{ id: string }];
    const [{ event }] = await sql`insert into integration.webhook_events
      (tenant_id, subscription_id, event_type, entity_key, body, status, next_attempt_at)
      values (${tenant.id}, ${id}, 'webhook.test', 'test/1', '{"data": {}}', 'success', null)
      returning id as event` as [{ event: string }];
    await sql`insert into integration.webhook_attempts (tenant_id, event_id, latency_ms, response_body)
      values (${tenant.id}, ${event}, 1, 'thanks')`;
    const counted = async () =>
      await sql`select (select count(*)::int from integration.webhook_subscriptions where tenant_id = ${tenant.id}) as subscriptions,
        (select count(*)::int from integration.webhook_events where tenant_id = ${tenant.id}) as events,
        (select count(*)::int from integration.webhook_attempts where tenant_id = ${tenant.id}) as attempts`;
    const [before] = await counted();
    const { failure, text } = await erased(place, tenant, {
      person: merchant.id,
      confirm: merchant.id,
    });
    expect(failure, text).toBeUndefined();
    expect(await counted()).toEqual([{
      subscriptions: before!.subscriptions - 1,
      events: before!.events - 1,
      attempts: before!.attempts - 1,
    }]);
    expect(await sql`select from integration.webhook_subscriptions where id = ${id}`).toEqual([]);
  });

  test("with an account is asked for by it, and nobody is found who is none", async () => {
    const { tenant } = here.shop;
    const [{ phone }] =
      await sql`select phone from tenancy.profiles where id = ${tenant.ops.id}` as [
        { phone: string },
      ];
    expect((await erased(place, tenant, { phone })).failure).toContain(
      `--person <id> for ${tenant.ops.id}`,
    );
    expect((await erased(place, tenant, { person: "nobody@example.test" })).failure).toContain(
      "no member",
    );
    expect((await erased(place, tenant, { phone: "12" })).failure).toContain("too few digits");
    expect((await erased(place, tenant, { phone: "+9647999999999" })).text).toContain(
      "Nothing more",
    );
  });
});
