/** The guarantees of every file import, shown with addresses. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { fingerprintOf } from "../support/everything.ts";
import { faultsOf, sendFile } from "../support/files.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import { newZone, square } from "../support/zones.ts";

const list = "/delivery/addresses";
const path = `${list}/import`;

let tenant: Tenant;
let other: Tenant;
let zone: string;
let foreignZone: string;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  zone = await newZone(tenant, square(44.36, 33.31, 0.1));
  foreignZone = await newZone(other, square(44.36, 33.31, 0.1));
});

const count = async (of: Tenant) =>
  (await sql`select count(*)::int as n from delivery.addresses where tenant_id = ${of.id}`)[0].n;
const row = async (id: string) => (await sql`select * from delivery.addresses where id = ${id}`)[0];

const wanted = {
  "title.en": "Office",
  "title.ar": "المكتب",
  "title.ku": "نووسینگە",
  full_address: "Karrada Inside, House 14",
  city: "بغداد",
  country: "IQ",
  latitude: 33.31,
  longitude: 44.36,
  "contact_info.phone": "'+9647701112233",
};

describe("a file without faults", () => {
  test("becomes addresses in its order, with all their parts", async () => {
    const rows = [wanted, { full_address: "هەولێر، شەقامی ٦٠ مەتری" }, { full_address: "عمارة ٣" }];
    const answer = await sendFile(tenant.ops, path, rows);
    expect(answer).toSucceed(201);
    expect(answer.body).toMatchObject({
      dry_run: false,
      lines: 3,
      valid: 3,
      imported: 3,
      error_count: 0,
      errors: [],
    });
    const [first, second] = await Promise.all(answer.body.ids.map(row));
    expect(first).toMatchObject({
      tenant_id: tenant.id,
      owner_user_id: null,
      title: { en: "Office", ar: "المكتب", ku: "نووسینگە" },
      full_address: wanted.full_address,
      city: "بغداد",
      latitude: 33.31,
      zone_id: zone,
      contact_info: { phone: "+9647701112233" },
    });
    expect(second).toMatchObject({
      full_address: "هەولێر، شەقامی ٦٠ مەتری",
      city: null,
      title: {},
      contact_info: {},
    });
  });

  test.each([
    ["semicolons, LF and a byte order mark", '\ufefffull_address;city\n"a;b";Erbil\n'],
    ["tabs and CRLF", 'full_address\tcity\r\n"a;b"\tErbil\r\n'],
    ["commas, blank lines and lines of empty cells", 'full_address,city\n\n"a;b",Erbil\n,\n'],
  ])("may have %s", async (_, text) => {
    const answer = await sendFile(tenant.ops, path, text, {
      headers: { "content-type": "Text/CSV; charset=utf-8" },
    });
    expect(answer).toSucceed(201);
    expect(await row(answer.body.ids[0])).toMatchObject({ full_address: "a;b", city: "Erbil" });
  });

  test("may be our own export: what comes out is what went in, formulas and all", async () => {
    const from = await newTenant();
    const texts = [
      "=1+1",
      "'=1+1",
      "+964",
      "@x",
      '"quoted", and\nbroken',
      "'plain",
      "Ali;=1+1;",
      "a | '-2",
      "b\n@c",
    ];
    for (const full_address of texts) {
      const made = await from.ops.post(list, {
        full_address,
        title: { ku: "ماڵ" },
        contact_info: { phone: "+964770", note: full_address },
        latitude: 0.0000001,
        longitude: 44,
      });
      expect(made).toSucceed(201);
    }
    const file = await from.ops.get(list, { query: { format: "csv" } });
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(file.body);
    expect(text).toContain("'=1+1");
    const to = await newTenant();
    expect(await sendFile(to.ops, path, text)).toSucceed(201);
    const rows = (of: Tenant) =>
      sql`select title, full_address, city, country, latitude, longitude, contact_info
        from delivery.addresses where tenant_id = ${of.id} order by full_address`;
    expect([...await rows(to)]).toEqual([...await rows(from)]);
    expect(await count(to)).toBe(texts.length);
  });

  test("may be the export of addresses that have nothing but their text", async () => {
    const tenant = await newTenant();
    await tenant.ops.post("/delivery/addresses", { full_address: "شارع ٦٢" });
    const exported = await tenant.ops.get("/delivery/addresses", { query: { format: "csv" } });
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(exported.body as Uint8Array);
    expect(text).toContain("{}");
    expect(await sendFile(tenant.ops, "/delivery/addresses/import", text)).toSucceed(201);
    const { body } = await tenant.ops.get("/delivery/addresses");
    expect(body.data).toMatchObject([
      { full_address: "شارع ٦٢", title: {}, contact_info: {} },
      { full_address: "شارع ٦٢", title: {}, contact_info: {} },
    ]);
  });

  test("is imported once for a key, and the key stands for this file", async () => {
    const options = { headers: { "idempotency-key": randomUUID() } };
    const before = await count(tenant);
    const first = await sendFile(tenant.ops, path, [wanted], options);
    const again = await sendFile(tenant.ops, path, [wanted], options);
    expect(first).toSucceed(201);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await count(tenant)).toBe(before + 1);
    const changed = await sendFile(tenant.ops, path, [{ ...wanted, city: "x" }], options);
    expect(changed).toFailWith(409, "idempotency_conflict");
  });

  test("of a person with their own address book is added to it", async () => {
    const answer = await sendFile(tenant.customer, path, [{ full_address: "Home" }]);
    expect(answer).toSucceed(201);
    expect((await row(answer.body.ids[0])).owner_user_id).toBe(tenant.customer.id);
  });
});

/** The fifth line is right and takes two lines of the file, so that those after it stand one further down. */
const faulty = [
  "full_address,city,latitude,longitude,zone_id",
  "Fine,Erbil,,,",
  ",Erbil,,,",
  "North,Erbil,north,44,",
  "Half,Erbil,33,,",
  '"Two\nlines",Erbil,33,44,',
  "Foreign,Erbil,,,{zone}",
  "Short,Erbil",
  "No id,Erbil,,,centre",
].join("\n");

