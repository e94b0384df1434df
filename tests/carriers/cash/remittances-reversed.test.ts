/** A carrier's payment that was entered wrongly is taken back: once, by its mirror, and then counts no more. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withKey } from "../../support/api.ts";
import { carried, newSide, owedBy, payCarried as pay, type Side } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { bookOf, checkAll } from "../../support/deliveries.ts";
import type { Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectRefused } from "../../support/promises.ts";
import { breachesIn } from "../../support/reconciled.ts";

const path = "/carriers/tenant/simulated/remittances";
const proof = "/delivery/cod-reconciliation";
let side: Side;
let other: Side;
let tenant: Tenant;
beforeAll(async () => {
  [side, other] = await Promise.all([newSide(), newSide()]);
  tenant = side.tenant;
});
afterAll(async () => {
  for (const { tenant } of [side, other]) {
    await checkAll(tenant);
    expect(await breachesIn(tenant)).toEqual([]);
    expect((await tenant.admin.get(proof)).body.differences).toEqual([]);
  }
});

const reverse = (id: string, reason = "Entered twice", who = tenant.admin) =>
  who.post(`${path}/${id}/reverse`, { reason });

async function paid(cod: number, more: Record<string, unknown> = {}) {
  const [parcel] = await carried(side, cod);
  const answer = await pay(tenant.admin, cod + 2_000, { delivery_ids: [parcel.id], ...more });
  expect(answer).toSucceed(201);
  return { parcel, remittance: answer.body.remittance as { id: string; reference: string } };
}

describe("a payment that is reversed", () => {
  test("is owed again, leaves the till, and stays to be read with who and why", async () => {
    const [till, owed] = [await bookOf(tenant, "cash_on_hand"), await owedBy(tenant)];
    const { parcel, remittance } = await paid(5_000);
    expect(await bookOf(tenant, "cash_on_hand")).toBe(till + 7_000);
    const answer = await reverse(remittance.id, "Of another company");
    expect(answer).toSucceed(200);
    expect(answer.body.remittance).toEqual({
      ...remittance,
      reversed_at: expect.any(String),
      reversed_by: { id: tenant.admin.id, full_name: expect.any(String) },
      reversal_reason: "Of another company",
      still_owed: owed + 7_000,
    });
    const { still_owed: _then, ...kept } = answer.body.remittance;
    expect((await tenant.admin.get(`${path}/${remittance.id}`)).body.remittance).toEqual(kept);
    expect(await owedBy(tenant)).toBe(owed + 7_000);
    expect(await bookOf(tenant, "cash_on_hand")).toBe(till);
    const [row] = await sql`select status, remitted_at, remittance_id from money.carrier_collections
      where id = ${parcel.collection}`;
    expect(row).toEqual({ status: "owed", remitted_at: null, remittance_id: null });
    const events =
      await sql`select event_data from integration.system_events where tenant_id = ${tenant.id}
      and event_type = 'carrier_remittance.reversed' and entity_id = ${remittance.id}`;
    expect(events).toMatchObject([{ event_data: { amount: 7_000, actor_id: tenant.admin.id } }]);
    // Entered again, rightly, under the carrier's number.
    const again = await pay(tenant.admin, 7_000, {
      delivery_ids: [parcel.id],
      reference: remittance.reference,
    });
    expect(again).toSucceed(201);
    expect((await tenant.admin.get(proof)).body.reconciled).toBe(true);
  });

  test("counts in no sum, except as of a moment before the reversal", async () => {
    await paid(2_000);
    const { remittance } = await paid(1_000);
    const remitted = async (query: string) =>
      (await tenant.admin.get(`${proof}${query}`)).body.carriers[0].remitted as number;
    const sums = async () => (await tenant.admin.get(path)).body.summary.remitted[0];
    const [{ now: before }] = await sql`select clock_timestamp() as now`;
    const [then, sum] = [await remitted(""), await sums()];
    await reverse(remittance.id);
    expect(await remitted("")).toBe(then - 3_000);
    const asOf = await tenant.admin.get(proof, { query: { as_of: before.toISOString() } });
    expect(asOf.body).toMatchObject({ reconciled: true, carriers: [{ remitted: then }] });
    expect(await sums()).toEqual({
      currency: "IQD",
      amount: sum.amount - 3_000,
      remittances: sum.remittances - 1,
    });
    const found = async (reversed: boolean) =>
      (await tenant.admin.get(`${path}?reversed=${reversed}`)).body.data
        .map(({ id }: { id: string }) => id);
    expect(await found(true)).toContain(remittance.id);
    expect(await found(false)).not.toContain(remittance.id);
  });

  test("is reversed once, however many callers ask", async () => {
    const { remittance } = await paid(1_000);
    const owed = await owedBy(tenant);
    const answers = await Promise.all(Array.from({ length: 8 }, () => reverse(remittance.id)));
    expect(answers.map(({ status, body }) => `${status} ${body.code ?? ""}`).sort()).toEqual([
      "200 ",
      ...Array(7).fill("409 remittance_already_reversed"),
    ]);
    expect(await owedBy(tenant)).toBe(owed + 3_000);
    const headers = { "idempotency-key": crypto.randomUUID() };
    const { remittance: next } = await paid(2_000);
    const ask = () => tenant.admin.post(`${path}/${next.id}/reverse`, { reason: "R" }, { headers });
    const [first, replayed] = [await ask(), await ask()];
    expect(first).toSucceed(200);
    expect(replayed.body).toEqual(first.body);
    expect(replayed.headers.get("idempotency-replayed")).toBe("true");
  });

  test("meets payments of the same rows at the same moment: each row is owed or paid, never both", async () => {
    for (let round = 0; round < 4; round++) {
      const { parcel, remittance } = await paid(1_000);
      await Promise.all([
        reverse(remittance.id),
        ...Array.from({ length: 3 }, () => pay(tenant.admin, 3_000, { delivery_ids: [parcel.id] })),
      ]);
      const [{ paying }] =
        await sql`select count(*)::int as paying from money.carrier_remittance_items i
        join money.carrier_remittances r on r.id = i.remittance_id and r.reversed_at is null
        where i.carrier_collection_id = ${parcel.collection}`;
      const [{ status }] =
        await sql`select status from money.carrier_collections where id = ${parcel.collection}`;
      expect(paying).toBe(status === "remitted" ? 1 : 0);
    }
  });
});

describe("a payment that cannot be reversed", () => {
  test("because the till gave the cash on", async () => {
    const mine = await newSide();
    const [parcel] = await carried(mine, 5_000);
    const { body } = await pay(mine.tenant.admin, 7_000, { delivery_ids: [parcel.id] });
    const banked = await mine.tenant.admin.post("/delivery/cash-desks/transfers", {
      kind: "bank_deposit",
      from_owner_type: "tenant",
      amount: 4_000,
    }, { headers: { "idempotency-key": crypto.randomUUID() } });
    expect(banked).toSucceed(201);
    const refused = await reverse(body.remittance.id, "R", mine.tenant.admin);
    expect(refused).toFailWith(409, "insufficient_desk_cash");
    expect(refused.body).toMatchObject({ held: 3_000, currency: "IQD" });
    expect(await owedBy(mine.tenant)).toBe(0);
    await checkAll(mine.tenant);
  });

  test("because it is another's, unknown, of another carrier, or the one who asks is no administrator", async () => {
    const { remittance } = await paid(1_000);
    const call = {
      method: "POST" as const,
      path: `${path}/${remittance.id}/reverse`,
      body: { reason: "R" },
    };
    await expectGuarded(call, {
      denied: [tenant.ops, tenant.staff, tenant.dispatcher, tenant.driver, tenant.customer],
    });
    await expectRefused(tenant.admin, call, [[{}, "reason"], [{ reason: " " }, "reason"]]);
    await expectNoSuch(
      other.tenant.admin,
      { ...call, path: `${path}/{id}/reverse` },
      "remittance_id",
      "remittance_not_found",
      remittance.id,
    );
    expect(
      await tenant.admin.post(`/carriers/tenant/easypost/remittances/${remittance.id}/reverse`, {
        reason: "R",
      }),
    ).toFailWith(404, "remittance_not_found");
  });
});

test("nobody changes a payment otherwise, not even in the database", async () => {
  const { remittance } = await paid(1_000);
  const changed = (set: string) =>
    sql.unsafe(`update money.carrier_remittances set ${set} where id = '${remittance.id}'`);
  await expect(changed("amount = amount + 1, cod_amount = cod_amount + 1")).rejects.toThrow(
    /never changed/,
  );
  await expect(changed("reversed_at = now()")).rejects.toThrow(/reversed_says_why/);
  await reverse(remittance.id);
  await expect(changed("reversal_reason = 'Another'")).rejects.toThrow(/never changed/);
  await expect(sql`delete from money.carrier_remittances where id = ${remittance.id}`).rejects
    .toThrow(/never changed/);
});

test("an API key can neither enter nor reverse payments: a person is accountable for them", async () => {
  const { body: { key } } = await tenant.admin.post("/tenants/me/api-keys", {
    name: "Books",
    scopes: ["manage:tenant"],
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const program = withKey(key);
  const [parcel] = await carried(side, 1_000);
  expect(await pay(program, 3_000, { delivery_ids: [parcel.id] }))
    .toFailWith(403, "api_key_not_a_person");
  const entered = await pay(tenant.admin, 3_000, { delivery_ids: [parcel.id] });
  expect(entered).toSucceed(201);
  expect(await reverse(entered.body.remittance.id, "R", program))
    .toFailWith(403, "api_key_not_a_person");
  expect(await reverse(entered.body.remittance.id, "R", tenant.admin)).toSucceed(200);
});

test("the reconciliation reports a reversed payment that still closes a row", async () => {
  const mine = await newSide();
  const [parcel] = await carried(mine, 1_000);
  const { body } = await pay(mine.tenant.admin, 3_000, { delivery_ids: [parcel.id] });
  expect(await reverse(body.remittance.id, "R", mine.tenant.admin)).toSucceed(200);
  await sql`update money.carrier_collections set status = 'remitted', remitted_at = now(), remittance_id = ${body.remittance.id}
    where id = ${parcel.collection}`;
  expect(await named(mine.tenant)).toEqual(["carrier_remittance_rows"]);
});

test("the reconciliation reports a payment that was reversed without a journal", async () => {
  const mine = await newSide();
  const [parcel] = await carried(mine, 1_000);
  const { body } = await pay(mine.tenant.admin, 3_000, { delivery_ids: [parcel.id] });
  await sql`update money.carrier_remittances set reversed_at = now(), reversal_reason = 'By hand'
    where id = ${body.remittance.id}`;
  expect(await named(mine.tenant)).toEqual([
    "carrier_cash",
    "carrier_remittance_journal",
    "carrier_remittance_rows",
    "desk_cash",
  ]);
});

async function named(tenant: Tenant): Promise<string[]> {
  const { body } = await tenant.admin.get(proof);
  expect(body.reconciled).toBe(false);
  return body.differences.map(({ kind }: { kind: string }) => kind).sort();
}
