import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newDriver } from "../../support/assignments.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectRefused } from "../../support/promises.ts";
import type { Person } from "../../support/api.ts";

const path = "/delivery/drivers/me/positions";

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
});

async function onDuty(of: Tenant = tenant): Promise<Person> {
  const driver = await newDriver(of);
  expect(await driver.post("/delivery/drivers/me/duty", { on_duty: true })).toSucceed(200);
  return driver;
}

/** A point so many seconds ago. */
const point = (secondsAgo: number, latitude = 33.3, longitude = 44.4) => ({
  latitude,
  longitude,
  recorded_at: new Date(Date.now() - secondsAgo * 1000).toISOString(),
});
const send = (driver: Person, ...positions: unknown[]) => driver.post(path, { positions });
const shown = async (driver: Person) =>
  (await tenant.ops.get("/delivery/drivers?limit=100")).body.data
    .find(({ id }: { id: string }) => id === driver.id);

test("are sent by drivers alone, each point whole, at most 200", async () => {
  await expectGuarded({ method: "POST", path, body: { positions: [point(1)] } }, {
    denied: [tenant.ops, tenant.customer, tenant.warehouse],
  });
  const wrong = (more: Record<string, unknown>) => ({ positions: [{ ...point(1), ...more }] });
  await expectRefused(tenant.driver, { method: "POST", path }, [
    [{}, "positions"],
    [{ positions: [] }, "positions"],
    [{ positions: Array.from({ length: 201 }, (_, at) => point(at)) }, "positions"],
    [wrong({ latitude: 91 }), "positions.0.latitude"],
    [wrong({ longitude: undefined }), "positions.0.longitude"],
    [wrong({ recorded_at: "yesterday" }), "positions.0.recorded_at"],
    [wrong({ recorded_at: "2026-11-25T10:00:00" }), "positions.0.recorded_at"],
    [wrong({ heading: 361 }), "positions.0.heading"],
    [wrong({ battery_percent: -1 }), "positions.0.battery_percent"],
    [wrong({ accuracy_m: -1 }), "positions.0.accuracy_m"],
    [wrong({ speed_kmh: 1e9 }), "positions.0.speed_kmh"],
  ]);
});

test("a malformed point among good ones keeps none of them", async () => {
  const driver = await onDuty();
  expect(await send(driver, point(5), { ...point(1), latitude: 91 })).toFailWith(
    400,
    "validation_failed",
  );
  const [{ n }] = await sql`select count(*)::int as n from delivery.driver_positions
    where driver_id = ${driver.id}`;
  expect(n).toBe(0);
});

describe("accepted and ignored", () => {
  test("too old, too far ahead and an instant sent before are ignored and counted", async () => {
    const driver = await onDuty();
    const good = point(60);
    const first = await send(driver, good, point(86_500), point(-180), point(-60));
    expect(first).toSucceed(202);
    expect(first.body.data).toEqual({ accepted: 2, ignored: 2, ahead: 1, next_in_seconds: 30 });
    const again = await send(driver, good, good, point(30));
    expect(again.body.data).toMatchObject({ accepted: 1, ignored: 2 });
  });

  test("all are ignored while off duty, and are no sign of life", async () => {
    const driver = await newDriver(tenant);
    expect((await send(driver, point(1), point(2))).body.data).toMatchObject({
      accepted: 0,
      ignored: 2,
    });
    await driver.post("/delivery/drivers/me/duty", { on_duty: true });
    await driver.post("/delivery/drivers/me/duty", { on_duty: false });
    const before = (await shown(driver)).last_heartbeat_at;
    expect((await send(driver, point(1))).body.data).toMatchObject({ accepted: 0, ignored: 1 });
    expect((await shown(driver)).last_heartbeat_at).toBe(before);
  });

  test("are the same to whichever device sends them first", async () => {
    const driver = await onDuty();
    const points = Array.from({ length: 50 }, (_, at) => point(at * 10));
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(driver, ...points)));
    expect(answers.every(({ status }) => status === 202)).toBe(true);
    const accepted = answers.reduce((sum, { body }) => sum + body.data.accepted, 0);
    expect(accepted).toBe(50);
  });
});

test("the latest by the device's clock is the driver's place, in whatever order they come", async () => {
  const driver = await onDuty();
  await send(driver, point(10, 33.1, 44.1), point(5, 33.2, 44.2), point(20, 33.3, 44.3));
  expect((await shown(driver)).last_position).toMatchObject({ latitude: 33.2, longitude: 44.2 });
  await send(driver, point(600, 30, 40));
  expect((await shown(driver)).last_position).toMatchObject({ latitude: 33.2, longitude: 44.2 });
});

