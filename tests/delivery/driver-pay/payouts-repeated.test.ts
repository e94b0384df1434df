/** Payouts to drivers that are sent again, and several at once. */
import { describe, expect, test } from "vitest";
import { key, withCash } from "../../support/cash-desks.ts";
import { accountOf } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { brought, newPayer, payOut, payPath, sound } from "../../support/driver-pay.ts";
import { expectReplayed } from "../../support/promises.ts";

describe("payouts sent again, and at once", () => {
  test("one key is one payout, also after the idempotency record is purged; other input is a conflict", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    await brought(ground);
    const body = { driver_id: tenant.driver.id, method: "wallet" };
    await expectReplayed(tenant.admin, `${payPath}/payouts`, body, { ...body, notes: "Other" });
    await brought(ground);
    const once = key();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => payOut(tenant.admin, body, once)),
    );
    for (const answer of answers) expect(answer.body).toEqual(answers[0].body);
    await sql`delete from app.idempotency_keys where key = ${once.headers["idempotency-key"]}`;
    const late = await payOut(tenant.admin, { ...body, notes: null }, once);
    expect(late.body).toEqual(answers[0].body);
    await sql`delete from app.idempotency_keys where key = ${once.headers["idempotency-key"]}`;
    expect(await payOut(tenant.admin, { ...body, notes: "Other" }, once)).toFailWith(
      409,
      "idempotency_conflict",
    );
    await sound(tenant);
  });

  test("twenty payouts of one driver at once pay once", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    await withCash(5000, tenant);
    await brought(ground);
    await brought(ground);
    const answers = await Promise.all(
      Array.from(
        { length: 20 },
        (_, n) =>
          n % 2
            ? payOut(tenant.dispatcher, { driver_id: tenant.driver.id })
            : payOut(tenant.admin, { driver_id: tenant.driver.id, method: "wallet" }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer).toFailWith(409, "nothing_to_pay");
    }
    await sound(tenant);
  });

  test("payouts while parcels are delivered leave nothing behind and pay nothing twice", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    await withCash(50_000, tenant);
    const rounds = Array.from({ length: 6 }, async (_, n) => {
      await brought(ground, tenant.driver, { cod_amount: 1000 });
      await payOut(n % 2 ? tenant.dispatcher : tenant.admin, {
        driver_id: tenant.driver.id,
        method: n % 2 ? "cash" : "wallet",
      });
    });
    await Promise.all(rounds);
    await payOut(tenant.dispatcher, { driver_id: tenant.driver.id });
    expect(await accountOf(tenant, "driver_payable", tenant.driver.id)).toBe(0);
    expect(await accountOf(tenant, "driver_cost", null)).toBe(-3000);
    await sound(tenant);
  });

  test("two payouts from one desk that has enough for one: one is paid", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    await withCash(700, tenant);
    await brought(ground);
    await brought(ground, tenant.driver2);
    const answers = await Promise.all(
      [tenant.driver, tenant.driver2].map(({ id }) => payOut(tenant.dispatcher, { driver_id: id })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(answers.find(({ status }) => status === 409)!.body.held).toBe(200);
    await sound(tenant);
  });
});
