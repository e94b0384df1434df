/** A parcel that was sorted and is sent back since is one parcel: scanned again, it leaves the cage where it lay. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { overlapping } from "../../support/overlapping.ts";
import { newStagedPackage } from "../../support/packages.ts";
import { sentBackBy } from "../../support/send-back.ts";
import { checkCages, filledOf, newSorting, type Sorting } from "../../support/sorting-sessions.ts";

let { tenant, yard, newSession, packageTo, scan } = {} as Sorting;
beforeAll(async () => {
  ({ tenant, yard, newSession, packageTo, scan } = await newSorting());
});

afterAll(() => checkCages(tenant));

const filled = (session: Body) =>
  Promise.all(session.assignments.map((one: Body) => filledOf(one.cage_location_id)));

/** A parcel to Basra that lies in its cage, and the return to Baghdad that it goes back by since: [session, parcel, first scan, return]. */
async function sentBack(): Promise<[Body, Body, Body, Body]> {
  const session = await newSession(["city", "Basra"], ["city", "Baghdad"]);
  const parcel = await packageTo("Basra");
  const first = await scan(session, parcel.barcode);
  expect(first).toSucceed(200);
  expect(await filled(session)).toEqual([1, 0]);
  return [session, parcel, first.body, await sentBackBy(yard, parcel.id, "operational-return")];
}

test.each(["the return's", "its first"])(
  "scanned by %s barcode, it moves to the cage of its return",
  async (whose) => {
    const [session, parcel, first, back] = await sentBack();
    const { barcode } = whose === "its first" ? parcel : back;
    const moved = await scan(session, barcode);
    expect(moved).toSucceed(200);
    expect(moved.body).toMatchObject({
      scan_id: first.scan_id,
      already_sorted: false,
      put_to: { destination_value: "Baghdad", filled_capacity: 1 },
      delivery: { id: back.id, delivery_flow: "operational_return" },
    });
    expect(await filled(session)).toEqual([0, 1]);
    for (const one of [parcel, back]) {
      expect((await scan(session, one.barcode)).body)
        .toEqual({ ...moved.body, already_sorted: true });
    }
    expect(await filled(session)).toEqual([0, 1]);
  },
);

test("which is cancelled, it moves back to the cage of its receiver", async () => {
  const [session, parcel, first, back] = await sentBack();
  expect(await scan(session, back.barcode)).toSucceed(200);
  expect(await tenant.ops.post(`/delivery/deliveries/${back.id}/cancel`, { reason: "no" }))
    .toSucceed(200);
  expect((await scan(session, parcel.barcode)).body).toMatchObject({
    scan_id: first.scan_id,
    put_to: { destination_value: "Basra" },
    delivery: { id: parcel.id },
  });
  expect(await filled(session)).toEqual([1, 0]);
});

test("first scanned as its return, it is a new one; of a staged parcel, too", async () => {
  const session = await newSession(["city", "Baghdad"]);
  const single = await packageTo("Basra");
  const { parent, b } = await newStagedPackage(yard);
  for (const id of [single.id, b]) {
    const back = await sentBackBy(yard, id, "operational-return");
    expect((await scan(session, back.barcode)).body)
      .toMatchObject({ already_sorted: false, delivery: { id: back.id } });
  }
  expect((await scan(session, parent.barcode)).body.already_sorted).toBe(true);
  expect(await filled(session)).toEqual([2]);
});

test("scanned by both barcodes at the same moment, it counts once", async () => {
  for (let round = 0; round < 3; round++) {
    const [session, parcel, , back] = await sentBack();
    const answers = await Promise.all(
      [parcel, back, parcel, back].map(({ barcode }) => scan(session, barcode)),
    );
    for (const answer of answers) expect(answer).toSucceed(200);
    expect(await filled(session)).toEqual([0, 1]);
  }
});

test("sorted to its receiver while it is sent back, it counts once", async () => {
  const session = await newSession(["city", "Basra"], ["city", "Baghdad"]);
  const parcel = await packageTo("Basra");
  // The scan that began before the return was made, and is committed after it.
  const place = session.assignments[0];
  const back = await sentBackBy(yard, parcel.id, "operational-return");
  const answer = await overlapping(async (open) => {
    await open`insert into warehousing.sorting_scans (tenant_id, session_id, assignment_id, delivery_id, scanned_by)
      values (${tenant.id}, ${session.id}, ${place.id}, ${parcel.id}, ${tenant.staff.id})`;
    await open`update warehousing.bins set filled_capacity = filled_capacity + 1 where id = ${place.cage_location_id}`;
  }, () => scan(session, back.barcode));
  expect(answer).toSucceed(200);
  expect(answer.body.put_to.destination_value).toBe("Baghdad");
  expect(await filled(session)).toEqual([0, 1]);
});
