/** Fields that forms leave empty: languages without text, no picture, one end of a range. */
import { beforeAll, expect, test } from "vitest";
import { newTenant, type Tenant } from "../../support/people.ts";
import { addService, newType, storedService } from "../../support/services.ts";

const path = "/delivery/services";

let tenant: Tenant;
let type: string;

beforeAll(async () => {
  tenant = await newTenant();
  type = await newType(tenant);
});

test("a language that is null goes, as one that is left out", async () => {
  const name = { en: "Same day", ar: "اليوم نفسه" };
  const id = await addService(tenant, type, { name, description: { en: "Before nine", ku: null } });
  const put = (body: object) => tenant.ops.put(`${path}/${id}`, body);
  expect(await storedService(id)).toMatchObject({ name, description: { en: "Before nine" } });
  const changed = { name: { en: "Today", ar: null, ku: "" }, description: { en: null, ar: "٩" } };
  expect(await put(changed)).toSucceed(200);
  expect((await tenant.ops.get(`${path}/${id}`)).body.service).toMatchObject({
    name_translations: { en: "Today" },
    description_translations: { ar: "٩" },
  });
  expect((await storedService(id)).name).toEqual({ en: "Today" });
  expect(await put({ name: { en: null, ar: "" } })).toFailWith(400, "validation_failed");
  const home = await tenant.ops.post("/delivery/addresses", { full_address: "Street" });
  const title = { en: "Home", ar: null };
  const moved = await tenant.ops.patch(`/delivery/addresses/${home.body.data.id}`, { title });
  expect(moved.body.data.title).toEqual({ en: "Home" });
});

test("an empty picture is none, and takes away the one that was there", async () => {
  const image_url = "https://example.com/a.png";
  const id = await addService(tenant, type, { image_url: "" });
  expect((await storedService(id)).image_url).toBeNull();
  await tenant.ops.put(`${path}/${id}`, { image_url });
  expect((await storedService(id)).image_url).toBe(image_url);
  expect(await tenant.ops.put(`${path}/${id}`, { image_url: "" })).toSucceed(200);
  expect((await storedService(id)).image_url).toBeNull();
  const vehicles = "/delivery/vehicles";
  const van = { name: "Van", unit_capacity: 9, image_url };
  const { data } = (await tenant.ops.post(vehicles, van)).body;
  const changed = await tenant.ops.patch(`${vehicles}/${data.id}`, { image_url: "" });
  expect(changed.body.data.image_url).toBeNull();
});

test("an empty end of a range is open", async () => {
  const own = await newTenant();
  const its = await newType(own);
  for (const default_price of [100, 200, 300]) await addService(own, its, { default_price });
  const prices = async (column_filters: object) => {
    const query = { column_filters, sort_by: "default_price", sort_order: "asc" };
    const answer = await own.ops.get(path, { query });
    expect(answer).toSucceed(200);
    return answer.body.deliveryServices.map((row: { default_price: number }) => row.default_price);
  };
  expect(await prices({ default_price: { min: "", max: 200 } })).toEqual([100, 200]);
  expect(await prices({ default_price: { min: "200", max: "" } })).toEqual([200, 300]);
  expect(await prices({ default_price: { min: "", max: "" } })).toEqual([100, 200, 300]);
  expect(await prices({ created_at: { from: "", to: "2024-01-01" } })).toEqual([]);
  expect(await prices({ created_at: { from: "2024-01-01", to: "" } })).toEqual([100, 200, 300]);
});
