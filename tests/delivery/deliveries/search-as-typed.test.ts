/**
 * Search finds text however it is typed: Arabic and Kurdish keyboards, phone numbers with and without country code;
 * also by zone and promised time.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { seed } from "../../prove/proof.ts";
import { sql } from "../../support/db.ts";
import { type Ground, newDelivery, newGround, path } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
let abroad: { id: string; delivery_code: number };
let local: { id: string };

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  abroad = await newDelivery(ground, {
    recipient: { name: "محل ٤٢", phone: "+9647701234567" },
  }) as typeof abroad;
  local = await newDelivery(ground, {
    recipient: { name: "Shop 42", phone: "٠٧٧٠١٢٣٤٥٦٨" },
  }) as typeof local;
});

async function found(search: string): Promise<string[]> {
  const answer = await tenant.dispatcher.get(path, { query: { search } });
  expect(answer).toSucceed(200);
  return answer.body.data.map(({ id }: { id: string }) => id);
}

test("a telephone number is kept in the digits that telephones dial", async () => {
  const [row] = await sql`select recipient from delivery.deliveries where id = ${local.id}`;
  expect(row.recipient.phone).toBe("07701234568");
});

test.each([
  "07701234567",
  "0770 123 4567",
  "٠٧٧٠١٢٣٤٥٦٧",
  "۰۷۷۰۱۲۳۴۵۶۷",
  "+9647701234567",
  "009647701234567",
])("%s is the number +9647701234567", async (search) => {
  expect(await found(search)).toEqual([abroad.id]);
});

test("the number with the country's code finds the one without", async () => {
  expect(await found("+964 770 123 4568")).toEqual([local.id]);
});

describe.each([
  "+964 750 123 9002",
  "0750-123-9002",
  "(0750) 1239002",
  "00964 750 123 90 02",
  "\u202a+964\u00a0750\u00a0123\u00a09002\u202c",
])("the number that is kept as %s", (phone) => {
  let kept: { id: string };
  let company: Tenant;
  beforeAll(async () => {
    company = await newTenant();
    kept = await newDelivery(await newGround(company), { recipient: { name: "ئازاد", phone } });
    await newDelivery(await newGround(company), { recipient: { phone: "0750 123 9003" } });
  });

  test.each([
    "07501239002",
    "+9647501239002",
    "009647501239002",
    "0750 123 9002",
    "0750-123-9002",
    "٠٧٥٠ ١٢٣ ٩٠٠٢",
    "1239002",
    "\u2066+964 750 123 9002\u2069",
  ])("is found by %s", async (search) => {
    const answer = await company.dispatcher.get(path, { query: { search } });
    expect(answer.body.data.map(({ id }: { id: string }) => id)).toEqual([kept.id]);
  });

  test("is answered as it was written, without the marks around it, and is found as it was kept before", async () => {
    const { body } = await company.dispatcher.get(`${path}/${kept.id}`);
    expect(body.delivery.recipient.phone).toBe(phone.replace(/[\u202a\u202c]/g, ""));
    const before = sql.json({ phone: "\u202a٠٧٥٠ ١٢٣ ٩٠٠٢\u202c" });
    await sql`update delivery.deliveries set recipient = ${before} where id = ${kept.id}`;
    const answer = await company.dispatcher.get(path, { query: { search: "+9647501239002" } });
    expect(answer.body.data.map(({ id }: { id: string }) => id)).toEqual([kept.id]);
  });
});

test("a number that only ends alike is another", async () => {
  expect(await found("+9647711234567")).toEqual([]);
  expect(await found("234567")).toEqual([abroad.id]);
  const { barcode } = await newDelivery(ground, { barcode: "ZK7701234567" }) as typeof abroad & {
    barcode: string;
  };
  expect(barcode).toBe("ZK7701234567");
  expect(await found("zk7701234567")).toHaveLength(1);
  expect(await found("zk7711234567")).toEqual([]);
});

test("people are found by their number with and without the country's code; goods have no telephone", async () => {
  for (const phone of ["07709876543", "(0770) 987-6543", "+964 770 987 6543"]) {
    await sql`update tenancy.profiles set phone = ${phone} where id = ${tenant.institution.id}`;
    for (const search of ["+964 770 987 6543", "07709876543"]) {
      const people = await tenant.ops.get("/delivery/institutions", { query: { search } });
      expect(people.body.data.map(({ id }: { id: string }) => id)).toEqual([tenant.institution.id]);
    }
  }
  for (const barcode of ["0012345678901", "0092345678901"]) {
    const made = await tenant.ops.post("/warehousing/inventory-items", {
      name: barcode,
      sku: barcode,
      barcode,
    });
    expect(made).toSucceed(201);
  }
  const goods = await tenant.ops.get("/warehousing/inventory-items", {
    query: { search: "0012345678901" },
  });
  expect(goods.body.data.map(({ sku }: { sku: string }) => sku)).toEqual([
    "0012345678901",
  ]);
});

test("what the index is asked for is in whatever matches", async () => {
  const text = fc.string({
    unit: fc.constantFrom(..."0123456789 a%_\\-٤یيکةأ"),
    minLength: 1,
    maxLength: 16,
  });
  await fc.assert(
    fc.asyncProperty(text, text, text, async (before, search, after) => {
      const [row] = await sql`select v.whole ilike any (app.contact_patterns(${search})) as matches,
          v.whole ilike any (app.index_patterns(app.contact_patterns(${search}))) as asked
        from (select app.folded(${before + search + after}) as whole) v`;
      expect(row).toEqual({ matches: true, asked: true });
    }),
    { numRuns: 300, seed },
  );
});

test("delivery codes are found in any digits, texts as they are written", async () => {
  const code = String(abroad.delivery_code).padStart(10, "0");
  const arabic = code.replace(/\d/g, (digit) => "٠١٢٣٤٥٦٧٨٩"[Number(digit)]);
  expect(await found(code)).toEqual([abroad.id]);
  expect(await found(arabic)).toEqual([abroad.id]);
  expect(await found("محل ٤٢")).toEqual([abroad.id]);
  expect(await found("٤٢")).toEqual(expect.arrayContaining([abroad.id, local.id]));
});

test.each([
  ["علي کریم", ["علی کریم", "على كريم", "عـلي", "عَلِي", "كريم"]],
  ["مكتبة الرافدين", ["مکتبه", "مكتبه الرافدین", "مکتبة"]],
  ["أحمد إبراهيم", ["احمد ابراهيم", "احمد ابراهیم", "آحمد"]],
  ["هێمن ڕەسوڵ", ["هيمن رسول".replace("رسول", "رەسول"), "هیمن ره‌سول", "ڕەسوڵ"]],
])("%s is found from every keyboard", async (name, typed) => {
  const { id } = await newDelivery(ground, { recipient: { name, phone: "0750" } });
  for (const search of typed) expect(await found(search), search).toContain(id);
  expect(await found("كمال")).not.toContain(id);
});

test("the office finds what a customer or an institution ordered by their names, others do not", async () => {
  const company = await newTenant();
  const theirs = await newGround(company);
  await sql`update tenancy.profiles set full_name = 'صيدلية النور' where id = ${company.institution.id}`;
  await sql`update tenancy.profiles set full_name = 'Sara Hamid' where id = ${company.customer.id}`;
  const { id } = await newDelivery(theirs, { recipient: { name: "Omar", phone: "0750" } });
  const of = async (search: string, by = company.ops) =>
    (await by.get(path, { query: { search } })).body.data.map((row: { id: string }) => row.id);
  const [row] = await sql`select customer_id from delivery.deliveries where id = ${id}`;
  const byName = row.customer_id === company.customer.id ? "sara ha" : "صیدلیه النور";
  expect(await of(byName)).toEqual([id]);
  expect(await of(byName, tenant.ops)).toEqual([]);
  expect(await of(byName, company.customer)).toEqual([]);
});

test("addresses are found by their titles and telephones", async () => {
  const { body } = await tenant.ops.post("/delivery/addresses", {
    title: { en: "Head office", ar: "المكتب الرئيسي" },
    full_address: "شارع ٦٢",
    contact_info: { name: "هێمن", phone: "07705550001" },
  });
  for (const search of ["head off", "الرئیسی", "هيمن", "+964 770 555 0001", "شارع 62"]) {
    const listed = await tenant.ops.get("/delivery/addresses", { query: { search } });
    expect(listed.body.data.map(({ id }: { id: string }) => id), search).toEqual([body.data.id]);
  }
});

test("a dispatcher finds what waits for a zone, and what was promised for a day", async () => {
  const drawn = await tenant.ops.post("/delivery/zones", {
    name: "An island",
    polygon: { type: "Polygon", coordinates: [[[10, 10], [11, 10], [11, 11], [10, 11], [10, 10]]] },
  });
  expect(drawn).toSucceed(201);
  const zone = drawn.body.data.id;
  const { body } = await tenant.ops.post("/delivery/addresses", {
    full_address: "شارع ٦٢",
    latitude: 10.5,
    longitude: 10.5,
  });
  const there = await newDelivery(ground, {
    dropoff_address_id: body.data.id,
    promised_at: "2027-02-03T10:00:00Z",
  });
  const listed = async (query: Record<string, string | object>) =>
    (await tenant.dispatcher.get(path, { query })).body.data.map((each: { id: string }) => each.id);
  expect(await listed({ dropoff_zone_id: zone, status: "pending" })).toEqual([there.id]);
  expect(await listed({ column_filters: { dropoff_zone_id: zone } })).toEqual([there.id]);
  expect(await listed({ pickup_zone_id: zone })).toEqual([]);
  const day = (from: string, to: string) => ({ column_filters: { promised_at: { from, to } } });
  expect(await listed(day("2027-02-03", "2027-02-03"))).toEqual([there.id]);
  expect(await listed(day("2027-02-04", "2027-02-05"))).toEqual([]);
});

test("numbers and days of a query come in the digits of any keyboard", async () => {
  const arabic = (text: string | number) =>
    String(text).replace(/\d/g, (digit) => "٠١٢٣٤٥٦٧٨٩"[Number(digit)]);
  const of = async (query: Record<string, string | object>) =>
    (await tenant.dispatcher.get(path, { query })).body.data.map((each: { id: string }) => each.id);
  expect(await of({ column_filters: { delivery_code: arabic(abroad.delivery_code) } })).toEqual([
    abroad.id,
  ]);
  const day = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  expect(await of({ date_from: arabic(day) })).toEqual([]);
  expect(await of({ limit: arabic(1) })).toHaveLength(1);
  const cash = await tenant.admin.get("/delivery/cod-collections", {
    query: { delivery_code: arabic(174), from_date: "٢٠٢٦-١١-٢٩" },
  });
  expect(cash).toSucceed(200);
  const wrong = await tenant.admin.get("/delivery/cod-collections", {
    query: { from_date: "٢٠٢٦-١٣-٢٩" },
  });
  expect(wrong).toFailWith(400, "validation_failed");
});

test("other lists, too: people by telephone", async () => {
  const [{ phone }] = await sql`select phone from tenancy.profiles where id = ${tenant.driver.id}`;
  for (const typed of [phone, `0${phone.slice(4)}`]) {
    const { body } = await tenant.admin.get(`/tenants/${tenant.id}/users`, {
      query: { search: typed },
    });
    expect(body.data.map(({ id }: { id: string }) => id)).toContain(tenant.driver.id);
  }
});
