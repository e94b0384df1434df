import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { move, moves, takenOver } from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { newPackage, newStagedPackage, newYard } from "../../support/packages.ts";
import { newTenant } from "../../support/people.ts";
import {
  filledOf,
  newSorting,
  type Sorting,
  sortingSessions as path,
} from "../../support/sorting-sessions.ts";

let { tenant, yard, assigned, newSession, packageTo, scan } = {} as Sorting;
beforeAll(async () => {
  ({ tenant, yard, assigned, newSession, packageTo, scan } = await newSorting());
});

describe("a scan", () => {
  test("says which cage to put the package into, and counts it there", async () => {
    const session = await newSession(["city", "Erbil"], ["city", "Basra"]);
    const parcel = await packageTo("Basra");
    const answer = await scan(session, parcel.barcode);
    expect(answer).toSucceed(200);
    const cage = session.assignments[1];
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      scan_id: expect.any(String),
      already_sorted: false,
      scanned_at: expect.any(String),
      put_to: {
        ...cage.cage_location,
        filled_capacity: 1,
        assignment_id: cage.id,
        destination_type: "city",
        destination_value: "Basra",
      },
      assignment: { ...cage, cage_location: { ...cage.cage_location, filled_capacity: 1 } },
      delivery: {
        id: parcel.id,
        delivery_code: parcel.delivery_code,
        barcode: parcel.barcode,
        status: "pending",
        delivery_flow: "standard",
        label_outdated: false,
      },
    });
    const again = await scan(session, parcel.barcode);
    expect(again).toSucceed(200);
    expect(again.body).toEqual({ ...answer.body, already_sorted: true });
    expect(await filledOf(cage.cage_location_id)).toBe(1);
    const byCode = await scan(session, String(parcel.delivery_code));
    expect(byCode.body.scan_id).toBe(answer.body.scan_id);
  });

  test("matches cities whatever their case, spaces and Arabic spelling", async () => {
    const session = await newSession(["city", "al  BASRA"], ["city", "أربيل"], ["city", "کەرکووک"]);
    for (
      const [city, i] of [["Al Basra", 0], [" AL basra", 0], ["اربيل", 1], ["أربِيـل", 1], [
        "كەركووك",
        2,
      ]] as const
    ) {
      const answer = await scan(session, (await packageTo(city)).barcode);
      expect(answer, city).toSucceed(200);
      expect(answer.body.put_to.assignment_id, city).toBe(session.assignments[i].id);
    }
  });

  test("prefers the zone to the partner area to the city, and takes the one chosen", async () => {
    const [zone] = await sql`insert into delivery.zones (tenant_id, name, polygon)
      values (${tenant.id}, 'Karrada', ${
      sql.json([[[10, 10], [11, 10], [11, 11], [10, 10]]])
    }) returning id`;
    const [tag] = await sql`insert into delivery.zone_tags (tenant_id, name)
      values (${tenant.id}, 'East Bank') returning id`;
    await sql`insert into delivery.zone_tag_map (tenant_id, zone_id, tag_id)
      values (${tenant.id}, ${zone.id}, ${tag.id})`;
    const session = await newSession(
      ["city", "Baghdad"],
      ["partner_area", "east bank"],
      ["zone", "KARRADA"],
    );
    const byId = await newSession(["zone", zone.id]);
    const [city, area, trolley] = session.assignments;
    const parcels = [];
    for (let i = 0; i < 2; i++) {
      const parcel = await packageTo("Baghdad");
      await sql`update delivery.deliveries set dropoff_zone_id = ${zone.id} where id = ${parcel.id}`;
      parcels.push(parcel);
    }
    expect((await scan(session, parcels[0].barcode)).body.put_to).toMatchObject({
      assignment_id: trolley.id,
      location_type: "TROLLEY",
    });
    expect((await scan(byId, parcels[0].barcode)).body.put_to.destination_value).toBe(zone.id);
    const chosen = await scan(session, parcels[1].barcode, { assignment_id: area.id });
    expect(chosen.body.put_to.assignment_id).toBe(area.id);
    const outside = await packageTo("Mosul");
    expect(await scan(session, outside.barcode, { assignment_id: city.id })).toFailWith(
      404,
      "no_matching_destination",
    );
    const external = await packageTo("Mosul", {
      carrier_type: "external",
      carrier_code: "easypost",
    });
    const partners = await newSession(["partner_area", "EasyPost"]);
    expect(await scan(partners, external.barcode)).toSucceed(200);
  });

  test("of a staged parcel is of the parcel, by its barcode or a leg's code", async () => {
    const session = await newSession(["city", "Najaf"]);
    const dropoff_address_id = await newAddress(tenant, { city: "Najaf" });
    const { parent, b } = await newStagedPackage(yard, { dropoff_address_id });
    const first = await scan(session, parent.barcode);
    expect(first.body.delivery.id).toBe(parent.id);
    const [{ delivery_code }] = await sql`select delivery_code from delivery.deliveries
      where id = ${b}`;
    const second = await scan(session, String(delivery_code));
    expect(second.body).toMatchObject({ scan_id: first.body.scan_id, already_sorted: true });
  });

  test("of a parcel that goes back is of its return, by either barcode", async () => {
    const [from, to] = [
      await newAddress(tenant, { city: "Najaf" }),
      await newAddress(tenant, { city: "Basra" }),
    ];
    const { parent } = await newStagedPackage(yard, {
      pickup_address_id: from,
      dropoff_address_id: to,
    });
    const { delivery } = (await move(tenant.ops, parent.id, "operational-return")).body;
    const session = await newSession(["city", "Basra"], ["city", "Najaf"]);
    const first = await scan(session, parent.barcode);
    expect(first).toSucceed(200);
    expect(first.body).toMatchObject({
      already_sorted: false,
      put_to: { destination_value: "Najaf", filled_capacity: 1 },
      delivery: { id: delivery.id, barcode: delivery.barcode },
    });
    const again = await scan(session, delivery.barcode);
    expect(again.body).toEqual({ ...first.body, already_sorted: true });
    expect(await filledOf(session.assignments[0].cage_location_id)).toBe(0);
    // It was cancelled: the parcel continues to where it was ordered.
    expect(await move(tenant.ops, delivery.id, "cancel", { reason: "kept" })).toSucceed(200);
    const onwards = await scan(session, parent.barcode);
    expect(onwards.body).toMatchObject({
      put_to: { destination_value: "Basra" },
      delivery: { id: parent.id },
    });
    // Another one came home.
    const { delivery: last } = (await move(tenant.ops, parent.id, "operational-return")).body;
    await takenOver(yard, last.id);
    await moves(tenant.driver, last.id, "depart", "complete");
    const over = await scan(await newSession(["city", "Basra"]), parent.barcode);
    expect(over).toFailWith(409, "package_not_sortable");
    expect(over.body.status).toBe("returned");
  });

  test("is refused with the reason", async () => {
    const session = await newSession(["city", "Basra", 1]);
    const foreign = await newTenant();
    const foreignParcel = await newPackage(await newYard(foreign), { barcode: "OF-ANOTHER-1" });
    for (const barcode of ["nothing", "0", "99999999999999999999", foreignParcel.barcode]) {
      const answer = await scan(session, barcode);
      expect(answer, barcode).toFailWith(404, "delivery_not_found");
    }
    expect(await scan(session, (await packageTo("Mosul")).barcode)).toFailWith(
      404,
      "no_matching_destination",
    );
    const parcel = await packageTo("Basra");
    const unknown = await scan(session, parcel.barcode, { assignment_id: randomUUID() });
    expect(unknown).toFailWith(404, "sorting_assignment_not_found");
    const cancelled = await packageTo("Basra");
    await sql`update delivery.deliveries set status = 'cancelled' where id = ${cancelled.id}`;
    const over = await scan(session, cancelled.barcode);
    expect(over).toFailWith(409, "package_not_sortable");
    expect(over.body.status).toBe("cancelled");
    const elsewhere = await packageTo("Basra");
    await sql`update delivery.deliveries set current_warehouse_id = ${yard.there}
      where id = ${elsewhere.id}`;
    expect(await scan(session, elsewhere.barcode)).toFailWith(409, "package_elsewhere");
    expect(await scan(session, parcel.barcode)).toSucceed(200);
    const full = await scan(session, (await packageTo("Basra")).barcode);
    expect(full).toFailWith(409, "cage_full");
    expect(full.body.assignment_id).toBe(session.assignments[0].id);
    for (
      const [body, field] of [
        [{}, "delivery_barcode"],
        [{ delivery_barcode: "" }, "delivery_barcode"],
        [{ delivery_barcode: "x".repeat(101) }, "delivery_barcode"],
        [{ delivery_barcode: "a\u0000b" }, "delivery_barcode"],
      ] as const
    ) {
      const answer = await tenant.staff.post(`${path}/${session.id}/scan`, body);
      expect(answer).toFailWith(400, "validation_failed");
      expect(answer.body.field).toBe(field);
    }
  });
});