describe("a file with faults", () => {
  const faults = [
    [3, "full_address", "validation_failed"],
    [4, "latitude", "validation_failed"],
    [5, "longitude", "validation_failed"],
    [8, "zone_id", "zone_not_found"],
    [9, null, "wrong_cell_count"],
    [10, "zone_id", "invalid_uuid"],
  ];

  test("writes nothing and says what is wrong with which line", async () => {
    const before = await fingerprintOf(tenant.id);
    for (const id of [foreignZone, randomUUID()]) {
      const answer = await sendFile(tenant.ops, path, faulty.replace("{zone}", id));
      expect(answer).toFailWith(400, "import_has_errors");
      expect(answer.body.error_count).toBe(6);
      expect(faultsOf(answer)).toEqual(faults);
    }
    expect(await fingerprintOf(tenant.id)).toEqual(before);
    // With a key too: the refusal is not remembered, so the mended file goes through with the same key.
    const options = { headers: { "idempotency-key": randomUUID() } };
    const refused = await sendFile(tenant.ops, path, faulty.replace("{zone}", zone), options);
    expect(refused.body.error_count).toBe(5);
    expect(await sendFile(tenant.ops, path, [wanted], options)).toSucceed(201);
  });

  test("is reported the same by a dry run, which writes nothing", async () => {
    const before = await fingerprintOf(tenant.id);
    const query = { dry_run: true };
    const answer = await sendFile(tenant.ops, path, faulty.replace("{zone}", foreignZone), {
      query,
    });
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({ lines: 8, valid: 2, imported: 0, ids: [], error_count: 6 });
    expect(faultsOf(answer)).toEqual(faults);
    const good = await sendFile(tenant.ops, path, [wanted, wanted], { query });
    expect(good.body).toMatchObject({ dry_run: true, lines: 2, valid: 2, imported: 0, ids: [] });
    expect(await fingerprintOf(tenant.id)).toEqual(before);
  });

  test("is checked under the key that then imports it, as often as it is mended", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const check = async (rows: Record<string, string>[]) =>
      (await sendFile(tenant.ops, path, rows, { query: { dry_run: true }, headers })).body.valid;
    expect(await check([{ city: "Basra", full_address: "" }])).toBe(0);
    const mended = [{ city: "Basra", full_address: `Street ${randomUUID()}` }];
    expect(await check(mended)).toBe(1);
    const before = await count(tenant);
    expect(await sendFile(tenant.ops, path, mended, { headers })).toSucceed(201);
    expect(await sendFile(tenant.ops, path, mended, { headers })).toSucceed(201);
    expect(await count(tenant)).toBe(before + 1);
  });

  test("speaks the reader's language, and the tenant's to who asks for none", async () => {
    const file = [{ full_address: "x", zone_id: foreignZone }];
    const texts = {
      en: (await sendFile(tenant.ops.in("en"), path, file)).body.errors[0].message,
      ar: (await sendFile(tenant.ops.in("ar"), path, file)).body.errors[0].message,
      ku: (await sendFile(tenant.ops.in("ku"), path, file)).body.errors[0].message,
    };
    expect(texts.ar).toBe("هذه المنطقة غير موجودة.");
    expect(texts.ku).toBe("ئەم ناوچەیە بوونی نییە.");
    const kurdish = await newTenant({ settings: { "general.language": { default: "ku" } } });
    expect((await sendFile(kurdish.ops, path, file)).body.errors[0].message).toBe(texts.ku);
  });

  test("lists the first hundred and counts them all, whether the function or the database found them", async () => {
    const rows = Array.from({ length: 300 }, (_, i) => ({
      full_address: i % 3 === 1 ? "" : "x",
      city: "x",
      zone_id: i % 3 === 2 ? foreignZone : "",
    }));
    const answer = await sendFile(tenant.ops, path, rows);
    expect(answer.body.error_count).toBe(200);
    expect(faultsOf(answer).map(([line]) => line)).toEqual(
      rows.flatMap((_, i) => (i % 3 ? [i + 2] : [])).slice(0, 100),
    );
  });
});
