/** Files of addresses: whose book they go into. What every import promises is in tests/shared/import.test.ts. */
import { beforeAll, expect, test } from "vitest";
import { storedAddress } from "../../support/addresses.ts";
import { sql } from "../../support/db.ts";
import { csvText, faultsOf, sendFile } from "../../support/files.ts";
import { nobody } from "../../support/api.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/addresses/import";
const places = [{ full_address: "Karrada, House 14" }, { full_address: "Mansour, Shop 3" }];

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
});

const count = async () =>
  (await sql`select count(*)::int as n from delivery.addresses where tenant_id = ${tenant.id}`)[0]
    .n;

test("the office's file goes into the tenant's book, a merchant's into the merchant's own", async () => {
  const office = await sendFile(tenant.ops, path, places);
  expect(office).toSucceed(201);
  const merchant = await sendFile(tenant.institution, path, places);
  expect(merchant).toSucceed(201);
  expect(merchant.body).toMatchObject({ lines: 2, imported: 2 });
  for (const id of office.body.ids) {
    expect(await storedAddress(id)).toMatchObject({ tenant_id: tenant.id, owner_user_id: null });
    expect(await tenant.institution.get(`/delivery/addresses/${id}`))
      .toFailWith(404, "address_not_found");
  }
  for (const id of merchant.body.ids) {
    expect(await storedAddress(id)).toMatchObject({ owner_user_id: tenant.institution.id });
    expect(await tenant.ops.get(`/delivery/addresses/${id}`)).toSucceed(200);
    expect(await tenant.institution2.get(`/delivery/addresses/${id}`))
      .toFailWith(404, "address_not_found");
  }
});

test("a line with another tenant's zone is named, and no line of the file is kept", async () => {
  const foreign = await newZone(other, square(44.36, 33.31, 0.1));
  const before = await count();
  const answer = await sendFile(tenant.ops, path, [
    places[0]!,
    { full_address: "Somewhere", zone_id: foreign },
  ]);
  expect(answer).toFailWith(400, "import_has_errors");
  expect(faultsOf(answer)).toEqual([[3, "zone_id", "zone_not_found"]]);
  expect(await count()).toBe(before);
});

test("is for the office and for people with a book of their own", async () => {
  const before = await count();
  expect(await sendFile(nobody, path, places)).toFailWith(401, "unauthorized");
  expect(await sendFile(tenant.staff, path, places)).toFailWith(403, "forbidden");
  expect(await count()).toBe(before);
});

test("twice the same file under one key is one import", async () => {
  const before = await count();
  const twice = () =>
    tenant.customer.send("POST", path, csvText(places), {
      headers: { "content-type": "text/csv", "idempotency-key": "addresses-of-july" },
    });
  const [first, second] = [await twice(), await twice()];
  expect(second.body.ids).toEqual(first.body.ids);
  expect(await count()).toBe(before + 2);
});