test("a driver's place is the office's to see, and that driver's", async () => {
  const driver = await onDuty();
  await send(driver, point(1));
  const seenBy = async (person: Person) =>
    (await person.get("/delivery/drivers?limit=100")).body.data
      .find(({ id }: { id: string }) => id === driver.id).last_position;
  expect(await seenBy(driver)).toBeTruthy();
  expect(await seenBy(tenant.dispatcher)).toBeTruthy();
  expect(await seenBy(tenant.warehouse)).toBeNull();
});

test("says when to report again, as the tenant has set it", async () => {
  await saveSettings(other.id, "general.user_settings", { heartbeat_interval_seconds: 15 });
  const driver = await onDuty(other);
  expect((await send(driver, point(1))).body.data.next_in_seconds).toBe(15);
});

describe("the way of a driver", () => {
  const at = (driver: Person) => `/delivery/drivers/${driver.id}/positions`;

  test("is the office's and that driver's to read", async () => {
    const driver = await onDuty();
    const foreign = await onDuty(other);
    await expectGuarded({ method: "GET", path: at(driver) }, {
      denied: [tenant.customer, tenant.warehouse, tenant.institution],
    });
    await expectNoSuch(
      tenant.ops,
      { method: "GET", path: "/delivery/drivers/{id}/positions" },
      "driver_id",
      "driver_not_found",
      foreign.id,
    );
    expect(await driver.get(at(driver))).toSucceed(200);
    expect(await tenant.driver2.get(at(driver))).toFailWith(404, "driver_not_found");
  });

  test("is read oldest first, in pages, over at most 24 hours", async () => {
    const driver = await onDuty();
    await send(driver, ...[50, 10, 40, 20, 30].map((ago) => point(ago)));
    await send(driver, point(7_200, 33.5, 44.5));
    const whole = await tenant.ops.get(at(driver));
    expect(whole).toSucceed(200);
    const times = whole.body.data.map(({ recorded_at }: { recorded_at: string }) => recorded_at);
    expect(times).toEqual([...times].sort());
    expect(whole.body.pagination).toEqual({ page: 1, limit: 500, total: 6, total_pages: 1 });
    const second = await tenant.ops.get(`${at(driver)}?limit=4&page=2`);
    expect(second.body.data).toEqual(whole.body.data.slice(4));

    const hour = new Date(Date.now() - 3_600_000).toISOString();
    const recent = await tenant.ops.get(`${at(driver)}?from=${hour}`);
    expect(recent.body.pagination.total).toBe(5);
    const day = new Date(Date.now() - 90_000_000).toISOString();
    const now = new Date().toISOString();
    for (const query of [`from=${day}&to=${now}`, `from=${now}&to=${hour}`]) {
      const refused = await tenant.ops.get(`${at(driver)}?${query}`);
      expect(refused).toFailWith(400, "invalid_date_range");
      expect(refused.body.field).toBe("to");
    }
    expect(await tenant.ops.get(`${at(driver)}?from=x`)).toFailWith(400, "validation_failed");
  });

  test.each([
    // Clocks go back: 25 hours.
    ["2026-11-01T00:00", "2026-11-02T00:00", 200],
    ["2026-11-01T00:00", "2026-11-02T00:01", 400],
    // Clocks go forward: the day has 23 hours, and 24 may be asked for.
    ["2027-03-14T00:00", "2027-03-15T01:00", 200],
    ["2027-03-14T00:00", "2027-03-15T01:01", 400],
  ])("of a day of the company, %s to %s: %i", async (from, to, status) => {
    const there = await newTenant({
      settings: { "general.timezone": { name: "America/New_York" } },
    });
    const driver = await newDriver(there);
    const answer = await there.ops.get(at(driver), { query: { from, to } });
    expect(answer.status).toBe(status);
  });

  test("of a day is that of the company, from its first moment to its last", async () => {
    const there = await newTenant({
      settings: { "general.timezone": { name: "America/New_York" } },
    });
    const driver = await onDuty(there);
    // That day clocks go back: it has 25 hours.
    const moments = ["03:59:59.9Z", "04:00:00Z", "23:00:00Z"].map((time) => `2026-11-01T${time}`);
    const more = ["04:59:59.9Z", "05:00:00Z"].map((time) => `2026-11-02T${time}`);
    for (const moment of [...moments, ...more]) {
      await sql`insert into delivery.driver_positions (tenant_id, driver_id, recorded_at, latitude, longitude)
        values (${there.id}, ${driver.id}, ${moment}, 33, 44)`;
    }
    const day = "2026-11-01";
    for (const query of [{ from: day }, { to: day }, { from: day, to: day }]) {
      const { body } = await there.ops.get(at(driver), { query });
      expect(body.data.map((row: { recorded_at: string }) => Date.parse(row.recorded_at)))
        .toEqual([moments[1], moments[2], more[0]].map((moment) => Date.parse(moment!)));
    }
    for (const query of [{ from: day, to: "2026-11-02" }, { from: day, to: "2026-10-31" }]) {
      expect(await there.ops.get(at(driver), { query })).toFailWith(400, "invalid_date_range");
    }
    expect(await there.ops.get(at(driver), { query: { from: "2026-13-01" } }))
      .toFailWith(400, "validation_failed");
  });
});

