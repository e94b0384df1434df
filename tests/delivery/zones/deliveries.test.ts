/** Deliveries that have not ended follow the map: their zones are those of their places, however it was drawn when they were ordered. */
import { beforeEach, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  outboundOnRoad,
  path as deliveries,
  stagedInWarehouse,
  takenOver,
} from "../../support/deliveries.ts";
import { jobsDone, runJobs } from "../../support/jobs.ts";
import { newAddress, newProcessingPoint } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { confine } from "../../support/redirects.ts";
import { received } from "../../support/send-back.ts";
import { type Ring, square } from "../../support/zones.ts";

const path = "/delivery/zones";
let tenant: Tenant;
let ground: Ground;
let to: string;

const polygon = (ring: Ring) => ({ type: "Polygon", coordinates: [ring] });
const around = square(20, 20, 1);

beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  to = await newAddress(tenant, { longitude: 20, latitude: 20 });
  await newProcessingPoint(tenant, to);
});

async function zone(name: string, ring: Ring = around): Promise<string> {
  const answer = await tenant.ops.post(path, { name, polygon: polygon(ring) });
  expect(answer).toSucceed(201);
  await jobsDone(tenant.id);
  return answer.body.data.id;
}
async function change(id: string, body: Record<string, unknown>) {
  expect(await tenant.ops.patch(`${path}/${id}`, body)).toSucceed(200);
  await jobsDone(tenant.id);
}
const shown = async (id: string) => (await tenant.ops.get(`${deliveries}/${id}`)).body.delivery;
const zoneOf = async (id: string) => (await shown(id)).dropoff_zone_id;

test("a zone that is drawn, closed, opened or redrawn is that of what waits and is under way, not of what has ended", async () => {
  const waiting = [];
  for (const status of ["draft", "pending"]) {
    waiting.push((await newDelivery(ground, { dropoff_address_id: to, status })).id);
  }
  for (const status of ["accepted", "in_transit", "failed"]) {
    waiting.push((await deliveryIn(ground, status, { dropoff_address_id: to })).id);
  }
  const ended = [(await deliveryIn(ground, "delivered", { dropoff_address_id: to })).id];
  const zones = async (ids: string[]) => [...new Set(await Promise.all(ids.map(zoneOf)))];
  expect(await zones(waiting)).toEqual([null]);
  const one = await zone("One");
  expect(await zones(waiting)).toEqual([one]);
  expect(await zones(ended)).toEqual([null]);
  const two = await zone("Two", square(20, 20, 0.5));
  expect(await zones(waiting)).toEqual([two]);
  await change(two, { is_active: false });
  expect(await zones(waiting)).toEqual([one]);
  await change(two, { is_active: true });
  await change(one, { name: "Other" });
  expect(await zones(waiting)).toEqual([two]);
  await change(two, { polygon: polygon(square(40, 20, 0.5)) });
  await change(one, { polygon: polygon(square(42, 20, 0.5)) });
  expect(await zones(waiting)).toEqual([null]);
  expect((await shown(waiting[0])).dropoff_address.zone_id).toBeNull();
});

test("what waited with a closed zone is found by its new one, and given to its drivers", async () => {
  const old = await zone("Old");
  const { id } = await newDelivery(ground, { pickup_address_id: to, dropoff_address_id: to });
  await change(old, { is_active: false });
  const fresh = await zone("New");
  await confine(tenant.driver, fresh);
  const board = await tenant.ops.get("/delivery/board", { query: { zone_id: fresh } });
  expect(board.body.data.unassigned.total).toBe(1);
  expect(
    await tenant.ops.post("/delivery/assignments", {
      delivery_id: id,
      driver_id: tenant.driver.id,
    }),
  ).toSucceed(201);
});

test("a place that was corrected since, and a zone that somebody chose, keep what was ordered", async () => {
  const moved = (await newDelivery(ground, { dropoff_address_id: to })).id;
  await sql`update delivery.addresses set longitude = 50 where id = ${to}`;
  const one = await zone("One");
  expect(await zoneOf(moved)).toBe(one);
  const chosen = await newAddress(tenant, { longitude: 20, latitude: 20 });
  await newProcessingPoint(tenant, chosen);
  await tenant.ops.patch(`/delivery/addresses/${chosen}`, { zone_id: one });
  const kept = (await newDelivery(ground, { dropoff_address_id: chosen })).id;
  await zone("Two", square(20, 20, 0.2));
  expect(await zoneOf(kept)).toBe(one);
});

