/** A copy of deliveries that is kept by `updated_since` and its cursor learns who has a parcel that changes hands on the road. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { handOver as handOverBy } from "../../support/assignments.ts";
import { settled } from "../../support/changes.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  type Ground,
  moves,
  newGround,
  outboundOnRoad,
  path,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

/** The copy: what the list says of each delivery, followed by its cursor. */
function newCopy() {
  const rows = new Map<string, Body>();
  let query: Record<string, string> = { updated_since: "2000-01-01" };
  return async () => {
    await settled(tenant.id, ["delivery.deliveries"]);
    let more = true;
    while (more) {
      const answer = await tenant.admin.get(path, { query });
      expect(answer).toSucceed(200);
      for (const row of answer.body.data) rows.set(row.id, row);
      if (answer.body.next_cursor) query = { cursor: answer.body.next_cursor };
      more = answer.body.has_more;
    }
    return rows;
  };
}

const handOver = async (ids: string[]) => {
  const answer = await handOverBy(tenant.ops, tenant.driver, tenant.driver2, ids);
  expect(answer).toSucceed(201);
  return answer.body.bulk_assignment_id as string;
};
const answer = async (bulk: string, status: string) =>
  expect(await tenant.driver2.put(`/delivery/assignments/bulk/${bulk}`, { status })).toSucceed(200);

describe("a copy", () => {
  test.each<[string, (bulk: string) => Promise<unknown>, "driver" | "driver2", string]>([
    ["waits for its new driver", () => Promise.resolve(), "driver2", "pending"],
    ["was accepted", (bulk) => answer(bulk, "accepted"), "driver2", "accepted"],
    ["was rejected", (bulk) => answer(bulk, "rejected"), "driver", "accepted"],
  ])("has the driver of each parcel whose handover %s", async (_, then, who, status) => {
    const ids = [
      (await deliveryIn(ground, "picked_up")).id,
      (await deliveryIn(ground, "in_transit")).id,
      (await deliveryIn(ground, "failed")).id,
      (await outboundOnRoad(ground)).b,
    ];
    const stays = await deliveryIn(ground, "in_transit");
    const read = newCopy();
    const before = new Map(await read());
    const bulk = await handOver(ids);
    let rows = await read();
    for (const id of ids) expect(rows.get(id)!.assignment.driver_id).toBe(tenant.driver2.id);
    await then(bulk);
    rows = await read();
    for (const id of ids) {
      const { assignment, updated_at, ...rest } = rows.get(id)!;
      expect(assignment).toMatchObject({ driver_id: tenant[who].id, status });
      const { assignment: __, updated_at: ___, ...was } = before.get(id)!;
      expect(rest).toEqual(was);
      // As the list says without a cursor.
      const { body } = await tenant.admin.get(path, { query: { search: rest.barcode } });
      expect(body.data.find((row: Body) => row.id === id)).toEqual(rows.get(id));
      expect(updated_at).not.toBe(before.get(id)!.updated_at);
    }
    // A parcel that nobody took over is not read again.
    expect(rows.get(stays.id)).toBe(before.get(stays.id));
    expect(
      await sql`select from delivery.delivery_status_history h where h.delivery_id = any(${ids})
      and h.from_status = h.to_status`,
    ).toEqual([]);
    if (who === "driver2" && status === "pending") await answer(bulk, "accepted");
    await moves(tenant[who], ids[1], "complete");
    await checkAll(tenant);
  });
});
