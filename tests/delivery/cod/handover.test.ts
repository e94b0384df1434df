/** Handovers of drivers' cash: declared, counted, resolved, cancelled. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { cashDifferences, newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { balanceOf, checkBooks, fundWallet } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const desk = "/delivery/cod-collections/handover";

let b: Tenant;
beforeAll(async () => {
  b = await newTenant();
});

describe("handover", () => {
  const declare = (tenant: Tenant, amount: number) => tenant.driver.post(desk, { amount });
  const act = (tenant: Tenant, id: string, what: string, body: object) =>
    tenant.dispatcher.post(`/delivery/cod-collections/handovers/${id}/${what}`, body);

  test("is declared and counted; a tenant that wants it remits nothing uncounted", async () => {
    const tenant = await newTenant();
    await saveSettings(tenant.id, "delivery.cod", { require_handover: true });
    const { id } = await newCash(tenant);
    const remitted = () => tenant.dispatcher.post(remit, selected(id));
    const refused = await remitted();
    expect(refused).toFailWith(409, "cash_handover_required");
    expect(refused.body).toMatchObject({ amount: 1250, currency: "IQD" });
    const declared = await declare(tenant, 1250);
    expect(declared).toSucceed(201);
    expect(declared.body.data).toMatchObject({
      status: "declared",
      declared_amount: 1250,
      counted_amount: null,
      difference: null,
    });
    const twice = await declare(tenant, 10);
    expect(twice).toFailWith(409, "handover_already_declared");
    expect(twice.body).toMatchObject({
      cash_handover_id: declared.body.data.id,
      amount: 1250,
      currency: "IQD",
      message: expect.stringContaining("1250 IQD"),
    });
    expect(await remitted()).toFailWith(409, "cash_handover_required");
    const counted = await act(tenant, declared.body.data.id, "count", { counted_amount: 1250 });
    expect(counted.body.data).toMatchObject({
      status: "counted",
      difference: 0,
      counted_by: { id: tenant.dispatcher.id },
    });
    const done = await remitted();
    expect(done).toSucceed(200);
    const list = await tenant.driver.get("/delivery/cod-collections/handovers");
    expect(list.body.data).toHaveLength(1);
    expect(list.body.data[0].settlement_payment_id).toBe(done.body.data.settlement_payment_id);
    const next = await newCash(tenant);
    expect(
      await tenant.dispatcher.post("/delivery/cod-collections/remit", {
        scope: "selected",
        cod_collection_ids: [next.id],
      }),
    )
      .toFailWith(409, "cash_handover_required");
    expect((await tenant.driver2.get("/delivery/cod-collections/handovers")).body.data).toEqual([]);
  });

  test.each([
    ["given back", { resolution: "returned" }],
    ["not there when it is counted again", { resolution: "recounted", counted_amount: 1250 }],
  ])("too much on the desk, %s, is remitted once that is said", async (_, way) => {
    const tenant = await newTenant();
    await saveSettings(tenant.id, "delivery.cod", { require_handover: true });
    const { id } = await newCash(tenant);
    const declared = await declare(tenant, 1250);
    const { body } = await act(tenant, declared.body.data.id, "count", { counted_amount: 1500 });
    expect(body.data).toMatchObject({ status: "discrepancy", difference: 250 });
    const refused = await tenant.dispatcher.post(remit, selected(id));
    expect(refused).toFailWith(409, "cash_handover_required");
    expect(refused.body.message).toBe(
      "Cash of 1250 IQD was declared, and its count differs. Resolve the difference first.",
    );
    expect(await act(tenant, declared.body.data.id, "resolve", way)).toSucceed(200);
    expect(await tenant.dispatcher.post(remit, selected(id))).toSucceed(200);
  });

  test("a difference changes no balance until its cash is remitted; a shortage that the driver owes comes from the driver's wallet then", async () => {
    const tenant = await newTenant();
    await saveSettings(tenant.id, "delivery.cod", { require_handover: true });
    const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 500);
    const { id } = await newCash(tenant);
    const { body: { data } } = await declare(tenant, 1250);
    const entries = async () =>
      Number(
        (await sql`select count(*) from money.ledger_entries where tenant_id = ${tenant.id}`)[0]
          .count,
      );
    const before = await entries();
    const counted = await act(tenant, data.id, "count", { counted_amount: 1200 });
    expect(counted.body.data).toMatchObject({ status: "discrepancy", difference: -50 });
    expect(await entries()).toBe(before);
    expect(await act(tenant, data.id, "count", { counted_amount: 1250 })).toFailWith(
      409,
      "handover_not_declared",
    );
    expect(await act(tenant, data.id, "resolve", { resolution: "returned" })).toFailWith(
      400,
      "invalid_resolution",
    );
    expect(await act(tenant, data.id, "resolve", { resolution: "recounted", counted_amount: 1249 }))
      .toFailWith(400, "invalid_resolution");
    const resolved = await act(tenant, data.id, "resolve", { resolution: "driver_owes" });
    expect(resolved.body.data).toMatchObject({ status: "resolved", resolution: "driver_owes" });
    expect(await entries()).toBe(before);
    const remitted = await tenant.dispatcher.post("/delivery/cod-collections/remit", {
      scope: "selected",
      cod_collection_ids: [id],
    });
    expect(remitted).toSucceed();
    expect(remitted.body.data).toMatchObject({
      counted: 1200,
      shortage: { amount: 50, discrepancy_id: data.id },
    });
    expect(await balanceOf(wallet)).toBe(450);
    const [desk] =
      await sql`select balance from money.accounts where tenant_id = ${tenant.id} and kind = 'cash_on_hand'`;
    expect(desk.balance).toBe(1200);
    expect(await act(tenant, data.id, "resolve", { resolution: "written_off" })).toFailWith(
      409,
      "handover_not_in_discrepancy",
    );
    expect(await checkBooks(tenant)).toEqual([]);
    expect(await cashDifferences(tenant)).toEqual([]);
  });

  test("a wrong declaration is cancelled: by its driver until it is counted, then by staff", async () => {
    const tenant = await newTenant();
    await saveSettings(tenant.id, "delivery.cod", { require_handover: true });
    const { id: cash } = await newCash(tenant);
    const cancel = (person: Person, id: string) =>
      person.post(`/delivery/cod-collections/handovers/${id}/cancel`, {
        notes: "One nought too many",
      });
    const typo = (await declare(tenant, 12_500)).body.data.id;
    expect(await cancel(tenant.driver2, typo)).toFailWith(404, "handover_not_found");
    const taken = await cancel(tenant.driver, typo);
    expect(taken.body.data).toMatchObject({
      status: "cancelled",
      notes: "One nought too many",
      counted_amount: null,
    });
    expect(await cancel(tenant.driver, typo)).toFailWith(409, "handover_not_cancellable");
    expect(await act(tenant, typo, "count", { counted_amount: 12_500 })).toFailWith(
      409,
      "handover_not_declared",
    );

    const again = (await declare(tenant, 12_500)).body.data.id;
    await act(tenant, again, "count", { counted_amount: 1250 });
    const late = await cancel(tenant.driver, again);
    expect(late).toFailWith(409, "handover_not_cancellable");
    expect(late.body.from).toBe("discrepancy");
    expect(await cancel(tenant.dispatcher, again)).toSucceed(200);
    expect(await act(tenant, again, "resolve", { resolution: "written_off" })).toFailWith(
      409,
      "handover_not_in_discrepancy",
    );

    const remitted = () => tenant.dispatcher.post(remit, selected(cash));
    const miscounted = (await declare(tenant, 1250)).body.data.id;
    await act(tenant, miscounted, "count", { counted_amount: 1250 });
    expect(await cancel(tenant.dispatcher, miscounted)).toSucceed(200);
    expect(await remitted()).toFailWith(409, "cash_handover_required");
    const right = (await declare(tenant, 1250)).body.data.id;
    await act(tenant, right, "count", { counted_amount: 1250 });
    const [paid, off] = await Promise.all([remitted(), cancel(tenant.admin, right)]);
    expect([[200, 409], [409, 200]]).toContainEqual([paid.status, off.status]);
    expect(await checkBooks(tenant)).toEqual([]);
    expect(await cashDifferences(tenant)).toEqual([]);
  });

  test("too much on the desk is given back, a wrong count is counted again, a loss is written off", async () => {
    const tenant = await newTenant();
    await newCash(tenant);
    const discrepancy = async (counted: number) => {
      const { body: { data } } = await tenant.admin.post(desk, {
        driver_id: tenant.driver.id,
        amount: 1000,
        counted_amount: counted,
      });
      expect(data.status).toBe("discrepancy");
      return data.id as string;
    };
    expect(await act(tenant, await discrepancy(1100), "resolve", { resolution: "returned" }))
      .toSucceed();
    expect(
      await act(tenant, await discrepancy(900), "resolve", {
        resolution: "recounted",
        counted_amount: 1000,
      }),
    ).toSucceed();
    expect(await act(tenant, await discrepancy(900), "resolve", { resolution: "driver_owes" }))
      .toFailWith(400, "insufficient_wallet_balance");
    expect(await act(tenant, await discrepancy(900), "resolve", { resolution: "written_off" }))
      .toSucceed();
    expect(await checkBooks(tenant)).toEqual([]);
  });

  test("of two counts of one pile one holds; wrong people and wrong sums are refused", async () => {
    const tenant = await newTenant();
    await newCash(tenant);
    const { body: { data } } = await declare(tenant, 700);
    const counts = await Promise.all(
      [700, 699, 700, 600].map((counted_amount) =>
        act(tenant, data.id, "count", { counted_amount })
      ),
    );
    expect(counts.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(
      await tenant.driver.post(`/delivery/cod-collections/handovers/${data.id}/count`, {
        counted_amount: 1,
      }),
    ).toFailWith(403, "forbidden");
    expect(
      await b.admin.post(`/delivery/cod-collections/handovers/${data.id}/count`, {
        counted_amount: 1,
      }),
    ).toFailWith(404, "handover_not_found");
    expect(await tenant.admin.post(desk, { amount: 5 })).toFailWith(400, "driver_id_required");
    expect(await tenant.admin.post(desk, { amount: 5, driver_id: b.driver.id })).toFailWith(
      404,
      "driver_not_found",
    );
    expect(await tenant.driver.post(desk, { amount: 0 })).toFailWith(400, "validation_failed");
    expect(await tenant.driver.post(desk, { amount: -1 })).toFailWith(400, "validation_failed");
    expect(await tenant.driver.post(desk, { amount: 1.5 })).toFailWith(400, "too_many_decimals");
    expect(await tenant.customer.post(desk, { amount: 5 })).toFailWith(403, "forbidden");
  });
});