describe("several cages of one destination", () => {
  test("are filled one after the other, and a parcel that fits none gets the refusal of the first", async () => {
    const session = await newSession(["city", "Hilla", 1], ["city", " HILLA ", 2]);
    const [first, second] = session.assignments.map(({ id }: { id: string }) => id);
    const to = async () => (await scan(session, (await packageTo("Hilla")).barcode)).body;
    const put = [await to(), await to(), await to()];
    expect(put.map((body) => body.put_to.assignment_id)).toEqual([first, second, second]);
    const parcel = await packageTo("Hilla");
    const full = await scan(session, parcel.barcode);
    expect(full).toFailWith(409, "cage_full");
    expect(full.body.assignment_id).toBe(first);
    const more = await tenant.staff.post(`${path}/${session.id}/assignments`, {
      assignments: [assigned("city", "Hilla")],
    });
    expect(more).toSucceed(201);
    const answer = await scan(session, parcel.barcode);
    expect(answer.body.put_to.assignment_id).toBe(more.body.assignments[0].id);
    expect(await scan(session, (await packageTo("Hilla")).barcode, { assignment_id: second }))
      .toFailWith(409, "cage_full");
  });

  test("take a crowd of packages together, as many as they have room for", async () => {
    const session = await newSession(["city", "Hilla", 3], ["city", "Hilla", 4]);
    const dropoff_address_id = await newAddress(tenant, { city: "Hilla" });
    const parcels = [];
    for (let i = 0; i < 12; i++) parcels.push(await newPackage(yard, { dropoff_address_id }));
    const answers = await Promise.all(parcels.map(({ barcode }) => scan(session, barcode)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
    for (const [i, filled] of [[0, 3], [1, 4]] as const) {
      expect(await filledOf(session.assignments[i].cage_location_id)).toBe(filled);
    }
  });
});
