/** Two sorting sessions of one warehouse: a parcel lies in one cage, that of its last scan. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { overlapping } from "../../support/overlapping.ts";
import {
  checkCages,
  filledOf,
  newSorting,
  type Sorting,
  sortingSessions as path,
} from "../../support/sorting-sessions.ts";

let { tenant, newSession, packageTo, scan } = {} as Sorting;
beforeAll(async () => {
  ({ tenant, newSession, packageTo, scan } = await newSorting());
});
afterAll(() => checkCages(tenant));

const filled = (...sessions: Body[]) =>
  Promise.all(
    sessions.map(({ assignments: [{ cage_location_id }] }) => filledOf(cage_location_id)),
  );

test("scanned in another session it leaves the cage of the first, and comes back when it is scanned there", async () => {
  const [one, two] = [await newSession(["city", "Basra"]), await newSession(["city", "Basra"])];
  const { barcode } = await packageTo("Basra");
  const first = await scan(one, barcode);
  expect(first).toSucceed(200);
  const moved = await scan(two, barcode);
  expect(moved).toSucceed(200);
  expect(moved.body).toMatchObject({ already_sorted: false, put_to: { filled_capacity: 1 } });
  expect(await filled(one, two)).toEqual([0, 1]);
  expect((await scan(two, barcode)).body).toEqual({ ...moved.body, already_sorted: true });
  const back = await scan(one, barcode);
  expect(back.body).toMatchObject({ already_sorted: false, scan_id: first.body.scan_id });
  expect(await filled(one, two)).toEqual([1, 0]);
});

test("where the cage of the other session is full it stays where it lies", async () => {
  const [one, two] = [await newSession(["city", "Kut"]), await newSession(["city", "Kut", 1])];
  const [stays, fills] = [await packageTo("Kut"), await packageTo("Kut")];
  expect(await scan(two, fills.barcode)).toSucceed(200);
  expect(await scan(one, stays.barcode)).toSucceed(200);
  expect(await scan(two, stays.barcode)).toFailWith(409, "cage_full");
  expect(await filled(one, two)).toEqual([1, 1]);
});

test("in a session that has ended it counts as it did", async () => {
  const [one, two] = [await newSession(["city", "Najaf"]), await newSession(["city", "Najaf"])];
  const { barcode } = await packageTo("Najaf");
  expect(await scan(one, barcode)).toSucceed(200);
  expect(await tenant.staff.put(`${path}/${one.id}`, { status: "completed" })).toSucceed(200);
  expect(await scan(two, barcode)).toSucceed(200);
  expect(await filled(one, two)).toEqual([1, 1]);
});

test("two sessions that scan each other's parcels at the same moment count each once", async () => {
  const [one, two] = [await newSession(["city", "Erbil"]), await newSession(["city", "Erbil"])];
  const parcels = [await packageTo("Erbil"), await packageTo("Erbil"), await packageTo("Erbil")];
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(
      parcels.flatMap(({ barcode }) => [scan(one, barcode), scan(two, barcode)]),
    );
    for (const answer of answers) expect(answer).toSucceed(200);
    const [here, there] = await filled(one, two);
    expect(here! + there!).toBe(3);
    await checkCages(tenant);
  }
});

test("a scan waits for the cage that its parcel leaves", async () => {
  const [one, two] = [await newSession(["city", "Mosul"]), await newSession(["city", "Mosul"])];
  const parcel = await packageTo("Mosul");
  expect(await scan(one, parcel.barcode)).toSucceed(200);
  // Somebody holds the cage that it leaves, and lets go.
  const [{ cage_location_id }] = one.assignments;
  const moved = await overlapping(
    (open) => open`select from warehousing.bins where id = ${cage_location_id} for no key update`,
    () => scan(two, parcel.barcode),
  );
  expect(moved).toSucceed(200);
  expect(await filled(one, two)).toEqual([0, 1]);
});
