/** Cells of files that may be read in two ways, and what a refusal of a file says. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { type Ground, newGround, order } from "../support/deliveries.ts";
import { csvText, faultsOf, sendFile } from "../support/files.ts";
import { newTenant, saveSettings, type Tenant } from "../support/people.ts";

const path = "/delivery/deliveries/import";
const addresses = "/delivery/addresses/import";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const count = async (table: string) =>
  (await sql`select count(*)::int as n from ${sql(table)} where tenant_id = ${tenant.id}`)[0].n;

/** An order as a line, with its recipient in columns. */
function lineOf(of: Ground, more: Record<string, unknown>): Record<string, unknown> {
  const { recipient: _, ...rest } = order(of, more);
  return rest;
}

describe("an amount", () => {
  test("with three digits after its point is refused, since it may mean thousands", async () => {
    const lines = ["25.000", "25000", "25000.00", "1.000"].map((cod_amount) =>
      lineOf(ground, { cod_amount })
    );
    for (const query of [{ dry_run: true }, {}]) {
      const answer = await sendFile(tenant.ops, path, lines, { query });
      expect(faultsOf(answer)).toEqual([
        [2, "cod_amount", "too_many_decimals"],
        [5, "cod_amount", "too_many_decimals"],
      ]);
      expect(answer.body.errors[0].message).toMatch(/thousands or decimals: write it .* as 25000/);
    }
    const made = await sendFile(tenant.ops, path, lines.slice(1, 3));
    expect(made).toSucceed(201);
    const rows =
      await sql`select cod_amount::float8 as cod from delivery.deliveries where id = any (${made.body.ids})`;
    expect(rows.map(({ cod }) => cod)).toEqual([25_000, 25_000]);
  });

  test("is taken in the digits of every keyboard", async () => {
    const lines = ["٢٥٠٠٠", "۲۵۰۰۰", "٢٥٠٠٠٫٠", "\u200f٢٥٠٠٠", " 25000 "].map((cod_amount) =>
      lineOf(ground, { cod_amount, unit_size: "٢٫٥", promised_at: "٢٠٢٧-٠١-٠٢T١٠:٠٠:٠٠Z" })
    );
    const made = await sendFile(tenant.ops, path, lines);
    expect(made).toSucceed(201);
    const rows = await sql`select cod_amount::float8 as cod, unit_size::float8 as size, promised_at
      from delivery.deliveries where id = any (${made.body.ids}) order by delivery_code`;
    expect(rows.map(({ cod }) => cod)).toEqual([25_000, 25_000, 25_000, 25_000, 25_000]);
    for (const { size, promised_at } of rows) {
      expect(size).toBe(2.5);
      expect(new Date(promised_at)).toEqual(new Date("2027-01-02T10:00:00Z"));
    }
    const place = [{ full_address: "Street 1", latitude: "٣٥٫٥٦", longitude: "۴۵٫۴۳" }];
    const placed = await sendFile(tenant.ops, addresses, place);
    expect(placed).toSucceed(201);
    const [at] = await sql`select latitude, longitude from delivery.addresses where id = ${
      placed.body.ids[0]
    }`;
    expect(at).toEqual({ latitude: 35.56, longitude: 45.43 });
  });

  test("with a separator of thousands, in any digits, is refused in words that say so", async () => {
    const lines = ["25,000", "٢٥٬٠٠٠", "٢٥،٠٠٠", "25 000", "1.000.000", "12,5", "much", "٢٥٫٠٠٠"]
      .map((cod_amount) => lineOf(ground, { cod_amount }));
    const answer = await sendFile(tenant.ops, path, lines, { query: { dry_run: true } });
    expect(faultsOf(answer)).toEqual([
      ...[2, 3, 4, 5, 6, 7, 8].map((line) => [line, "cod_amount", "validation_failed"]),
      [9, "cod_amount", "too_many_decimals"],
    ]);
    const messages = answer.body.errors.map(({ message }: { message: string }) => message);
    for (const message of messages.slice(0, 6)) {
      expect(message).toMatch(/without a separator of thousands .* as 25000/);
    }
    expect(messages[6]).toBe("cod_amount must be of type number.");
  });

  test("of a currency with three decimals is what it says", async () => {
    const own = await newGround(await newTenant());
    await saveSettings(own.tenant.id, "general.currency", { currency_code: "KWD" });
    const made = await sendFile(own.tenant.ops, path, [lineOf(own, { cod_amount: "25.000" })]);
    expect(made).toSucceed(201);
    const [{ cod }] =
      await sql`select cod_amount::float8 as cod from delivery.deliveries where id = ${
        made.body.ids[0]
      }`;
    expect(cod).toBe(25);
  });

  test("is meant, not a weight, a size or a coordinate", async () => {
    const text = csvText([lineOf(ground, { unit_size: "2.500" })]);
    expect(await sendFile(tenant.ops, path, text)).toSucceed(201);
    const place = [{ full_address: "Street 1", latitude: "33.310", longitude: "44.360" }];
    expect(await sendFile(tenant.ops, addresses, place)).toSucceed(201);
  });
});

