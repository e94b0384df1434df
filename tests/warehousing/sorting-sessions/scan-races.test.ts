/** Packages that are scanned into cages at the same moment. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { newPackage } from "../../support/packages.ts";
import {
  filledOf,
  newSorting,
  type Sorting,
  sortingSessions as path,
} from "../../support/sorting-sessions.ts";

let { tenant, yard, newSession, packageTo, scan } = {} as Sorting;
beforeAll(async () => {
  ({ tenant, yard, newSession, packageTo, scan } = await newSorting());
});

describe("at the same moment", () => {
  test("of twenty packages for a cage of seven exactly seven are put there", async () => {
    const session = await newSession(["city", "Kut", 7]);
    const dropoff_address_id = await newAddress(tenant, { city: "Kut" });
    const parcels = [];
    for (let i = 0; i < 20; i++) parcels.push(await newPackage(yard, { dropoff_address_id }));
    const answers = await Promise.all(parcels.map(({ barcode }) => scan(session, barcode)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer).toFailWith(409, "cage_full");
    }
    expect(await filledOf(session.assignments[0].cage_location_id)).toBe(7);
    const [{ count }] = await sql`select count(*)::int from warehousing.sorting_scans
      where session_id = ${session.id}`;
    expect(count).toBe(7);
  });

  test("one package scanned by fifteen lies in one cage once", async () => {
    const session = await newSession(["city", "Kut"]);
    const parcel = await packageTo("Kut");
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => scan(session, parcel.barcode)),
    );
    for (const answer of answers) expect(answer).toSucceed(200);
    expect(new Set(answers.map(({ body }) => body.scan_id)).size).toBe(1);
    expect(answers.filter(({ body }) => !body.already_sorted)).toHaveLength(1);
    expect(await filledOf(session.assignments[0].cage_location_id)).toBe(1);
  });

  test("scans that are answered before the end of a session are counted, and none after it", async () => {
    const session = await newSession(["city", "Kut", 100]);
    const dropoff_address_id = await newAddress(tenant, { city: "Kut" });
    const parcels = [];
    for (let i = 0; i < 12; i++) parcels.push(await newPackage(yard, { dropoff_address_id }));
    const answers = await Promise.all([
      ...parcels.map(({ barcode }) => scan(session, barcode)),
      tenant.staff.put(`${path}/${session.id}`, { status: "completed" }),
    ]);
    const end = answers.pop()!;
    expect(end).toSucceed(200);
    const done = answers.filter(({ status }) => status === 200).length;
    expect(await filledOf(session.assignments[0].cage_location_id)).toBe(done);
    expect(end.body.session.temporary_locations[0].filled_capacity).toBe(done);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer).toFailWith(409, "sorting_session_not_active");
    }
  });
});
