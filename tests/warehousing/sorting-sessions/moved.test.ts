/** Parcels that are scanned again after their destination changed, or into another cage: they move, and cages count what lies in them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { expectReplayed } from "../../support/promises.ts";
import { redirect } from "../../support/redirects.ts";
import {
  checkCages,
  filledOf,
  newSorting,
  type Sorting,
  sortingSessions as path,
} from "../../support/sorting-sessions.ts";
import { inTenant } from "../../support/warehouses.ts";

let { tenant, yard, newSession, packageTo, scan } = {} as Sorting;
beforeAll(async () => {
  ({ tenant, yard, newSession, packageTo, scan } = await newSorting());
});

afterAll(() => checkCages(tenant));

const redirectTo = async (parcel: Body, city: string) =>
  expect(await redirect(tenant.ops, parcel.id, await newAddress(tenant, { city }))).toSucceed(200);
const filled = (session: Body) =>
  Promise.all(session.assignments.map((one: Body) => filledOf(one.cage_location_id)));
const scansOf = (session: { id: string }) =>
  sql`select id, assignment_id, scanned_by from warehousing.sorting_scans where session_id = ${session.id}`;

/** A parcel that lies in the cage of Basra, and was sent to Erbil since: [session, parcel, answer of its scan]. */
async function redirected(
  ...cages: [type: string, value: string, capacity?: number][]
): Promise<[Body, Body, Body]> {
  const session = await newSession(["city", "Basra"], ...cages);
  const parcel = await packageTo("Basra");
  const first = await scan(session, parcel.barcode);
  expect(first).toSucceed(200);
  await redirectTo(parcel, "Erbil");
  return [session, parcel, first.body];
}

describe("a parcel whose destination changed", () => {
  test("is put to the cage of its new one, and stays there", async () => {
    const [session, parcel, first] = await redirected(["city", "Erbil"]);
    const erbil = session.assignments[1];
    const moved = await tenant.ops.post(`${path}/${session.id}/scan`, {
      delivery_barcode: parcel.barcode,
    });
    expect(moved).toSucceed(200);
    expect(moved.body).toMatchObject({
      scan_id: first.scan_id,
      already_sorted: false,
      put_to: { assignment_id: erbil.id, destination_value: "Erbil", filled_capacity: 1 },
      assignment: { id: erbil.id },
      delivery: { id: parcel.id },
    });
    expect(Date.parse(moved.body.scanned_at)).toBeGreaterThan(Date.parse(first.scanned_at));
    expect(await filled(session)).toEqual([0, 1]);
    expect(await scansOf(session)).toMatchObject([
      { assignment_id: erbil.id, scanned_by: tenant.ops.id },
    ]);
    const again = await scan(session, parcel.barcode);
    expect(again.body).toEqual({ ...moved.body, already_sorted: true });
    await redirectTo(parcel, "Basra");
    const back = await scan(session, parcel.barcode, {
      assignment_id: session.assignments[0].id,
    });
    expect(back.body).toMatchObject({ already_sorted: false, put_to: { filled_capacity: 1 } });
    expect(await filled(session)).toEqual([1, 0]);
  });

  test("is moved once under a key", async () => {
    const [session, parcel] = await redirected(["city", "Erbil"]);
    const body = { delivery_barcode: parcel.barcode };
    await expectReplayed(tenant.staff, `${path}/${session.id}/scan`, body, {
      ...body,
      assignment_id: session.assignments[1].id,
    });
    expect(await filled(session)).toEqual([0, 1]);
  });

  test("goes into the first of its cages with room, and where none has room it stays counted where it lies", async () => {
    const [session, parcel] = await redirected(["city", "Erbil", 1], ["city", "Erbil", 1]);
    const fill = async () =>
      expect(await scan(session, (await packageTo("Erbil")).barcode)).toSucceed(200);
    await fill();
    const moved = await scan(session, parcel.barcode);
    expect(moved.body.put_to.assignment_id).toBe(session.assignments[2].id);
    const late = await packageTo("Basra");
    expect(await scan(session, late.barcode)).toSucceed(200);
    await redirectTo(late, "Erbil");
    const full = await scan(session, late.barcode);
    expect(full).toFailWith(409, "cage_full");
    expect(full.body.assignment_id).toBe(session.assignments[1].id);
    expect(await filled(session)).toEqual([1, 1, 1]);
  });

  test("is refused as if it were new, and counted where it lies until it leaves", async () => {
    const [session, parcel] = await redirected();
    const basra = session.assignments[0].id;
    const refused = async (status: number, code: string, more: object = {}) =>
      expect(await scan(session, parcel.barcode, more), code).toFailWith(status, code);
    await refused(404, "no_matching_destination");
    await refused(404, "no_matching_destination", { assignment_id: basra });
    expect(await filled(session)).toEqual([1]);
    const at = (warehouse: string | null) =>
      sql`update delivery.deliveries set current_warehouse_id = ${warehouse} where id = ${parcel.id}`;
    await at(yard.there);
    await refused(409, "package_elsewhere");
    await at(null);
    await refused(409, "package_not_here");
    await at(yard.warehouse);
    await sql`update delivery.deliveries set status = 'cancelled' where id = ${parcel.id}`;
    await refused(409, "package_not_sortable");
    expect(await scansOf(session)).toMatchObject([{ assignment_id: basra }]);
    expect(await filled(session)).toEqual([0]);
  });

  test("moves in no session that has ended", async () => {
    const [session, parcel] = await redirected(["city", "Erbil"]);
    expect(await tenant.staff.put(`${path}/${session.id}`, { status: "completed" })).toSucceed(200);
    expect(await scan(session, parcel.barcode)).toFailWith(409, "sorting_session_not_active");
    const [{ id }] = await scansOf(session);
    const move = (of: { id: string }) =>
      inTenant(of, "select warehousing.sorting_scan_move($1, $2)", [
        id,
        session.assignments[1].id,
      ]);
    await expect(move(tenant)).rejects.toThrow("sorting_session_not_active");
    await expect(move((await newSorting()).tenant)).rejects.toThrow("sorting_session_not_active");
    expect(await filled(session)).toEqual([1, 0]);
  });
});

