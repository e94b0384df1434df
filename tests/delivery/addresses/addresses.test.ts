import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { addAddress, addressBody, storedAddress } from "../../support/addresses.ts";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectPaged,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/addresses";

let tenant: Tenant;
let other: Tenant;
let zone: string;
let zoneName: string;
let foreignZone: string;
let foreignAddress: string;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  zone = await newZone(tenant, square(44.36, 33.31, 0.1));
  [{ name: zoneName }] = await sql`select name from delivery.zones where id = ${zone}`;
  foreignZone = await newZone(other, square(44.36, 33.31, 0.1));
  foreignAddress = await newAddress(other);
});

const inside = { latitude: 33.31, longitude: 44.36 };
const outside = { latitude: 36.19, longitude: 44.01 };

describe("adding an address", () => {
  test("answers it with the zone of its coordinates", async () => {
    const answer = await tenant.dispatcher.post(path, addressBody());
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      data: {
        id: expect.any(String),
        ...addressBody(),
        zone_id: zone,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    });
    expect(await storedAddress(answer.body.data.id)).toMatchObject({
      tenant_id: tenant.id,
      owner_user_id: null,
    });
  });

  test("needs no more than full_address", async () => {
    const answer = await tenant.ops.post(path, { full_address: "Somewhere" });
    expect(answer.body.data).toMatchObject({
      title: {},
      city: null,
      country: null,
      latitude: null,
      longitude: null,
      contact_info: {},
      zone_id: null,
    });
    const nothing = { city: null, country: null, latitude: null, longitude: null, zone_id: null };
    expect(await tenant.ops.post(path, { full_address: "X", ...nothing })).toSucceed(201);
    expect((await storedAddress(await addAddress(tenant.ops, outside))).zone_id).toBeNull();
  });

  test("a named zone wins over the coordinates; only a zone of the tenant can be named", async () => {
    expect(
      (await storedAddress(await addAddress(tenant.ops, { ...outside, zone_id: zone }))).zone_id,
    ).toBe(zone);
    for (const zone_id of [randomUUID(), foreignZone]) {
      expect(await tenant.ops.post(path, addressBody({ zone_id }))).toFailWith(
        404,
        "zone_not_found",
      );
    }
  });

  test("wrong input is refused with the field's name", async () => {
    const [before] =
      await sql`select count(*)::int as n from delivery.addresses where tenant_id = ${tenant.id}`;
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "full_address"],
      [addressBody({ full_address: " " }), "full_address"],
      [addressBody({ full_address: "x".repeat(2001) }), "full_address"],
      [addressBody({ full_address: 7 }), "full_address"],
      [addressBody({ title: "Office" }), "title"],
      [addressBody({ title: {} }), "title"],
      [addressBody({ title: { en: 7 } }), "title.en"],
      [addressBody({ city: 7 }), "city"],
      [addressBody({ country: "x".repeat(501) }), "country"],
      [addressBody({ latitude: 90.1 }), "latitude"],
      [addressBody({ longitude: -180.1 }), "longitude"],
      [addressBody({ latitude: "33" }), "latitude"],
      [addressBody({ longitude: undefined }), "longitude"],
      [addressBody({ latitude: null }), "latitude"],
      [addressBody({ contact_info: "phone" }), "contact_info"],
      [addressBody({ zone_id: "centre" }), "zone_id", "invalid_uuid"],
    ]);
    expect((await tenant.ops.post(path, addressBody({ city: "\u0000" }))).status).toBe(400);
    const [after] =
      await sql`select count(*)::int as n from delivery.addresses where tenant_id = ${tenant.id}`;
    expect(after).toEqual(before);
  });

  test("staff who only look add none, nor does anybody without a token; transfer manifests may be off", async () => {
    await expectGuarded({ method: "POST", path, body: addressBody() }, { denied: [tenant.staff] });
    const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
    expect(await off.ops.post(path, addressBody())).toSucceed(201);
    await expectReplayed(tenant.ops, path, addressBody(), addressBody({ city: "Erbil" }));
  });

  test("refusals speak the reader's language", async () => {
    const body = addressBody({ zone_id: foreignZone });
    expect((await tenant.ops.in("ar").post(path, body)).body.message).toBe(
      "هذه المنطقة غير موجودة.",
    );
    expect((await tenant.ops.in("ku").post(path, body)).body.message).toBe(
      "ئەم ناوچەیە بوونی نییە.",
    );
  });
});

