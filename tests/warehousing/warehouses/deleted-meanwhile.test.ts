/** A warehouse that is deleted while somebody sends to it: either what names it comes first, or the deletion. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { deliveryIn, move, order, path, statusOf } from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { overlapping } from "../../support/overlapping.ts";
import { newYard, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newWarehouse } from "../../support/warehouses.ts";

let tenant: Tenant;
let yard: Yard;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

/** The answer of a call that comes while the deletion of this warehouse waits for its commit. */
const whileDeleting = <Answer>(warehouse: string, call: () => Promise<Answer>) =>
  overlapping(async (session) => {
    await session`select from warehousing.warehouses where id = ${warehouse} for update`;
    await session`update warehousing.warehouses set deleted_at = now() where id = ${warehouse}`;
  }, call);

const ordered = (more: Record<string, unknown>) => tenant.ops.post(path, order(yard, more));

test.for(
  [
    ["to", "dropoff_warehouse_id", { dropoff_address_id: undefined }],
    ["from", "pickup_warehouse_id", { pickup_address_id: undefined }],
    ["through", "warehouse_id", { staged: true }],
  ] as const,
)(
  "an order %s it is refused, and the other way round the warehouse stays",
  async ([, field, more]) => {
    const gone = await newWarehouse(tenant);
    const late = await whileDeleting(gone, () => ordered({ ...more, [field]: gone }));
    expect(late).toFailWith(404, "warehouse_not_found");
    expect(late.body.field).toBe(field);
    expect(
      await sql`select from delivery.deliveries
    where ${gone} in (pickup_warehouse_id, dropoff_warehouse_id, staging_warehouse_id)`,
    )
      .toHaveLength(0);

    const kept = await newWarehouse(tenant);
    expect(await ordered({ ...more, [field]: kept })).toSucceed(201);
    expect(await tenant.ops.delete(`/warehousing/warehouses/${kept}`))
      .toFailWith(409, "warehouse_in_use");
  },
);

test("a driver does not bring a parcel into it", async () => {
  const gone = await newWarehouse(tenant);
  const { id } = await deliveryIn(yard, "in_transit");
  const late = await whileDeleting(
    gone,
    () => move(tenant.driver, id, "return", { warehouse_id: gone }),
  );
  expect(late).toFailWith(404, "warehouse_not_found");
  expect(await statusOf(id)).toBe("in_transit");
});

test("no setting begins to name it as the default", async () => {
  const gone = await newWarehouse(tenant);
  const late = await whileDeleting(
    gone,
    () =>
      tenant.admin.put(`/tenants/${tenant.id}/settings`, {
        general: { warehouse: { settings: { default_warehouse_id: gone } } },
      }),
  );
  expect(late).toFailWith(400, "invalid_reference");
});

test("one that was moved meanwhile takes its parcels along all the same", async () => {
  const warehouse = await newWarehouse(tenant);
  const made = await ordered({ dropoff_address_id: undefined, dropoff_warehouse_id: warehouse });
  expect(made).toSucceed(201);
  const placeOf = async () =>
    (await sql`select w.address_id as stands, d.dropoff_address_id as brought from delivery.deliveries d
      join warehousing.warehouses w on w.id = ${warehouse} where d.id = ${made.body.id}`)[0]!;
  const { stands: before } = await placeOf();
  const elsewhere = await newAddress(tenant, { city: "Erbil" });
  const answer = await overlapping(
    async (session) => {
      await session`update warehousing.warehouses set address_id = ${elsewhere} where id = ${warehouse}`;
      await session`update delivery.deliveries set dropoff_address_id = ${elsewhere} where id = ${made.body.id}`;
    },
    () => tenant.ops.put(`/warehousing/warehouses/${warehouse}`, { address_id: before }),
  );
  expect(answer).toSucceed(200);
  expect(await placeOf()).toEqual({ stands: before, brought: before });
});
