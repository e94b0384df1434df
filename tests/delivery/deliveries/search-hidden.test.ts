/** A search finds nobody's parcel by what its reader is not shown. */
import { beforeAll, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { assign, type Ground, newDelivery, newGround } from "../../support/deliveries.ts";
import { newTenant } from "../../support/people.ts";

let ground: Ground;
let inbound: string;
let parent: Body;
beforeAll(async () => {
  ground = await newGround(await newTenant());
  parent = await newDelivery(ground, {
    staged: true,
    warehouse_id: ground.warehouse,
    recipient: { name: "Rêzan Hidden", phone: "+9647705556677" },
    external_reference_id: "REF-77",
  });
  inbound = parent.legs[0].id;
  await assign(ground.tenant, inbound);
});

const found = async (who: Person, search: string) => {
  const answer = await who.get("/delivery/deliveries", { query: { search } });
  expect(answer).toSucceed(200);
  return answer.body.data.map(({ id }: Body) => id);
};

test("the driver of the leg into the warehouse finds it by its code, and not by its recipient", async () => {
  const { driver } = ground.tenant;
  const { delivery } = (await driver.get(`/delivery/deliveries/${inbound}`)).body;
  expect(JSON.stringify(delivery)).not.toContain("5556677");
  for (const hidden of ["5556677", "0770 555 6677", "Rêzan"]) {
    expect(await found(driver, hidden)).toEqual([]);
  }
  expect(await found(driver, String(delivery.delivery_code))).toEqual([inbound]);
  expect(await found(driver, "REF-77")).toEqual([inbound]);
});

test("the office, and whose parcel it is, find all of it", async () => {
  const all = [parent.id, ...parent.legs.map(({ id }: Body) => id)].sort();
  const { ops, institution, customer } = ground.tenant;
  expect((await found(ops, "5556677")).sort()).toEqual(all);
  const owner = [institution, customer].find(({ id }) =>
    id === (parent.institution_user_id ?? parent.customer_id)
  );
  if (owner) expect((await found(owner, "5556677")).sort()).toEqual(all);
});