describe("a parcel that stays where it is right", () => {
  test("is answered so", async () => {
    const session = await newSession(["city", "Basra"], ["city", "Erbil"]);
    const parcel = await packageTo("Basra");
    const [basra, erbil] = session.assignments.map(({ id }: Body) => id);
    const first = await scan(session, parcel.barcode);
    for (const more of [{}, { assignment_id: basra }]) {
      const again = await scan(session, parcel.barcode, more);
      expect(again.body).toEqual({ ...first.body, already_sorted: true });
    }
    expect(await scan(session, parcel.barcode, { assignment_id: erbil }))
      .toFailWith(404, "no_matching_destination");
    expect(await filled(session)).toEqual([1, 0]);
  });

  test("moves to another cage that matches when that is chosen, if there is room", async () => {
    const session = await newSession(["city", "Basra"], ["city", "Basra", 1]);
    const [first, second] = session.assignments.map(({ id }: Body) => id);
    const [one, two] = [await packageTo("Basra"), await packageTo("Basra")];
    for (const { barcode } of [one, two]) expect(await scan(session, barcode)).toSucceed(200);
    const moved = await scan(session, one.barcode, { assignment_id: second });
    expect(moved.body).toMatchObject({ already_sorted: false, put_to: { assignment_id: second } });
    expect(await scan(session, two.barcode, { assignment_id: second })).toFailWith(
      409,
      "cage_full",
    );
    const again = await scan(session, two.barcode);
    expect(again.body).toMatchObject({ already_sorted: true, put_to: { assignment_id: first } });
    expect(await filled(session)).toEqual([1, 1]);
  });
});

describe("at the same moment", () => {
  test("a parcel that twelve scan again moves once", async () => {
    const [session, parcel] = await redirected(["city", "Erbil"]);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => scan(session, parcel.barcode)),
    );
    for (const answer of answers) {
      expect(answer).toSucceed(200);
      expect(answer.body.put_to.assignment_id).toBe(session.assignments[1].id);
    }
    expect(answers.filter(({ body }) => !body.already_sorted)).toHaveLength(1);
    expect(await filled(session)).toEqual([0, 1]);
  });

  test("parcels that go both ways between cages, and one that several put elsewhere, are counted where they lie", async () => {
    const session = await newSession(["city", "Basra", 20], ["city", "Basra", 20]);
    const ids: string[] = session.assignments.map(({ id }: Body) => id);
    const parcels: Body[] = [];
    for (let i = 0; i < 4; i++) parcels.push(await packageTo("Basra"));
    for (let round = 0; round < 4; round++) {
      const answers = await Promise.all(
        parcels.flatMap(({ barcode }) => [
          scan(session, barcode, { assignment_id: ids[0] }),
          scan(session, barcode, { assignment_id: ids[1] }),
          scan(session, barcode),
        ]),
      );
      for (const answer of answers) expect(answer).toSucceed(200);
      const scans = await scansOf(session);
      expect(await filled(session)).toEqual(
        ids.map((id) => scans.filter((one) => one.assignment_id === id).length),
      );
      expect(scans).toHaveLength(4);
    }
  });

  test("of five that are sent to a cage of three, three move", async () => {
    const session = await newSession(["city", "Basra"], ["city", "Erbil", 3]);
    const parcels: Body[] = [];
    for (let i = 0; i < 5; i++) {
      const parcel = await packageTo("Basra");
      expect(await scan(session, parcel.barcode)).toSucceed(200);
      await redirectTo(parcel, "Erbil");
      parcels.push(parcel);
    }
    const answers = await Promise.all(parcels.map(({ barcode }) => scan(session, barcode)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 409, 409]);
    expect(await filled(session)).toEqual([2, 3]);
  });
});
