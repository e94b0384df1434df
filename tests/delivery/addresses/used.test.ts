/** A recipient's address is the order's, not everybody's: being shown an id does not make it one's own to use. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { type Ground, newGround, order, path } from "../../support/deliveries.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
/** The home of a recipient of an order that is nobody's here. */
let home: string;
let branch: string;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  branch = await newBranch(tenant);
  home = await newAddress(tenant, { phone: "+9647809999999" });
  const made = await tenant.dispatcher.post(path, {
    ...order(ground, { dropoff_address_id: home }),
    customer_id: undefined,
    institution_user_id: tenant.institution2.id,
  });
  expect(made).toSucceed(201);
});

const at = { latitude: 33.3, longitude: 44.4 };
const people = (): [string, Person][] => [
  ["customer", tenant.customer],
  ["institution", tenant.institution],
];

describe.each(["pickup", "dropoff"])("as the %s of what another person orders", (end) => {
  test("it is not there, in drafts and in orders", async () => {
    const other = end === "pickup" ? "dropoff" : "pickup";
    for (const [name, who] of people()) {
      const body = {
        delivery_service_id: ground.service,
        [`${end}_address_id`]: home,
        [other === "pickup" ? "pickup_location" : "delivery_location"]: at,
        payment_method: "cash",
        payer_type: "receiver",
        unit_size: 1,
        recipient: { name: "R", phone: "+9647701234567" },
      };
      for (const status of ["draft", undefined]) {
        const answer = await who.post(path, { ...body, status });
        expect([name, status, answer.status, answer.body.code])
          .toEqual([name, status, 404, "address_not_found"]);
        expect(answer.body.field).toBe(`${end}_address_id`);
        expect(JSON.stringify(answer.body)).not.toContain("7809999999");
      }
    }
  });
});

test("it is no destination and no origin of a manifest of others", async () => {
  const manifest = (more: Record<string, unknown>) => ({
    institution_user_id: tenant.institution.id,
    source_branch_id: branch,
    creation_source: "form",
    ...more,
  });
  const manifests = "/delivery/transfer-manifests";
  for (const more of [{ destination_address_id: home }, { source_address_id: home }]) {
    expect(await tenant.institution.post(manifests, manifest(more)))
      .toFailWith(404, "address_not_found");
  }
});

test("row-level security alone shows it to the office, to whose order it is, and to the driver who carries it", async () => {
  const visible = async (who: Person, id: string) =>
    await sql.begin(async (tx) => {
      const claims = { sub: who.id, tenant_id: tenant.id, request_id: randomUUID() };
      await tx`select private.enter(${
        tx.json({ ...claims, tenant_mode: "required", operation: "" })
      }, ${tx.json({ access: ["anyone"] })})`;
      return (await tx`select from delivery.addresses where id = ${id}`).length === 1;
    });
  const seers = async (id: string) => {
    const seen: Record<string, boolean> = {};
    for (const part of ["staff", "institution2", "institution", "customer", "driver"] as const) {
      seen[part] = await visible(tenant[part], id);
    }
    return seen;
  };
  const office = { staff: true, institution2: true };
  expect(await seers(home)).toEqual({
    ...office,
    institution: false,
    customer: false,
    driver: false,
  });
  const [{ id: parcel }] =
    await sql`select id from delivery.deliveries where dropoff_address_id = ${home}`;
  expect(
    await tenant.dispatcher.post("/delivery/assignments", {
      delivery_id: parcel,
      driver_id: tenant.driver.id,
    }),
  ).toSucceed(201);
  expect(await seers(home)).toEqual({
    ...office,
    institution: false,
    customer: false,
    driver: true,
  });
  // Only staff see unused addresses; everybody sees a warehouse.
  const lonely = await newAddress(tenant);
  expect(await seers(lonely)).toEqual({
    staff: true,
    institution2: false,
    institution: false,
    customer: false,
    driver: false,
  });
});

test("it is used by the office, by whose order it is, and a place of the company by all", async () => {
  const body = { ...order(ground, { dropoff_address_id: home }), status: "draft" };
  expect(await tenant.dispatcher.post(path, body)).toSucceed(201);
  const own = await tenant.customer.post("/delivery/addresses", { full_address: "Home", ...at });
  const drafted = (who: Person, dropoff_address_id: string) =>
    who.post(path, {
      ...order(ground, { pickup_address_id: undefined, pickup_location: at, dropoff_address_id }),
      customer_id: undefined,
      status: "draft",
    });
  expect(await drafted(tenant.customer, own.body.data.id)).toSucceed(201);
  expect(await drafted(tenant.institution, own.body.data.id)).toFailWith(404, "address_not_found");
  expect(await drafted(tenant.institution2, home)).toSucceed(201);
  expect(await drafted(tenant.customer, ground.to)).toSucceed(201);
  expect(await drafted(tenant.institution, ground.to)).toSucceed(201);
});
