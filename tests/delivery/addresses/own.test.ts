/** Addresses that belong to people: theirs and the staff's alone. */
import { beforeAll, describe, expect, test } from "vitest";
import { addAddress, storedAddress } from "../../support/addresses.ts";
import { newAddress, newProcessingPoint } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/addresses";

let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
});

describe("people's own addresses", () => {
  test("are theirs and the staff's, and nobody else's", async () => {
    for (const part of ["customer", "institution", "driver"] as const) {
      const person = tenant[part];
      const id = await addAddress(person, { full_address: part });
      expect((await storedAddress(id)).owner_user_id).toBe(person.id);
      const list = await person.get(path);
      expect(list.body.data.map((row: { full_address: string }) => row.full_address)).toEqual([
        part,
      ]);
      expect(await person.get(`${path}/${id}`)).toSucceed(200);
      expect(await person.patch(`${path}/${id}`, { city: "Basra" })).toSucceed(200);
      expect(await tenant.staff.get(`${path}/${id}`)).toSucceed(200);
      expect(await tenant.ops.patch(`${path}/${id}`, { country: "IQ" })).toSucceed(200);
      for (const stranger of [tenant.driver2, tenant.institution2, other.customer]) {
        expect(await stranger.get(`${path}/${id}`)).toFailWith(404, "address_not_found");
        expect(await stranger.patch(`${path}/${id}`, { city: "X" })).toFailWith(
          404,
          "address_not_found",
        );
      }
      expect(await storedAddress(id)).toMatchObject({ city: "Basra", owner_user_id: person.id });
    }
  });

  test("never reach those of the tenant", async () => {
    const id = await newAddress(tenant);
    await newProcessingPoint(tenant, id);
    const before = await storedAddress(id);
    for (const person of [tenant.customer, tenant.institution, tenant.driver]) {
      expect(await person.get(`${path}/${id}`)).toFailWith(404, "address_not_found");
      expect(await person.patch(`${path}/${id}`, { city: "X" })).toFailWith(
        404,
        "address_not_found",
      );
    }
    expect(await storedAddress(id)).toEqual(before);
  });
});