test.each(["dry_run=", "dry_run", "dry_run=&dry_run=true", "dry_run=1"])(
  "a file is not imported by ?%s",
  async (query) => {
    const before = await count("delivery.addresses");
    const answer = await sendFile(tenant.ops, `${addresses}?${query}`, [{ full_address: "Here" }]);
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe("dry_run");
    expect(await count("delivery.addresses")).toBe(before);
  },
);

describe("a heading", () => {
  test.each([
    ["ends in a delimiter, as each line does", "full_address;city;\nStreet 1;Erbil;\n"],
    ["ends in more of them than its lines", "full_address;city;;;\nStreet 1;Erbil\n"],
    ["has fewer than its lines", "full_address;city\nStreet 1;Erbil;;\n"],
  ])("that %s is read", async (_, file) => {
    const made = await sendFile(tenant.ops, addresses, file);
    expect(made).toSucceed(201);
    const [row] = await sql`select full_address, city from delivery.addresses where id = ${
      made.body.ids[0]
    }`;
    expect(row).toEqual({ full_address: "Street 1", city: "Erbil" });
  });

  test("without a name in its midst is refused by the place of that column", async () => {
    const answer = await sendFile(tenant.ops, addresses, "full_address;;city\nStreet 1;;Erbil\n");
    expect(answer).toFailWith(400, "unknown_column");
    expect(answer.body.message).toBe("Column 2 of the heading has no name.");
  });

  test("leaves no cell of a line out that says something", async () => {
    const answer = await sendFile(tenant.ops, addresses, "full_address;city;\nStreet 1;Erbil;x\n");
    expect(faultsOf(answer)).toEqual([[2, null, "wrong_cell_count"]]);
  });
});

test("a barcode that is taken is named, and so is the zone that is not there", async () => {
  const barcode = "BOX-7001";
  const lines = [lineOf(ground, { barcode }), lineOf(ground, { barcode })];
  expect(faultsOf(await sendFile(tenant.ops, path, lines)))
    .toEqual([[3, "barcode", "delivery_barcode_taken"]]);
  const nowhere = [{ full_address: "Here", zone_id: ground.service }];
  expect(faultsOf(await sendFile(tenant.ops, addresses, nowhere)))
    .toEqual([[2, "zone_id", "zone_not_found"]]);
});

test("what a cell should be is said in the words of each language", async () => {
  const lines = [lineOf(ground, { cod_amount: "much", promised_at: 7 })];
  for (const language of ["ar", "ku"] as const) {
    const answer = await sendFile(tenant.ops.in(language), path, lines);
    expect(answer.body.errors[0].message.replace("cod_amount", "")).not.toMatch(/[a-z]/i);
  }
});
