/** How queries and ids are read, whatever the endpoint. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { newSystemAdmin, newTenant, type Tenant } from "../support/people.ts";

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

test("an empty value is not sent, as forms send them", async () => {
  const { status } = await tenant.admin.get("/delivery/cod-collections", {
    query: { status: "", driver_id: "", sort_by: "", page: "", limit: "", from_date: "" },
  });
  expect(status).toBe(200);
  expect(await tenant.admin.get("/delivery/cod-collections", { query: { status: "lost" } }))
    .toFailWith(400, "validation_failed");
});

test("of a name that comes again the first counts", async () => {
  const limitOf = async (query: string) =>
    (await tenant.admin.get(`/delivery/wallets?${query}`)).body.pagination.limit;
  expect(await limitOf("limit=7&limit=9")).toBe(7);
  expect(await limitOf("limit=&limit=9")).toBe(9);
});

test("an id is the same in capitals, also where it is kept", async () => {
  const made = await tenant.admin.post("/delivery/cod-collections/remit", {
    scope: "selected",
    cod_collection_ids: [
      "abcdef00-0000-4000-8000-00000000000a",
      "ABCDEF00-0000-4000-8000-00000000000A",
    ],
  });
  expect(made.status).toBe(400);
  expect(made.body.field).toMatch(/^cod_collection_ids/);
});

test("a word that is none is answered with those that there are, however long it is and among others", async () => {
  const messageOf = async (list: string, query: Record<string, string>) => {
    const { status, body } = await tenant.admin.get(list, { query });
    expect(status).toBe(400);
    return body.message;
  };
  const words =
    "must be one of draft, pending, assigned, accepted, picked_up, in_transit, delivered, failed, returned, cancelled.";
  for (const status of ["lost", "delivered_to_a_neighbour", "pending,lost", "lost,gone,lost"]) {
    expect(await messageOf("/delivery/deliveries", { status })).toBe(`status ${words}`);
  }
  expect(await messageOf("/delivery/deliveries", { postponed: "yes" }))
    .toBe("postponed must be one of true, false.");
});

test("a caller without access gets 403, whatever the input", async () => {
  for (const language of [undefined, "en"] as const) {
    const headers: Record<string, string> = language ? { "accept-language": language } : {};
    expect(
      await tenant.driver.get("/warehousing/package-transfers", {
        query: { status: "x" },
        headers,
      }),
    ).toFailWith(403, "forbidden");
  }
});

test("numbers are found with the digits of any keyboard, and names as they are written", async () => {
  const made = await (await newSystemAdmin()).post(`/tenants/${tenant.id}/members`, {
    email: `${crypto.randomUUID()}@demo.test`,
    full_name: "شارع ٦٠",
    phone: "٠٧٧٠ ۱۲۳ 4567",
    tenant_user_type: "driver",
  });
  expect(made.body.user.phone).toBe("0770 123 4567");
  // With a space: the addresses of the others may hold any four digits.
  for (const search of ["0770 123 4567", "٠٧٧٠ ١٢٣", "۰۷۷۰ ۱", "شارع ٦٠"]) {
    const { body } = await tenant.admin.get(`/tenants/${tenant.id}/users`, { query: { search } });
    expect([search, body.data.map((user: { id: string }) => user.id)])
      .toEqual([search, [made.body.user.id]]);
  }
});

test("a refusal says what is wrong, also of what only the database cannot keep", async () => {
  const change = (body: unknown) => tenant.admin.put(`/tenants/${tenant.id}`, body);
  const kept = await change({ metadata: { note: "\u0000" } });
  expect(kept).toFailWith(400, "validation_failed");
  expect(kept.body.field).toBe("metadata.note");
  expect(kept.body.message).toMatch(/metadata\.note has a wrong form/);
  const named = await change({ metadata: { "\u0000": 1 } });
  expect(named.body.field).toBe("metadata");
  expect((await change({ metadata: null })).body.message).toBe("metadata must be of type object.");
});

test("what is missing is called required, also where several things would do", async () => {
  const { body } = await tenant.ops.post("/delivery/services", {});
  expect([body.field, body.message]).toEqual(["name", "name is required."]);
  const wrong = await tenant.ops.post("/delivery/services", { name: 7 });
  expect(wrong.body.message).toBe("name has a wrong form.");
  const price = await tenant.ops.in("ar").get("/delivery/price", {
    query: { delivery_service_id: tenant.id },
  });
  expect(price).toFailWith(400, "validation_failed");
  expect(price.body).toMatchObject({ field: "units", message: "الحقل units مطلوب." });
});

test("what a value of another field asks for is called required too", async () => {
  const outcome = `/delivery/deliveries/${randomUUID()}/outcome`;
  for (
    const [result, field] of [["partial", "items"], ["exchanged", "taken_back"], [
      "postponed",
      "postponed_to",
    ]]
  ) {
    const { body } = await tenant.driver.post(outcome, { result });
    expect(body).toMatchObject({ field, message: `${field} is required.` });
  }
});