test("partitions are made for each day, take what waited for them, and go after 30 days", async () => {
  const driver = await onDuty();
  const partitions = async () =>
    (await sql`select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'delivery.driver_positions'::regclass order by 1`).map(({ name }) =>
      name
    );
  await sql`select delivery.positions_partition()`;
  const made = await partitions();
  expect(made).toContain("driver_positions_default");
  expect(made.length).toBeGreaterThanOrEqual(10);
  const reached = await sql`select c.oid::regclass::text as name from pg_class c
    where c.relnamespace = 'partitions'::regnamespace and c.relkind = 'r' and (has_schema_privilege('barid_caller', 'partitions', 'usage')
      or has_table_privilege('barid_caller', c.oid, 'select') or has_table_privilege('authenticated', c.oid, 'select'))`;
  expect([...reached]).toEqual([]);

  // A day that nobody made yet, with a point in it; and one that ended more than 30 days ago.
  const [{ day }] =
    await sql`select to_char(timezone('UTC', now()) + interval '8 days', 'YYYYMMDD') as day`;
  await sql`insert into delivery.driver_positions (tenant_id, driver_id, recorded_at, latitude, longitude)
    values (${tenant.id}, ${driver.id}, now() + interval '8 days', 33, 44)`;
  await sql.unsafe(
    `create table partitions.driver_positions_20250101 partition of delivery.driver_positions
    for values from ('2025-01-01 00:00Z') to ('2025-01-02 00:00Z')`,
  );
  await sql`select delivery.positions_partition(8)`;
  expect(await partitions()).toEqual([...made, `driver_positions_${day}`].sort());
  const [{ place }] =
    await sql`select tableoid::regclass::text as place from delivery.driver_positions
    where driver_id = ${driver.id}`;
  expect(place).toBe(`partitions.driver_positions_${day}`);
});

test("a day's partition is made and dropped while a dispatcher holds drivers, and waits for no one", async () => {
  await onDuty();
  const [{ day }] =
    await sql`select to_char(timezone('UTC', now()) + interval '9 days', 'YYYYMMDD') as day`;
  await sql.unsafe(
    `create table partitions.driver_positions_20250102 partition of delivery.driver_positions
    for values from ('2025-01-02 00:00Z') to ('2025-01-03 00:00Z')`,
  );
  await sql.begin(async (dispatcher) => {
    // An assignment holds this of the table of drivers: the look-up of its foreign key, and the driver's load.
    await dispatcher`select from delivery.drivers where tenant_id = ${tenant.id} for key share`;
    await dispatcher`update delivery.drivers set live_stops = live_stops where tenant_id = ${tenant.id}`;
    await sql`select delivery.positions_partition(9)`;
    expect(
      await sql`select to_regclass('partitions.driver_positions_20250102') as gone,
      to_regclass(${"partitions.driver_positions_" + day}) is not null as made`,
    )
      .toEqual([{ gone: null, made: true }]);
  });
});

test("a removed driver's positions go with the driver", async () => {
  const driver = await onDuty();
  await sql`insert into delivery.driver_positions (tenant_id, driver_id, recorded_at, latitude, longitude)
    values (${tenant.id}, ${driver.id}, now(), 33, 44)`;
  await sql`delete from delivery.drivers where user_id = ${driver.id}`;
  expect(await sql`select from delivery.driver_positions where driver_id = ${driver.id}`)
    .toHaveLength(0);
});
