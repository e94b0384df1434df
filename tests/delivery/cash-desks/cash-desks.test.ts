/** Cash of the desks goes to the bank or to a colleague: once, exactly, and never more than is there. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { carried, newSide, payCarried } from "../../support/carriers.ts";
import { desks, heldBy, key, sound, transfer, withCash } from "../../support/cash-desks.ts";
import { newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";

const path = `${desks}/transfers`;

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

describe("a transfer", () => {
  test("moves cash from the caller's desk to the bank, by one journal, and notifies", async () => {
    const tenant = await withCash(5000);
    const answer = await transfer(tenant.dispatcher, {
      amount: 3000,
      reference: "Slip 17",
      notes: "Rafidain",
    });
    expect(answer).toSucceed(201);
    const person = { id: tenant.dispatcher.id, full_name: expect.any(String) };
    expect(answer.body.data).toEqual({
      id: expect.any(String),
      kind: "bank_deposit",
      from_owner_type: "staff",
      from_user: person,
      to_owner_type: null,
      to_user: null,
      refund_id: null,
      wallet: null,
      amount: 3000,
      currency: "IQD",
      reference: "Slip 17",
      notes: "Rafidain",
      entered_by: person,
      created_at: expect.any(String),
      reversed_at: null,
      reversed_by: null,
      reversal_reason: null,
    });
    const { id } = answer.body.data;
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(2000);
    expect(
      await sql`select a.kind, a.owner_type, e.amount from money.ledger_transactions t
        join money.ledger_entries e on e.transaction_id = t.id join money.accounts a on a.id = e.account_id
        where t.kind = 'cash_transfer' and t.reference_id = ${id} order by e.amount`,
    ).toEqual([
      { kind: "cash_on_hand", owner_type: "staff", amount: -3000 },
      { kind: "external", owner_type: "tenant", amount: 3000 },
    ]);
    expect(
      await sql`select event_type, event_data from integration.system_events where entity_id = ${id}`,
    ).toEqual([{
      event_type: "cash_transfer.created",
      event_data: {
        cash_transfer_id: id,
        kind: "bank_deposit",
        from_owner_type: "staff",
        from_user_id: tenant.dispatcher.id,
        to_owner_type: null,
        to_user_id: null,
        wallet_id: null,
        currency: "IQD",
        amount: 3000,
        reference: "Slip 17",
        actor_id: tenant.dispatcher.id,
      },
    }]);
    expect(
      await sql`select actor_id from app.audit_log where tenant_id = ${tenant.id} and entity_id = ${id}`,
    ).toEqual([{ actor_id: tenant.dispatcher.id }]);
    await sound(tenant);
  });

  test("hands cash to a colleague, who has it then and can give it on", async () => {
    const tenant = await withCash(900);
    const answer = await transfer(tenant.dispatcher, {
      kind: "handover",
      to_user_id: tenant.ops.id,
      amount: 400,
    });
    expect(answer).toSucceed(201);
    expect(answer.body.data.to_user.id).toBe(tenant.ops.id);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(500);
    expect(await heldBy(tenant, tenant.ops)).toBe(400);
    const whole = { from_user_id: tenant.ops.id, amount: 400 };
    expect(await transfer(tenant.admin, whole)).toSucceed(201);
    expect(await heldBy(tenant, tenant.ops)).toBe(0);
    await sound(tenant);
  });

  test("notifies the receiver, and again when it is reversed, in the receiver's language", async () => {
    const tenant = await withCash(900);
    const told = async () => {
      const { body } = await tenant.ops.in("ar").get("/tenants/me/notifications?unread=true");
      return body.data.map(({ type, message }: Record<string, string>) => [type, message]);
    };
    const given = { kind: "handover", to_user_id: tenant.ops.id, amount: 400 };
    const { id } = (await transfer(tenant.dispatcher, given)).body.data;
    const handed = ["cash_handed_over", "سُلِّم إليك نقد بمبلغ 400 IQD."];
    expect(await told()).toEqual([handed]);
    await tenant.dispatcher.post(`${path}/${id}/reverse`, { reason: "Another's" }, key());
    const reversed = ["cash_handover_reversed", "تم التراجع عن تسليم 400 IQD إليك."];
    expect(await told()).toEqual([reversed, handed]);
    // A person who makes the transfer themselves, and the bank, need no notice.
    await transfer(tenant.admin, {
      ...given,
      from_user_id: tenant.dispatcher.id,
      to_user_id: tenant.admin.id,
    });
    await transfer(tenant.dispatcher, { amount: 100 });
    expect((await tenant.admin.get("/tenants/me/notifications")).body.data).toEqual([]);
  });

  test("never gives more than the desk holds, and a refusal leaves nothing", async () => {
    const tenant = await withCash(1000);
    const refused = await transfer(tenant.dispatcher, { amount: 1001 });
    expect(refused).toFailWith(409, "insufficient_desk_cash");
    expect(refused.body).toMatchObject({ held: 1000, currency: "IQD" });
    const kurdish = await transfer(tenant.dispatcher.in("ku"), { amount: 1001 });
    expect(kurdish.body.message).toContain("1000");
    expect(kurdish.body.message).toMatch(/سندوقەکەدا .*\.$/);
    expect(await sql`select from money.cash_transfers where tenant_id = ${tenant.id}`)
      .toHaveLength(0);
    expect(await transfer(tenant.dispatcher, { amount: 1000 })).toSucceed(201);
    expect((await transfer(tenant.dispatcher, { amount: 1 })).body.held).toBe(0);
    await sound(tenant);
  });

  test("of another's desk is an administrator's to make", async () => {
    const tenant = await withCash(700);
    const from = { from_user_id: tenant.dispatcher.id, amount: 100 };
    const other = await newPerson(tenant.id, "staff", "dispatcher");
    expect(await transfer(other, from)).toFailWith(403, "forbidden");
    expect(await transfer(other, { from_owner_type: "tenant", amount: 1 })).toFailWith(
      403,
      "forbidden",
    );
    expect(await transfer(other, { amount: 1 })).toFailWith(404, "cash_desk_not_found");
    expect(await transfer(tenant.dispatcher, from)).toSucceed(201);
    const byAdmin = await transfer(tenant.admin, from);
    expect(byAdmin.body.data).toMatchObject({
      from_user: { id: tenant.dispatcher.id },
      entered_by: { id: tenant.admin.id },
    });
    const system = await newSystemAdmin();
    const there = () => ({ ...key(), query: { tenant_id: tenant.id } });
    expect(await transfer(system, from, there())).toSucceed(201);
    // Nobody has a desk of their own in a tenant that they are no member of.
    expect(await transfer(system, { amount: 1 }, there())).toFailWith(404, "cash_desk_not_found");
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(400);
    await sound(tenant);
  });

  test("takes what drivers remitted to themselves and what carriers paid into the till", async () => {
    const side = await newSide();
    const { tenant } = side;
    const { id } = await newCash(tenant, { cod: 0, fee: 600 });
    expect(await tenant.driver.post(remit, selected(id))).toSucceed(200);
    const from = { from_user_id: tenant.driver.id, amount: 600 };
    expect(await transfer(tenant.admin, from)).toFailWith(404, "cash_desk_not_found");
    const brought = await transfer(tenant.admin, {
      ...from,
      kind: "handover",
      from_owner_type: "driver",
      to_user_id: tenant.dispatcher.id,
    });
    expect(brought).toSucceed(201);
    expect(await heldBy(tenant, tenant.driver)).toBe(0);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(600);
    await carried(side, 800);
    expect(await payCarried(tenant.admin, 2_800)).toSucceed(201);
    const till = { from_owner_type: "tenant", amount: 2_800 };
    expect(await transfer(tenant.dispatcher, till)).toFailWith(403, "forbidden");
    const emptied = await transfer(tenant.admin, till);
    expect(emptied).toSucceed(201);
    expect(emptied.body.data).toMatchObject({ from_owner_type: "tenant", from_user: null });
    expect(await heldBy(tenant, null)).toBe(0);
    await sound(tenant);
  });

  test("is in one currency, with its decimals", async () => {
    const tenant = await withCash(100);
    expect(await transfer(tenant.dispatcher, { amount: 1.5 })).toFailWith(400, "too_many_decimals");
    for (const currency of ["USD", "XXX"]) {
      expect(await transfer(tenant.dispatcher, { amount: 1, currency })).toFailWith(
        404,
        "cash_desk_not_found",
      );
    }
    expect(await transfer(tenant.dispatcher, { amount: 1, currency: "IQD" })).toSucceed(201);
    await sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
      await tx`select money.post_journal('test', 'test', gen_random_uuid(), null, array[
        money.account_of('external', 'tenant', null, 'KWD'),
        money.account_of('cash_on_hand', 'staff', ${tenant.dispatcher.id}, 'KWD')], array[-10, 10])`;
    });
    const kwd = (amount: number) => transfer(tenant.dispatcher, { amount, currency: "KWD" });
    expect(await kwd(0.001)).toSucceed(201);
    const left = await kwd(10);
    expect(left).toFailWith(409, "insufficient_desk_cash");
    expect(left.body).toMatchObject({ held: 9.999, currency: "KWD" });
  });

  test("is handed to active staff who can pass it on, and not to oneself", async () => {
    const tenant = await withCash(50);
    const inactive = await newPerson(tenant.id, "staff", "dispatcher");
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${inactive.id}`;
    const wrong = [
      tenant.dispatcher,
      tenant.driver,
      tenant.customer,
      tenant.warehouse,
      inactive,
      b.dispatcher,
    ];
    for (const to_user_id of [...wrong.map(({ id }) => id), randomUUID()]) {
      const answer = await transfer(tenant.dispatcher, { kind: "handover", to_user_id, amount: 1 });
      expect(answer).toFailWith(400, "invalid_receiver");
      expect(answer.body.field).toBe("to_user_id");
    }
    for (const from_user_id of [b.dispatcher.id, randomUUID(), tenant.customer.id]) {
      expect(await transfer(tenant.admin, { from_user_id, amount: 1 })).toFailWith(
        404,
        "cash_desk_not_found",
      );
    }
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(50);
  });

  test("is validated before anything is read, and is for the office", async () => {
    const body = { kind: "bank_deposit", amount: 1 };
    await expectGuarded({ method: "POST", path, body }, {
      denied: [a.warehouse, a.staff, a.driver, a.institution, a.customer],
    });
    expect(await b.admin.post(path, body, { query: { tenant_id: a.id }, ...key() })).toFailWith(
      403,
      "forbidden",
    );
    expect(await a.admin.post(path, body, {})).toFailWith(400, "idempotency_key_required");
    const to_user_id = a.admin.id;
    await expectRefused(a.dispatcher, { method: "POST", path, options: key() }, [
      [{ ...body, kind: "gift" }, "kind"],
      [{ amount: 1 }, "kind"],
      [{ ...body, amount: 0 }, "amount"],
      [{ ...body, amount: -1 }, "amount"],
      [{ ...body, amount: "1" }, "amount"],
      [{ ...body, amount: 1.0001 }, "amount"],
      [{ kind: "bank_deposit" }, "amount"],
      [{ ...body, currency: "dinar" }, "currency"],
      [{ ...body, from_owner_type: "carrier" }, "from_owner_type"],
      [{ ...body, from_user_id: "x" }, "from_user_id", "invalid_uuid"],
      [{ ...body, from_owner_type: "tenant", from_user_id: a.admin.id }, "from_user_id"],
      [{ ...body, to_user_id }, "to_user_id"],
      [{ ...body, kind: "handover" }, "to_user_id", "receiver_required"],
      [{ ...body, reference: " " }, "reference"],
    ]);
  });
});
