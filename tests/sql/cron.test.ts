/** The scheduled jobs, run by hand. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { textOf } from "../tools/checks/files.ts";
import { newMigratedDatabase, type OwnDatabase } from "../support/database.ts";
import { sql } from "../support/db.ts";

const [{ hasCron, hasNet }] = await sql`
  select to_regclass('cron.job') is not null as "hasCron", to_regnamespace('net') is not null as "hasNet"`;
const scheduled = [...textOf("sql/cron.sql").matchAll(/cron\.schedule\('(\w+)'/g)]
  .map((match) => match[1]).sort();

let database: OwnDatabase;
beforeAll(async () => {
  database = await newMigratedDatabase();
});
afterAll(() => database.close());

describe.skipIf(!hasCron)("the schedule", () => {
  test("has every job of sql/cron.sql, run by the owner of the database", async () => {
    const jobs =
      await sql`select jobname, username from cron.job where jobname like 'barid%' order by jobname`;
    expect(jobs.map(({ jobname }) => jobname)).toEqual(scheduled);
    expect(new Set(jobs.map(({ username }) => username))).toEqual(new Set(["postgres"]));
  });

  test("has only commands that run", async () => {
    const jobs = await sql<
      { command: string }[]
    >`select command from cron.job where jobname like 'barid%'`;
    expect(jobs.length).toBeGreaterThan(0);
    // In a database of their own: they look at all tenants, and would wait for what other tests do with theirs. That of
    // pg_cron's own history can run only where pg_cron is, and finds nothing so old.
    for (const { command } of jobs) {
      await (command.includes("cron.") ? sql : database.sql).unsafe(command);
    }
  });
});

test("orders are completed as fast as a company of 100,000 deliveries a day delivers them", () => {
  const [, minute, hour] = /'barid_orders_complete', '(\S+) (\S+) \* \* \*'/.exec(
    textOf("sql/cron.sql"),
  )!;
  const [, rows] = /orders_complete\(\)[^]*?limit (\d+)/.exec(
    textOf("sql/storefront/orders/expire.sql"),
  )!;
  expect(minute).toMatch(/^\d+$/);
  const runs = hour === "*" ? 24 : hour.split(",").length;
  expect(runs * Number(rows)).toBeGreaterThanOrEqual(100_000);
});

describe("private.idempotency_purge", () => {
  test("removes keys of yesterday and keeps those of today", async () => {
    const own = database.sql;
    const scope = randomUUID();
    await own`insert into app.idempotency_keys (scope, operation, key, input_hash, created_at) values
      (${scope}, 'POST /x', 'old', '\\x00', now() - interval '25 hours'),
      (${scope}, 'POST /x', 'new', '\\x00', now() - interval '23 hours')`;
    expect(await own`select private.idempotency_purge()::int as removed`).toEqual([{ removed: 1 }]);
    expect(await own`select key from app.idempotency_keys where scope = ${scope}`).toEqual([{
      key: "new",
    }]);
  });
});

describe("private.jobs_purge", () => {
  test("removes what was done over a week ago, never what is dead or still to do", async () => {
    const own = database.sql;
    await own`insert into app.jobs (kind, status, finished_at) values
      ('old.done', 'done', now() - interval '8 days'), ('new.done', 'done', now() - interval '6 days'),
      ('old.dead', 'dead', now() - interval '80 days'), ('old.queued', 'queued', null)`;
    expect(await own`select private.jobs_purge()::int as removed`).toEqual([{ removed: 1 }]);
    const left = await own`select kind from app.jobs order by kind`;
    expect(left.map(({ kind }) => kind)).toEqual(["new.done", "old.dead", "old.queued"]);
    await own`delete from app.jobs`;
  });
});

describe("tenancy.notifications_purge", () => {
  test("deletes what is older than 180 days, read or not", async () => {
    const own = database.sql;
    const user = randomUUID();
    await own`insert into auth.users (id, email) values (${user}, 'notified@barid.test')`;
    await own`insert into tenancy.notifications (user_id, type, read_at, created_at)
      select ${user}, 'purge.' || d || coalesce('.' || extract(day from r), ''), r, now() - d * interval '1 day'
      from unnest(array[179, 181]) d, unnest(array[null, timestamptz '2026-01-01']) r`;
    expect(await own`select tenancy.notifications_purge()::int as removed`).toEqual([{
      removed: 2,
    }]);
    const left =
      await own`select type from tenancy.notifications where user_id = ${user} order by type`;
    expect(left.map(({ type }) => type)).toEqual(["purge.179", "purge.179.1"]);
    await own`delete from auth.users where id = ${user}`;
  });
});

describe("integration.webhooks_purge", () => {
  test("deletes what ended 90 days ago, and what waits for a subscription that was switched off", async () => {
    const own = database.sql;
    const [tenant, on, off] = [randomUUID(), randomUUID(), randomUUID()];
    await own`insert into tenancy.tenants (id, name, slug, status)
      values (${tenant}, '{"en": "T"}', 'purged', 'active')`;
    const modules = await own`select id from tenancy.modules order by id limit 2`;
    for (const [n, id] of [on, off].entries()) {
      await own`insert into integration.webhook_subscriptions (id, tenant_id, module_id, url, event_types, secret, is_active)
        values (${id}, ${tenant}, ${modules[n].id}, 'https://a.example/', '{*}', 'x', ${
        id === on
      })`;
    }
    await own`insert into integration.webhook_events (tenant_id, subscription_id, event_type, entity_key, body, next_attempt_at, created_at,
        claim_token, claimed_at)
      select ${tenant}, s.id, d || '.' || state, 'x', '{}', case when state <> 'ended' then now() end, now() - d * interval '1 day',
        case when state = 'lost' then gen_random_uuid() end, case when state = 'lost' then now() - d * interval '1 day' end
      from unnest(${[
      on,
      off,
    ]}::uuid[]) s (id), unnest(array[89, 91]) d, unnest(array['ended', 'waits', 'lost']) state`;
    await own`select integration.webhooks_purge()`;
    const left = async (id: string) =>
      (await own`select event_type from integration.webhook_events
        where subscription_id = ${id} order by event_type`).map(({ event_type }) => event_type);
    expect(await left(on)).toEqual(["89.ended", "89.lost", "89.waits", "91.lost", "91.waits"]);
    expect(await left(off)).toEqual(["89.ended", "89.lost", "89.waits"]);
    await own`delete from tenancy.tenants where id = ${tenant}`;
  });
});

describe("what waits for a merchant", () => {
  test("is deleted after 90 days where the merchant left, and is kept while they are here", async () => {
    const own = database.sql;
    const [tenant, here, left] = [randomUUID(), randomUUID(), randomUUID()];
    await own`insert into tenancy.tenants (id, name, slug, status)
      values (${tenant}, '{"en": "T"}', 'merchants-purged', 'active')`;
    const [{ id: module }] = await own`select id from tenancy.modules order by id limit 1`;
    for (const user of [here, left]) {
      await own`insert into auth.users (id, email) values (${user}, ${`${user}@a.example`})`;
      await own`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type, is_active)
        values (${tenant}, ${user}, 'institution', ${user === here})`;
      await own`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
        values (${tenant}, ${user}, 'institution') on conflict do nothing`;
      await own`insert into integration.webhook_subscriptions (id, tenant_id, module_id, url, event_types, secret, owner_user_id)
        values (${user}, ${tenant}, ${module}, 'https://a.example/', '{*}', 'x', ${user})`;
    }
    await own`insert into integration.webhook_events (tenant_id, subscription_id, event_type, entity_key, body, created_at)
      select ${tenant}, s.id, d || '.waits', 'x', '{}', now() - d * interval '1 day'
      from unnest(${[here, left]}::uuid[]) s (id), unnest(array[89, 91]) d`;
    await own`select integration.webhooks_purge()`;
    const waiting = async (id: string) =>
      (await own`select event_type from integration.webhook_events
        where subscription_id = ${id} order by event_type`).map(({ event_type }) => event_type);
    expect(await waiting(here)).toEqual(["89.waits", "91.waits"]);
    expect(await waiting(left)).toEqual(["89.waits"]);
    await own`delete from integration.webhook_subscriptions where tenant_id = ${tenant}`;
  });
});

describe("integration.events_purge", () => {
  test("deletes what is older than the setting, 180 days without one, whatever its status", async () => {
    const own = database.sql;
    await own`insert into integration.system_events (event_type, source_module, entity_type, entity_id, status, created_at)
      select s || '.' || d, 'purge', 'thing', gen_random_uuid(), s, now() - d * interval '1 day'
      from unnest(array['processed', 'pending', 'failed']) s, unnest(array[20, 179, 181]) d`;
    const purge = () => own`select integration.events_purge()::int as removed`;
    expect(await purge()).toEqual([{ removed: 3 }]);
    const left = async () =>
      (await own`select event_type from integration.system_events
        where source_module = 'purge' order by event_type`).map(({ event_type }) => event_type);
    expect(await left()).toEqual(
      ["failed", "pending", "processed"].flatMap((status) => [`${status}.179`, `${status}.20`]),
    );
    await own`insert into tenancy.system_settings (key, value) values ('events.keep_days', '30')`;
    expect(await purge()).toEqual([{ removed: 3 }]);
    expect(await left()).toEqual(["failed.20", "pending.20", "processed.20"]);
    await own`delete from tenancy.system_settings where key = 'events.keep_days'`;
    await own`delete from integration.system_events where source_module = 'purge'`;
  });
});

describe.skipIf(!hasNet)("integration.kick_jobs", () => {
  const kick = async () => (await database.sql`select integration.kick_jobs() as asked`)[0].asked;
  const requests = () =>
    database.sql`select url, headers ->> 'apikey' as key from net.http_request_queue order by url`;

  test("asks nobody while the project's address and key are unknown", async () => {
    await database.sql`insert into app.jobs (kind) values ('delivery.due')`;
    expect(await kick()).toBe(0);
  });

  test("asks each function with a job that is due, or soon will be, once and with the secret key", async () => {
    await database.sql`insert into vault.secrets (name, secret) values
      ('project_url', 'http://barid.test/'), ('secret_key', 'sb_secret_test')`;
    await database.sql`insert into app.jobs (kind, status, run_at, lease_until) values
      ('delivery.due', 'queued', now(), null), ('storefront.soon', 'queued', now() + interval '1 minute', null), ('webhooks.lost', 'running', now(), now() - interval '1 second'),
      ('tenants.later', 'queued', now() + interval '1 hour', null),
      ('payment.running', 'running', now(), now() + interval '1 minute'), ('system.done', 'done', now(), null)`;
    expect(await kick()).toBe(3);
    expect(await requests()).toEqual(
      ["delivery", "storefront", "webhooks"].map((name) => ({
        url: `http://barid.test/functions/v1/${name}/internal/jobs?stay`,
        key: "sb_secret_test",
      })),
    );
  });
});
