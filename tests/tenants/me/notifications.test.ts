/** Notifications reach their users: only their own, in their language, read or unread. */
import { beforeAll, describe, expect, test } from "vitest";
import { messageOf } from "../../../functions/tenants/me/notifications.ts";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  type Ground,
  newDelivery,
  newGround,
  path as deliveries,
} from "../../support/deliveries.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

const path = "/tenants/me/notifications";
let tenant: Tenant;
let other: Tenant;
let ground: Ground;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ground = await newGround(tenant);
});

async function assigned() {
  const { id, delivery_code } = await newDelivery(ground);
  const answer = await tenant.ops.post("/delivery/assignments", {
    delivery_id: id,
    driver_id: tenant.driver.id,
  });
  expect(answer).toSucceed(201);
  return { id, delivery_code, assignment: answer.body.id as string };
}

describe("a driver", () => {
  test("reads of a delivery that was assigned, in their language, and marks it as read", async () => {
    const { id, delivery_code, assignment } = await assigned();
    const answer = await tenant.driver.get(`${path}?unread=true&language=ar`);
    expect(answer).toSucceed(200);
    const [newest] = answer.body.data;
    expect(newest).toEqual({
      id: expect.any(String),
      tenant_id: tenant.id,
      type: "assignment_created",
      message: `أُسندت إليك شحنة. رقم الشحنة: ${delivery_code}.`,
      payload: {
        delivery_id: id,
        delivery_code,
        delivery_codes: [delivery_code],
        assignment_id: assignment,
        assignment_count: 1,
        total_units: 2,
        requires_driver_response: true,
      },
      read_at: null,
      created_at: expect.any(String),
    });
    const { unread_count } = answer.body;
    const read = await tenant.driver.post(`${path}/read`, { notification_ids: [newest.id] });
    expect(read.body).toMatchObject({ updated_count: 1, unread_count: unread_count - 1 });
    const again = await tenant.driver.post(`${path}/read`, { notification_ids: [newest.id] });
    expect(again.body).toMatchObject({ updated_count: 0, unread_count: unread_count - 1 });
    const after = await tenant.driver.get(`${path}?unread=false`);
    expect(after.body.data[0]).toMatchObject({
      id: newest.id,
      read_at: expect.any(String),
    });
    const all = await tenant.driver.post(`${path}/read`, {});
    expect(all.body.unread_count).toBe(0);
    expect((await tenant.driver.get(`${path}?unread=true`)).body.pagination.total).toBe(0);
  });

  test("is notified that what they accepted was cancelled, and why", async () => {
    const { id, delivery_code, assignment } = await assigned();
    expect(
      await tenant.driver.put(`/delivery/assignments/${assignment}`, { status: "accepted" }),
    ).toSucceed(200);
    expect(await tenant.ops.post(`${deliveries}/${id}/cancel`, { reason: "Ordered twice" }))
      .toSucceed(200);
    const { body } = await tenant.driver.get(`${path}?type=delivery_cancelled`);
    expect(body.data).toMatchObject([{
      message: `Delivery ${delivery_code}, which was yours, was cancelled: Ordered twice.`,
      payload: { assignment_id: assignment, delivery_id: id, reason: "Ordered twice" },
    }]);
  });

  test("is notified that what they failed to deliver goes to somebody else", async () => {
    const { id, delivery_code, assignment } = await assigned();
    await tenant.driver.put(`/delivery/assignments/${assignment}`, { status: "accepted" });
    for (const [step, body] of [["pickup", {}], ["fail", { reason: "absent" }]] as const) {
      expect(await tenant.driver.post(`${deliveries}/${id}/${step}`, body)).toSucceed(200);
    }
    expect(
      await tenant.ops.post(`${deliveries}/${id}/retry`, {
        reassign: true,
        override_reason: "Other way home",
      }),
    ).toSucceed(200);
    const { body } = await tenant.driver.get(`${path}?type=assignment_returned`);
    expect(body.data).toMatchObject([{
      message:
        `A delivery was withdrawn from you. Delivery number: ${delivery_code}. Reason: Other way home.`,
      payload: {
        assignment_id: assignment,
        delivery_id: id,
        delivery_code,
        reason: "Other way home",
      },
    }]);
  });
});

