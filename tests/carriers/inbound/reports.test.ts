/** Booking with a carrier, and what the carrier reports: proved by its signature, once, in legal moves only. */
import { createHmac, randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { enable, newBooked, report, statusOf } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
let secret: string;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  secret = (await enable(tenant)).secret;
});

describe("a report", () => {
  test("moves the delivery, by the legal moves, with history and events", async () => {
    const delivery = await newBooked(tenant);
    const tell = (status: string) =>
      report(tenant, secret, { tracking_number: delivery.tracking_number, status });
    const picked = await tell("picked_up");
    expect(picked).toSucceed(200);
    expect(picked.body).toMatchObject({ outcome: "applied", duplicate: false });
    expect((await tell("picked_up")).body.outcome).toBe("unchanged");
    expect((await tell("delivered")).body.outcome).toBe("applied");
    expect(await statusOf(delivery)).toBe("delivered");
    const history =
      await sql`select to_status from delivery.delivery_status_history where delivery_id = ${delivery.id} order by id`;
    expect(history.map(({ to_status }) => to_status)).toEqual([
      "pending",
      "accepted",
      "picked_up",
      "delivered",
    ]);
    const [row] =
      await sql`select picked_up_at, delivered_at from delivery.deliveries where id = ${delivery.id}`;
    expect(row.picked_up_at).not.toBeNull();
    expect(row.delivered_at).not.toBeNull();
    const events =
      await sql`select event_type from integration.system_events where entity_id = ${delivery.id} and event_type = 'delivery.delivered'`;
    expect(events).toHaveLength(1);
    expect((await tell("in_transit")).body.outcome).toBe("impossible");
    expect(await statusOf(delivery)).toBe("delivered");
  });

  test("counts once, however often and at whatever moments it comes", async () => {
    const delivery = await newBooked(tenant);
    const raw = JSON.stringify({
      event_id: randomUUID(),
      tracking_number: delivery.tracking_number,
      status: "in_transit",
    });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => report(tenant, secret, {}, { raw })),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(answers.filter(({ body }) => !body.duplicate)).toHaveLength(1);
    const history =
      await sql`select from delivery.delivery_status_history where delivery_id = ${delivery.id} and to_status = 'in_transit'`;
    expect(history).toHaveLength(1);
  });

  test("of a clock that is behind dates nothing before the order, or before the pickup", async () => {
    const delivery = await newBooked(tenant);
    const send = (status: string, occurred_at: string) =>
      report(tenant, secret, { tracking_number: delivery.tracking_number, status, occurred_at });
    const times = async () =>
      (await sql`select created_at, picked_up_at, delivered_at from delivery.deliveries
        where id = ${delivery.id}`)[0];
    expect((await send("picked_up", "2001-02-03T04:05:06Z")).body.outcome).toBe("applied");
    const { created_at, picked_up_at } = await times();
    expect(picked_up_at).toEqual(created_at);
    // The order of the carrier's own reports is by its clock.
    expect((await send("failed", "2001-02-03T04:05:05Z")).body.outcome).toBe("too_late");
    expect((await send("delivered", "2001-02-03T05:05:06Z")).body.outcome).toBe("applied");
    expect(await times()).toEqual({ created_at, picked_up_at, delivered_at: picked_up_at });
  });

  test("that comes too late changes nothing", async () => {
    const delivery = await newBooked(tenant);
    const tell = (status: string, minutesAgo: number) =>
      report(tenant, secret, {
        tracking_number: delivery.tracking_number,
        status,
        occurred_at: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
      });
    await tell("in_transit", 30);
    expect((await tell("failed", 10)).body.outcome).toBe("applied");
    expect((await tell("in_transit", 20)).body.outcome).toBe("too_late");
    expect(await statusOf(delivery)).toBe("failed");
    const [row] =
      await sql`select status_reason from delivery.deliveries where id = ${delivery.id}`;
    expect(row.status_reason).toBe("carrier_failed");
  });

  test("of something unknown is taken, logged and ignored", async () => {
    const unknown = await report(tenant, secret, {
      tracking_number: "SIM-nothing",
      status: "delivered",
    });
    expect(unknown).toSucceed(200);
    expect(unknown.body.outcome).toBe("unknown_shipment");
    const delivery = await newBooked(tenant);
    const odd = await report(tenant, secret, {
      tracking_number: delivery.tracking_number,
      status: "teleported",
    });
    expect(odd.body.outcome).toBe("unknown_status");
    expect(await statusOf(delivery)).toBe("pending");
    const [logged] =
      await sql`select carrier_status, outcome from integration.carrier_events where delivery_id = ${delivery.id}`;
    expect(logged).toEqual({ carrier_status: "teleported", outcome: "unknown_status" });
  });

  describe("is refused and changes nothing", () => {
    const body = async () => {
      const delivery = await newBooked(tenant);
      return {
        delivery,
        raw: JSON.stringify({
          event_id: randomUUID(),
          tracking_number: delivery.tracking_number,
          status: "delivered",
        }),
      };
    };
    const signed = (raw: string, key = secret) =>
      createHmac("sha256", key).update(raw).digest("hex");
    test.each<[string, (raw: string) => string | null]>([
      ["without a signature", () => null],
      ["with an empty one", () => ""],
      ["with a forged one", () => "0".repeat(64)],
      ["with another secret's", (raw) => signed(raw, "none")],
      [
        "with that of a body that differs by one byte",
        (raw) => signed(raw.replace("delivered", "deliverec")),
      ],
      ["with half of the right one", (raw) => signed(raw).slice(0, 32)],
    ])("%s", async (_, forge) => {
      const { delivery, raw } = await body();
      expect(await report(tenant, secret, {}, { raw, signature: forge(raw) })).toFailWith(
        401,
        "invalid_signature",
      );
      expect(await statusOf(delivery)).toBe("pending");
      expect(await sql`select from integration.carrier_events where delivery_id = ${delivery.id}`)
        .toHaveLength(0);
    });

    test("signed for another tenant or carrier, or for one that is not enabled", async () => {
      const { delivery, raw } = await body();
      const theirs = (await enable(other)).secret;
      expect(await report(tenant, theirs, {}, { raw })).toFailWith(401, "invalid_signature");
      // Genuine there, but the shipment is not theirs.
      expect((await report(other, theirs, {}, { raw })).body.outcome).toBe("unknown_shipment");
      expect(await report(tenant, secret, {}, { raw, carrier: "easypost" })).toFailWith(
        401,
        "invalid_signature",
      );
      expect(await report(tenant, secret, {}, { raw, carrier: "nobody" })).toFailWith(
        401,
        "invalid_signature",
      );
      expect(await report({ id: randomUUID() }, secret, {}, { raw })).toFailWith(
        401,
        "invalid_signature",
      );
      expect(await report({ id: "x" }, secret, {}, { raw })).toFailWith(400, "invalid_uuid");
      await other.admin.patch("/carriers/tenant/simulated", { is_enabled: false });
      expect(await report(other, theirs, {}, { raw })).toFailWith(401, "invalid_signature");
      expect(await statusOf(delivery)).toBe("pending");
    });

    test("genuine but not in the carrier's form, or too large", async () => {
      const withField = (name: string, value: string) =>
        JSON.stringify({
          event_id: randomUUID(),
          tracking_number: "a",
          status: "x",
          [name]: value,
        });
      for (
        const raw of [
          "",
          "{",
          "[]",
          "5",
          '{"event_id":""}',
          '{"event_id":"a","tracking_number":"\\u0000","status":"x"}',
          ...["event_id", "tracking_number", "status"].map((name) => withField(name, "\ud800")),
          // Times that PostgreSQL does not have.
          ...["0000-01-01T00:00:00Z", "2026-11-28T09:00:00+23:00", "2026-11-28T09:00:00-20:30"]
            .map((time) => withField("occurred_at", time)),
        ]
      ) {
        expect((await report(tenant, secret, {}, { raw: raw || " " })).status).toBe(400);
      }
      const raw = JSON.stringify({ event_id: "x".repeat(70_000) });
      expect(await report(tenant, secret, {}, { raw })).toFailWith(413, "payload_too_large");
    });
  });
});