test("the legs of a staged parcel have the zones of their own ends", async () => {
  const { id } = await newDelivery(ground, {
    dropoff_address_id: to,
    staged: true,
    warehouse_id: ground.warehouse,
  });
  const one = await zone("One");
  const { legs, dropoff_zone_id } = await shown(id);
  expect(dropoff_zone_id).toBe(one);
  const ends = await Promise.all(legs.map((leg: { id: string }) => zoneOf(leg.id)));
  expect(ends).toEqual([null, one]);
});

test("a leg that its warehouse is to receive again has its zones by the map of now when it sets out anew", async () => {
  const { parent, b } = await outboundOnRoad(ground, { dropoff_address_id: to });
  await moves(tenant.driver, b, "fail", "return");
  expect(await shown(b)).toMatchObject({ status: "returned" });
  const [{ longitude, latitude }] = await sql`select a.longitude, a.latitude
    from delivery.addresses a join warehousing.warehouses w on w.address_id = a.id where w.id = ${ground.warehouse}`;
  const from = await zone("From", square(longitude, latitude, 1));
  const one = await zone("One");
  const [{ id: receipt }] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${b} and status = 'pending'`;
  await received(ground, receipt);
  expect(await shown(b)).toMatchObject({
    status: "pending",
    pickup_zone_id: from,
    dropoff_zone_id: one,
  });
  expect(await zoneOf(parent.id)).toBe(one);
});

test("so has a return that its warehouse is to receive again", async () => {
  const { parent } = await stagedInWarehouse(ground);
  const made = await move(tenant.ops, parent.id, "operational-return", { reason: "wrong" });
  const back = made.body.delivery.id;
  await takenOver(ground, back, tenant.driver2);
  await moves(tenant.driver2, back, "depart", "fail", "return");
  const [{ longitude, latitude }] = await sql`select a.longitude, a.latitude
    from delivery.addresses a join delivery.deliveries d on d.dropoff_address_id = a.id where d.id = ${back}`;
  const home = await zone("Home", square(longitude, latitude, 1));
  const [{ id: receipt }] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${back} and status = 'pending'`;
  await received(ground, receipt);
  expect(await shown(back)).toMatchObject({ status: "pending", dropoff_zone_id: home });
});

test("orders and changes of the map at the same moment leave no delivery with a zone of before", async () => {
  const ids = [await zone("A"), await zone("B", square(20, 20, 0.5))];
  const drafts = [];
  for (let i = 0; i < 4; i++) {
    drafts.push((await newDelivery(ground, { dropoff_address_id: to, status: "draft" })).id);
  }
  for (let round = 0; round < 4; round++) {
    await Promise.all([
      ...ids.map((id) => tenant.ops.patch(`${path}/${id}`, { is_active: round % 2 === 1 })),
      ...drafts.map((id, i) =>
        tenant.ops.patch(`${deliveries}/${id}`, {
          notes: `${round}`,
          delivery_location: { latitude: 20, longitude: 20 + i / 100 },
        })
      ),
      newDelivery(ground, { dropoff_address_id: to }),
    ]);
  }
  await jobsDone(tenant.id);
  const wrong = await sql`select d.id from delivery.deliveries d
    join delivery.addresses a on a.id = d.dropoff_address_id
    where d.tenant_id = ${tenant.id} and d.dropoff_zone_id is distinct from a.zone_id`;
  expect(wrong).toEqual([]);
});

test("a delivery that was being written when the map changed follows two minutes later", async () => {
  const one = await zone("Late");
  const { id } = await newDelivery(ground, { dropoff_address_id: to });
  await jobsDone(tenant.id);
  expect(await zoneOf(id)).toBe(one);
  // As a call leaves it that had read the address before the change and ended after the first job.
  await sql`update delivery.deliveries set dropoff_zone_id = null where id = ${id}`;
  const [{ count }] = await sql`with due as (
      update app.jobs set run_at = now() where tenant_id = ${tenant.id} and kind = 'delivery.zones_follow'
        and status = 'queued' returning run_at)
    select count(*)::int from due`;
  expect(count).toBeGreaterThan(0);
  await runJobs("delivery", tenant.id);
  expect(await zoneOf(id)).toBe(one);
});