describe("notices", () => {
  test("are their reader's alone", async () => {
    const { assignment } = await assigned();
    const [{ id }] = await sql`select id from tenancy.notifications
      where payload ->> 'assignment_id' = ${assignment}`;
    for (const person of [tenant.admin, tenant.driver2, other.driver]) {
      const { body } = await person.get(path);
      expect(JSON.stringify(body)).not.toContain(assignment);
      expect((await person.post(`${path}/read`, { notification_ids: [id] })).body.updated_count)
        .toBe(0);
    }
    const [row] = await sql`select read_at from tenancy.notifications where id = ${id}`;
    expect(row.read_at).toBeNull();
    expect(await nobody.get(path)).toFailWith(401, "unauthorized");
    expect(await tenant.driver.get(`${path}?type=gossip`)).toFailWith(400, "validation_failed");
  });

  test("of the platform reach a system administrator, who is in no tenant", async () => {
    const admin = await newSystemAdmin();
    await sql`insert into tenancy.notifications (user_id, type, payload)
      values (${admin.id}, 'market_submitted', '{"store_name": "tea"}')`;
    const { body } = await admin.get(path);
    expect(body).toMatchObject({
      data: [{ tenant_id: null, type: "market_submitted" }],
      unread_count: 1,
    });
    expect((await admin.post(`${path}/read`, {})).body).toMatchObject({ updated_count: 1 });
  });

  test("have a text for every type that is written", async () => {
    const written = await sql`select distinct (regexp_matches(pg_get_functiondef(p.oid),
        'tenancy\\.notifications.*?''(amount_change\\w*|auto_assignment\\w*|assignment\\w*|bulk_assignment\\w*|assignments\\w*|outcome\\w*|handover\\w*|pickup\\w*|return\\w*|recipient\\w*|delivery\\w*)''', 'g'))[1] as type
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in ('delivery', 'private') and p.prokind = 'f' and p.prosrc like '%insert into tenancy.notifications%'
        and p.proname not in ('assigners_notify', 'redirects_late')
      union
      select (regexp_matches(p.prosrc, '(?:(?:assigners|office|manifest)_notify|redirects_late|notify_tenant_admins)\\([^''()]*''(\\w*[a-z])''', 'g'))[1] from pg_proc p`;
    expect(written.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["assignment_returned", "handover_rejected", "manifest_cancelled"]),
    );
    for (const { type } of written) {
      const answer = await tenant.driver.get(`${path}?type=${type}`);
      expect(answer, type).toSucceed(200);
    }
  });
});

test("a type of a newer release has a text that says so, and functions of 1.6.0 see no type that they have none for", async () => {
  expect(messageOf("en", { type: "of_next_release" as "order_placed", payload: {} }))
    .toBe("There is news that this version has no text for yet.");
  const { admin, id } = await newTenant();
  await sql`insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select ${id}, ${admin.id}, type, '{}' from unnest('{order_placed,cash_handed_over}'::text[]) type`;
  expect((await admin.get(path)).body).toMatchObject({ unread_count: 2 });
  const seen = await sql.begin(async (tx) => {
    await tx`select set_config('app.user_id', ${admin.id}, true), set_config('app.tenant_id', ${id}, true)`;
    return await tx`select l.type from tenancy.notifications_list l`;
  });
  expect(seen.map(({ type }) => type)).toEqual(["cash_handed_over"]);
});

test("a webhook that was switched off says why in words, whatever the language", () => {
  const message = (language: "en" | "ar" | "ku", reason: string) =>
    messageOf(language, {
      type: "webhook_disabled",
      payload: { subscription_id: "1", url: "https://shop.example/hook", reason },
    });
  expect(message("en", "stopped")).toBe(
    "The webhook subscription to https://shop.example/hook was switched off. The company stopped it. " +
      "What happens until it is switched on again is not sent.",
  );
  expect(message("en", "failing")).toContain("failed for five days");
  expect(message("en", "gone")).toContain("gone (410)");
  for (const language of ["en", "ar", "ku"] as const) {
    const said = ["gone", "failing", "stopped"].map((reason) => message(language, reason));
    expect(new Set(said).size).toBe(3);
    for (const text of said) expect(text).not.toMatch(/\b(failing|stopped)\b(?! it)|[{}]/);
    // Of a newer release: nothing that this one could say.
    const newer = message(language, "of_next_release");
    expect(newer).not.toContain("of_next_release");
    expect(newer.length).toBeLessThan(Math.min(...said.map(({ length }) => length)));
  }
});