describe("changing an address", () => {
  test("takes what is sent; null empties, and gives the city back to the zone", async () => {
    const id = await addAddress(tenant.ops);
    const answer = await tenant.ops.patch(`${path}/${id}`, {
      full_address: "New street 1",
      city: null,
      contact_info: { phone: "1234" },
    });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      title: addressBody().title,
      full_address: "New street 1",
      city: zoneName,
      country: "IQ",
      ...inside,
      contact_info: { phone: "1234" },
      zone_id: zone,
    });
    const unplaced = await tenant.ops.patch(`${path}/${id}`, { latitude: null, longitude: null });
    expect(unplaced.body.data).toMatchObject({
      latitude: null,
      longitude: null,
      zone_id: null,
      city: null,
    });
  });

  test("a city of the zone follows to another zone, one that somebody wrote stays", async () => {
    const id = await addAddress(tenant.ops, { city: null });
    const cityAfter = async (change: Record<string, unknown>) =>
      (await tenant.ops.patch(`${path}/${id}`, change)).body.data.city;
    expect(await cityAfter({ full_address: "Elsewhere" })).toBe(zoneName);
    expect(await cityAfter(outside)).toBeNull();
    expect(await cityAfter({ zone_id: zone })).toBe(zoneName);
    expect(await cityAfter({ city: "Erbil" })).toBe("Erbil");
    expect(await cityAfter(outside)).toBe("Erbil");
    expect(await cityAfter({ ...inside, city: null })).toBe(zoneName);
  });

  test("finds the zone again when the place moves, and keeps a named zone until then", async () => {
    const id = await addAddress(tenant.ops);
    const zoneAfter = async (change: Record<string, unknown>) =>
      (await tenant.ops.patch(`${path}/${id}`, change)).body.data.zone_id;
    expect(await zoneAfter(outside)).toBeNull();
    expect(await zoneAfter({ zone_id: zone })).toBe(zone);
    expect(await zoneAfter({ city: "Erbil", ...outside })).toBe(zone);
    expect(await zoneAfter({ latitude: 36.2, longitude: 44.02 })).toBeNull();
    expect(await zoneAfter({ zone_id: zone })).toBe(zone);
    expect(await zoneAfter({ zone_id: null })).toBeNull();
    expect(await zoneAfter(inside)).toBe(zone);
  });

  test("wrong input and other tenants' ids change nothing", async () => {
    const id = await addAddress(tenant.ops);
    const before = await storedAddress(id);
    const call = { method: "PATCH", path: `${path}/${id}`, body: { city: "X" } } as const;
    await expectRefused(tenant.ops, call, [
      [{ full_address: "" }, "full_address"],
      [{ full_address: null }, "full_address"],
      [{ latitude: 1 }, "longitude"],
      [{ longitude: 1 }, "latitude"],
      [{ latitude: 1, longitude: null }, "longitude"],
      [{ latitude: 91, longitude: 1 }, "latitude"],
      [{ zone_id: "x" }, "zone_id", "invalid_uuid"],
    ]);
    const lost = await tenant.ops.patch(call.path, { city: "X", zone_id: foreignZone });
    expect(lost).toFailWith(404, "zone_not_found");
    expect(await other.ops.patch(call.path, { city: "X" })).toFailWith(404, "address_not_found");
    await expectGuarded(call, { denied: [tenant.staff] });
    await expectNoSuch(
      tenant.ops,
      { ...call, path: `${path}/{id}` },
      "address_id",
      "address_not_found",
      foreignAddress,
    );
    await tenant.ops.patch(call.path, { owner_user_id: tenant.customer.id, tenant_id: other.id });
    expect(await storedAddress(id)).toMatchObject({ owner_user_id: null, tenant_id: tenant.id });
    expect({ ...await storedAddress(id), updated_at: 0 }).toEqual({ ...before, updated_at: 0 });
  });
});

describe("reading addresses", () => {
  test("one is shown to staff of its tenant", async () => {
    const id = await addAddress(tenant.ops);
    const answer = await tenant.staff.get(`${path}/${id}`);
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({ id, ...addressBody(), zone_id: zone });
    await expectGuarded({ method: "GET", path: `${path}/${id}` }, { denied: [] });
    await expectNoSuch(
      tenant.ops,
      { method: "GET", path: `${path}/{id}` },
      "address_id",
      "address_not_found",
      foreignAddress,
    );
  });

  test("the list pages, searches, and narrows by zone and city", async () => {
    const listed = await newTenant();
    const near = await newZone(listed, square(44.36, 33.31, 0.1));
    await newAddress(listed);
    await newAddress(listed, { city: "Erbil", ...outside });
    await newAddress(listed, { city: "Basra 100%", latitude: 30.5, longitude: 47.8 });
    const cities = async (query: Record<string, string>) =>
      (await listed.staff.get(path, { query })).body.data.map((row: { city: string }) => row.city);
    expect(await cities({})).toEqual(["Basra 100%", "Erbil", "Baghdad"]);
    expect(await cities({ zone_id: near })).toEqual(["Baghdad"]);
    expect(await cities({ city: "Erbil" })).toEqual(["Erbil"]);
    expect(await cities({ city: "erb" })).toEqual([]);
    expect(await cities({ search: "ERB" })).toEqual(["Erbil"]);
    expect(await cities({ search: "0%" })).toEqual(["Basra 100%"]);
    expect(await cities({ search: "street" })).toHaveLength(3);
    expect(await cities({ search: "_" })).toEqual([]);
    const wrong = await listed.staff.get(path, { query: { zone_id: "x" } });
    expect(wrong).toFailWith(400, "invalid_uuid");
    await sql`update delivery.addresses set city = 'Basra' where tenant_id = ${listed.id} and city like 'Basra%'`;
    await expectPaged(listed.staff, path, "city");
    await expectGuarded({ method: "GET", path }, { denied: [] });
  });
});
