/** A report that is sent again after its key is forgotten is not taken again, whatever has made its move possible once more. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer, Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  bookOf,
  checkAll,
  handedTo,
  move,
  moves,
  newDelivery,
  path,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { cash, dayIn, failed, onItsWay, refused, report, undo } from "../../support/outcomes.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { fromSender, received, transferNoted } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});
afterAll(() => checkAll(tenant));

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const held = () => bookOf(tenant, "driver_cash", tenant.driver.id);
const movesOf = async (id: string) =>
  (await sql`select from delivery.delivery_status_history where delivery_id = ${id}`).length;

/** A step as a phone keeps it, to be sent until it is answered: the same body under the same key each time. */
function kept(by: Person, id: string, step: string, body: Body): () => Promise<Answer> {
  const options = { headers: { "idempotency-key": randomUUID() } };
  return () => by.post(`${path}/${id}/${step}`, body, options);
}

/** A day later, when no key is remembered. */
async function nextDay(): Promise<void> {
  await sql`update app.idempotency_keys set created_at = created_at - interval '25 hours'
    where scope like ${`${tenant.id}/%`}`;
  await sql`select private.idempotency_purge()`;
}

/** The answer to a report that was taken already: what is true now, and nothing is moved. */
async function expectTaken(id: string, again: () => Promise<Answer>): Promise<void> {
  const [{ status, status_reason }] =
    await sql`select status, status_reason from delivery.deliveries where id = ${id}`;
  const before = [await movesOf(id), await held()];
  const answer = await again();
  expect(answer).toFailWith(409, "delivery_status_changed");
  expect(answer.body).toMatchObject({ status, status_reason, delivery_ids: [id] });
  expect(answer.body.message).toBe(
    `This step was reported already. The delivery is ${status.replace("_", " ")} now.`,
  );
  expect([await movesOf(id), await held()]).toEqual(before);
}

const retry = (id: string) => moves(tenant.ops, id, ["retry", { override_reason: "called" }]);
const postponed = { result: "postponed", reason_code: "postponed", postponed_to: dayIn(2) };

describe("a report sent again on the next day", () => {
  test.each<[string, string, Body]>([
    ["a completion", "complete", { cash_collected: cash }],
    ["a failure", "fail", { reason: "absent" }],
    ["an outcome delivered", "outcome", { result: "delivered", cash_collected: cash }],
    ["an outcome failed", "outcome", failed],
  ])("%s that was undone is not taken again, and no cash is booked", async (_, step, body) => {
    const id = await onItsWay(yard);
    const sent = { ...body, occurred_at: ago(60) };
    const send = kept(tenant.driver, id, step, sent);
    const first = await send();
    expect(first).toSucceed(200);
    expect(await undo(tenant.ops, id)).toSucceed(200);
    const replay = await send();
    expect(replay.headers.get("idempotency-replayed")).toBe("true");
    expect(replay.body).toEqual(first.body);
    await nextDay();
    await expectTaken(id, send);
    await expectTaken(id, kept(tenant.driver, id, step, sent));
    // A report of what has happened since has a time of its own.
    expect(await move(tenant.driver, id, step, { ...body, occurred_at: ago(1) })).toSucceed(200);
  });

  test.each<[string, string, Body]>([
    ["a failure", "fail", { reason: "absent" }],
    ["an outcome failed", "outcome", failed],
    ["an outcome refused", "outcome", refused],
    ["an outcome postponed", "outcome", postponed],
  ])(
    "%s after which operations let it be tried again uses up no attempt",
    async (_, step, body) => {
      const id = await onItsWay(yard);
      const send = kept(tenant.driver, id, step, { ...body, occurred_at: ago(60) });
      expect(await send()).toSucceed(200);
      await retry(id);
      await nextDay();
      const used = () => sql`select attempts_used from delivery.deliveries where id = ${id}`;
      const before = await used();
      await expectTaken(id, send);
      expect(await used()).toEqual(before);
    },
  );

  test("a refusal, where the company sends back what is refused by now", async () => {
    const id = await onItsWay(yard);
    const send = kept(tenant.driver, id, "outcome", { ...refused, occurred_at: ago(60) });
    expect(await send()).toSucceed(200);
    await retry(id);
    await nextDay();
    await saveSettings(tenant.id, "delivery.attempts", { after_last: "return" });
    await expectTaken(id, send);
    await saveSettings(tenant.id, "delivery.attempts", { after_last: "ask" });
  });

  test("a retry of operations after the next attempt has failed", async () => {
    const id = await onItsWay(yard, "failed");
    const send = kept(tenant.ops, id, "retry", { override_reason: "x", occurred_at: ago(60) });
    expect(await send()).toSucceed(200);
    await moves(tenant.driver, id, "fail");
    await nextDay();
    await expectTaken(id, send);
  });

  test("the steps of a transfer, when its driver brings the parcel on from there", async () => {
    const { id, barcode } = await fromSender(yard);
    await transferNoted(yard, barcode, true);
    await assign(tenant, id);
    const [pickup, depart, complete] = ["pickup", "depart", "complete"].map((step, place) =>
      kept(tenant.driver, id, step, { occurred_at: ago(90 - place) })
    );
    for (const step of [pickup, depart, complete]) expect(await step()).toSucceed(200);
    expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.warehouse });
    await assign(tenant, id);
    await nextDay();
    await expectTaken(id, pickup);
    await moves(tenant.driver, id, ["pickup", { occurred_at: ago(3) }]);
    await expectTaken(id, depart);
    await moves(tenant.driver, id, ["depart", { occurred_at: ago(2) }]);
    await expectTaken(id, complete);
    await moves(tenant.driver, id, ["complete", { occurred_at: ago(1) }]);
  });

  test.each(["failed", "in_transit", "picked_up"])(
    "a return into a warehouse of what was %s, when the parcel is on its way from there",
    async (status) => {
      const id = await onItsWay(yard, status);
      const send = kept(tenant.driver, id, "return", {
        warehouse_id: yard.warehouse,
        reason: "Closed",
        occurred_at: ago(60),
      });
      await received(yard, (await send()).body.receiving_order_id);
      await assign(tenant, id);
      await moves(tenant.driver, id, "pickup");
      await nextDay();
      await expectTaken(id, send);
      const { history } = (await tenant.ops.get(`${path}/${id}`)).body.delivery;
      const reports = history.filter(({ note }: Body) => note === "Closed");
      expect(reports[0]).toMatchObject({
        from_status: status,
        to_status: "in_transit",
        actor: { id: tenant.driver.id },
      });
      expect(reports[0].occurred_at).not.toBeNull();
      await moves(tenant.driver, id, "depart", "complete");
    },
  );

  test("of a staged parcel's first leg, named by the parcel, when its driver has the second", async () => {
    const parcel = await newDelivery(yard, { staged: true, warehouse_id: yard.warehouse });
    const [into, out] = parcel.legs.map(({ id }: { id: string }) => id);
    await assign(tenant, into);
    await moves(tenant.driver, into, "pickup", "depart");
    const send = kept(tenant.ops, parcel.id, "complete", { occurred_at: ago(60) });
    expect(await send()).toSucceed(200);
    await takenOver(yard, out);
    await moves(tenant.driver, out, "depart");
    await nextDay();
    await expectTaken(out, send);
    await moves(tenant.driver, out, "complete");
    expect(await statusOf(parcel.id)).toBe("delivered");
  });
});

