/** Cash of an undone outcome in lists, files, changes and the reconciliation. */
import { beforeAll, describe, expect, test } from "vitest";
import { settled } from "../../support/changes.ts";
import { sql } from "../../support/db.ts";
import { type Ground, moves, newGround } from "../../support/deliveries.ts";
import { newPayer, perDelivery, setRule } from "../../support/driver-pay.ts";
import { fundWallet } from "../../support/money.ts";
import { onItsWay, sound, undo } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  ground = await newPayer();
  tenant = ground.tenant;
  await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
});
const parcel = (at: Ground = ground, status?: string) => onItsWay(at, status);

describe("a delivery that is undone", () => {
  test("its row of cash is in no list, sum or file unless reversed ones are asked for, and copies learn of it", async () => {
    const at = await newGround(await newTenant());
    const id = await parcel(at);
    const other = await parcel(at);
    const all = async (query: Record<string, string> = {}, by = at.tenant.admin) =>
      (await by.get("/delivery/cod-collections", { query })).body.cod;
    await moves(at.tenant.driver, other, "complete");
    await moves(at.tenant.driver, id, "complete");
    const since = new Date(Date.now() - 60_000).toISOString();
    expect(await undo(at.tenant.driver, id)).toSucceed(200);
    for (const by of [at.tenant.admin, at.tenant.driver]) {
      const left = await all({}, by);
      expect(left.collections.map((row: { delivery_id: string }) => row.delivery_id))
        .toEqual([other]);
      expect(left.pagination.total).toBe(1);
      expect(left.summary).toMatchObject({ total_collected: 7000, total_cod_collections: 1 });
    }
    expect((await all({ amount_min: "1" })).summary.total_collected).toBe(7000);
    expect((await all({ reversed: "false" })).pagination.total).toBe(1);
    const reversed = await all({ reversed: "true" });
    expect(reversed.pagination.total).toBe(1);
    expect(reversed.collections).toEqual([
      expect.objectContaining({
        delivery_id: id,
        status: "collected",
        amount: 7000,
        reversed_at: expect.any(String),
      }),
    ]);
    await settled(at.tenant.id, ["money.cod_collections"]);
    const changed = await all({ updated_since: since });
    expect(
      changed.collections.map((row: { reversed_at: unknown }) => row.reversed_at !== undefined)
        .sort(),
    )
      .toEqual([false, true]);
    const file = await at.tenant.admin.get("/delivery/cod-collections/export");
    expect(new TextDecoder().decode(file.body).trim().split("\n")).toHaveLength(2);
    const { summary } = (await at.tenant.admin.get("/delivery/cod-summary")).body;
    expect(summary).toMatchObject({ total_unremitted: 7000, pending_collections_count: 1 });
    const [row] = reversed.collections;
    const remit = await at.tenant.admin.post("/delivery/cod-collections/remit", {
      scope: "selected",
      cod_collection_ids: [row.id],
    });
    expect(remit).toFailWith(400, "cod_collections_not_pending");
    expect(
      await at.tenant.admin.post("/delivery/cod-collections/remit", {
        scope: "all",
        driver_id: at.tenant.driver.id,
      }),
    ).toSucceed();
    await sound(at.tenant);
  });

  test("the reconciliation counts it until it was undone, and not from then on", async () => {
    const at = await newGround(await newTenant());
    await setRule(at.tenant, perDelivery(500));
    const id = await parcel(at);
    await moves(at.tenant.driver, id, "complete");
    const [{ now: before }] = await sql`select clock_timestamp()::text as now`;
    expect(await undo(at.tenant.ops, id)).toSucceed(200);
    const position = async (when: string) => ({
      cash:
        (await sql`select collected, in_hand, ledger from money.cod_positions(${at.tenant.id}, ${when}::text::timestamptz)`)
          .map((row) => ({ ...row })),
      differences:
        await sql`select * from money.cod_differences(${at.tenant.id}, ${when}::text::timestamptz)`,
    });
    expect(await position(before)).toEqual({
      cash: [{ collected: 7000, in_hand: 7000, ledger: 7000 }],
      differences: [],
    });
    const after = await position("infinity");
    expect(after.differences).toEqual([]);
    expect(after.cash.map(({ in_hand, ledger }) => [in_hand, ledger])).toEqual([[0, 0]]);
    expect(await sql`select money.cod_reconcile_all(${at.tenant.id}) as found`).toEqual([{
      found: 0,
    }]);
  });

  test("a reversed row whose payments or pay still count is a difference", async () => {
    const at = await newGround(await newTenant());
    await setRule(at.tenant, perDelivery(500));
    const id = await parcel(at);
    await moves(at.tenant.driver, id, "complete");
    expect(await undo(at.tenant.ops, id)).toSucceed(200);
    const kinds = async () =>
      (await sql`select kind from money.cod_differences(${at.tenant.id}, 'infinity')`)
        .map(({ kind }) => kind);
    expect(await kinds()).toEqual([]);
    await sql`update money.payments set status = 'SUCCESS' where delivery_id = ${id} and type = 'DELIVERY_FEE'`;
    expect(await kinds()).toEqual(["reversed_row"]);
    await sql`update money.payments set status = 'CANCELLED' where delivery_id = ${id}`;
    expect(await kinds()).toEqual([]);
  });
});
