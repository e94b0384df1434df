/** Transfers of cash that are sent again, several at once, and those that the database refuses. */
import { describe, expect, test } from "vitest";
import { desks, heldBy, key, sound, transfer, withCash } from "../../support/cash-desks.ts";
import { sql } from "../../support/db.ts";
import { expectReplayed } from "../../support/promises.ts";

const path = `${desks}/transfers`;

describe("transfers sent again, and at once", () => {
  test("one key is one transfer, also after the idempotency record is purged; other input is a conflict", async () => {
    const tenant = await withCash(1000);
    const body = { kind: "bank_deposit", amount: 100 };
    await expectReplayed(tenant.dispatcher, path, body, { ...body, amount: 101 });
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(900);
    const once = key();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => transfer(tenant.dispatcher, body, once)),
    );
    for (const answer of answers) {
      expect(answer).toSucceed(201);
      expect(answer.body).toEqual(answers[0].body);
    }
    await sql`delete from app.idempotency_keys where key = ${once.headers["idempotency-key"]}`;
    const late = await transfer(tenant.dispatcher, { ...body, notes: null }, once);
    expect(late.body).toEqual(answers[0].body);
    await sql`delete from app.idempotency_keys where key = ${once.headers["idempotency-key"]}`;
    expect(await transfer(tenant.dispatcher, { ...body, amount: 7 }, once)).toFailWith(
      409,
      "idempotency_conflict",
    );
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(800);
    await sound(tenant);
  });

  test("forty who want a tenth each of one desk's cash: ten get it, the others hear what is there", async () => {
    const tenant = await withCash(1000);
    const ways = [{}, { kind: "handover", to_user_id: tenant.admin.id }];
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        transfer(n % 4 < 2 ? tenant.dispatcher : tenant.admin, {
          ...ways[n % 2],
          from_user_id: tenant.dispatcher.id,
          amount: 100,
        })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer).toFailWith(409, "insufficient_desk_cash");
      // Asked under the lock, not found out at the commit.
      expect(answer.body.held).toBe(0);
    }
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
    await sound(tenant);
  });

  test("a transfer that waited for a desk reads the balance after the wait", async () => {
    const tenant = await withCash(300);
    const waiting = await sql.begin(async (tx) => {
      await tx`select from money.accounts where tenant_id = ${tenant.id} and kind = 'cash_on_hand' for update`;
      const asked = Array.from({ length: 3 }, () => transfer(tenant.dispatcher, { amount: 300 }));
      for (let tries = 0; tries < 100; tries++) {
        const [{ count }] = await sql`select count(*) from pg_stat_activity
          where wait_event_type = 'Lock' and query like '%private.call%'`;
        if (Number(count) >= 3) break;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return { asked };
    });
    const answers = await Promise.all(waiting.asked);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(2);
    // Not found out at the commit, which could not say it.
    for (const { body } of refused) expect(body).toMatchObject({ held: 0, currency: "IQD" });
    await sound(tenant);
  });

  test("two who hand cash to each other all the time, while a driver brings more, never wait in a circle", async () => {
    const tenant = await withCash(500);
    await transfer(tenant.dispatcher, {
      kind: "handover",
      to_user_id: tenant.admin.id,
      amount: 250,
    });
    const pairs = [[tenant.dispatcher, tenant.admin], [tenant.admin, tenant.dispatcher]];
    const [moved] = await Promise.all([
      Promise.all(Array.from({ length: 40 }, (_, n) => {
        const [giver, taker] = pairs[n % 2];
        return transfer(giver, { kind: "handover", to_user_id: taker.id, amount: 10 });
      })),
      withCash(100, tenant),
      withCash(100, tenant),
    ]);
    for (const answer of moved) expect(answer).toSucceed(201);
    expect(await heldBy(tenant, tenant.dispatcher) + await heldBy(tenant, tenant.admin)).toBe(700);
    await sound(tenant);
  });

  test("the database refuses a transfer without its journal, or a balance below zero, from every writer", async () => {
    const tenant = await withCash(100);
    const write = (booked: number) =>
      sql.begin(async (tx) => {
        await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
        const [{ id }] =
          await tx`insert into money.cash_transfers (tenant_id, kind, from_owner_type, from_user_id, amount,
            currency, actor_id) values (${tenant.id}, 'bank_deposit', 'staff', ${tenant.dispatcher.id}, 101, 'IQD',
            ${tenant.dispatcher.id}) returning id`;
        if (booked) {
          await tx`select money.post_journal('cash_transfer', 'cash_transfer', ${id}, null, array[
            money.account_of('external', 'tenant', null, 'IQD'),
            money.account_of('cash_on_hand', 'staff', ${tenant.dispatcher.id}, 'IQD')], array[${booked}::numeric, ${-booked}])`;
        }
      });
    for (const other of [0, 100]) {
      await expect(write(other)).rejects.toMatchObject({ constraint_name: "cash_transfer_booked" });
    }
    await expect(write(101)).rejects.toMatchObject({ constraint_name: "insufficient_desk_cash" });
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(100);
    await sound(tenant);
  });
});