describe("a first report is taken", () => {
  test("also at the time of other steps, of other people, and of another outcome that was undone", async () => {
    const at = { occurred_at: ago(30) };
    const id = await onItsWay(yard, "accepted");
    await moves(tenant.driver, id, ["pickup", at], ["depart", at]);
    expect(await report(tenant.driver, id, { ...failed, ...at })).toSucceed(200);
    await retry(id);
    expect(await report(tenant.ops, id, { ...failed, ...at })).toSucceed(200);
    expect(await undo(tenant.ops, id)).toSucceed(200);
    const delivered = { result: "delivered", cash_collected: cash, ...at };
    expect(await report(tenant.driver, id, delivered)).toSucceed(200);
  });

  test("by its leg's own name at the time at which the leg before ended", async () => {
    const at = { occurred_at: ago(30) };
    const parcel = await newDelivery(yard, { staged: true, warehouse_id: yard.warehouse });
    const [into, out] = parcel.legs.map(({ id }: { id: string }) => id);
    await assign(tenant, into);
    await moves(tenant.driver, into, ["pickup", at], ["depart", at], ["complete", at]);
    const handoff = await handedTo(yard, out);
    expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`, at)).toSucceed(200);
    await moves(tenant.driver, out, ["depart", at], ["complete", at]);
  });

  test("once: of the same report under two keys at the same moment one moves the parcel", async () => {
    for (const step of ["complete", "outcome"]) {
      const id = await onItsWay(yard);
      const before = await held();
      const body = step === "outcome" ? { result: "delivered" } : {};
      const sent = { ...body, cash_collected: cash, occurred_at: ago(5) };
      const answers = await Promise.all(
        [1, 2, 3].map(() => move(tenant.driver, id, step, sent)),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(await held()).toBe(before + 7000);
    }
  });

  test("as often as it comes without a time", async () => {
    const id = await onItsWay(yard);
    for (let time = 0; time < 2; time++) {
      await moves(tenant.driver, id, "fail");
      await retry(id);
    }
    expect(await statusOf(id)).toBe("in_transit");
  });
});
