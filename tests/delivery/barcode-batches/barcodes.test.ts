import { describe, expect, it } from "vitest";
import {
  buildBarcode,
  checkDigitOf,
  isBarcode,
  maxSerial,
  normaliseBarcode,
  parseBarcode,
} from "../../../shared/schemas/barcode.ts";
import vectors from "../../support/barcode-vectors.json" with { type: "json" };
import { sql } from "../../support/db.ts";

/** The database's result for each value, in one statement. */
async function inDatabase(values: string[]) {
  const [{ rows }] = await sql`
    select jsonb_agg(jsonb_build_object('normalised', delivery.barcode_normalise(v.value),
      'valid', delivery.barcode_is_valid(v.value),
      'valid_once_normalised', delivery.barcode_is_valid(delivery.barcode_normalise(v.value))) order by v.position) as rows
    from jsonb_array_elements_text(${sql.json(values)}::jsonb) with ordinality v (value, position)`;
  return rows;
}

const here = (value: string) => ({
  normalised: normaliseBarcode(value),
  valid: isBarcode(value),
  valid_once_normalised: isBarcode(normaliseBarcode(value)),
});

describe("a barcode, in TypeScript and in SQL alike", () => {
  it.each(vectors.build)("is built from $indicator $serial $issuer", async (vector) => {
    const { indicator, serial, issuer, barcode } = vector;
    expect(buildBarcode(indicator, serial, issuer)).toBe(barcode);
    const [row] =
      await sql`select delivery.barcode_build(${indicator}, ${serial}, ${issuer}) as built`;
    expect(row.built).toBe(barcode);
    if (barcode === null) return;
    expect(parseBarcode(barcode)).toEqual({
      indicator,
      serial,
      checkDigit: Number(barcode[11]),
      issuer,
    });
    expect(await inDatabase([barcode])).toEqual([{
      normalised: barcode,
      valid: true,
      valid_once_normalised: true,
    }]);
  });

  it.each(vectors.normalise)("is read from $input", async ({ input, value }) => {
    expect(normaliseBarcode(input)).toBe(value);
    expect((await inDatabase([input]))[0].normalised).toBe(value);
  });

  it("is refused when a letter, a digit or the length is wrong", async () => {
    expect(vectors.invalid.filter((value) => isBarcode(value))).toEqual([]);
    const rows = await inDatabase(vectors.invalid);
    expect(rows.map((row: { valid: boolean }) => row.valid)).toEqual(
      vectors.invalid.map(() => false),
    );
  });

  it("keeps the check digit of the eight-digit S10 serial when the ninth digit is 0", () => {
    const s10 = [8, 6, 4, 2, 3, 5, 9, 7];
    for (const serial of ["47312482", "47110815", "00000000", "99999999", "12345678"]) {
      const sum = s10.reduce((total, weight, i) => total + weight * Number(serial[i]), 0);
      const rest = 11 - sum % 11;
      expect(checkDigitOf("0" + serial)).toBe(rest === 10 ? 0 : rest === 11 ? 5 : rest);
    }
  });

  it("is validated alike for ten thousand random values", async () => {
    const values = Array.from({ length: 10_000 }, randomValue);
    const expected = values.map(here);
    const share = expected.filter((row) => row.valid_once_normalised).length / values.length;
    expect(share).toBeGreaterThan(0.3);
    expect(share).toBeLessThan(0.9);
    expect(await inDatabase(values)).toEqual(expected);
  });

  it("is built alike for ten thousand random serials", async () => {
    const parts = Array.from({ length: 10_000 }, () => ({
      indicator: letter() + letter(),
      serial: below(maxSerial + 1),
      issuer: letter() + letter(),
    }));
    const [{ built }] = await sql`
      select jsonb_agg(delivery.barcode_build(p.part ->> 'indicator', (p.part ->> 'serial')::bigint, p.part ->> 'issuer')
        order by p.position) as built
      from jsonb_array_elements(${sql.json(parts)}::jsonb) with ordinality p (part, position)`;
    expect(built).toEqual(
      parts.map((part) => buildBarcode(part.indicator, part.serial, part.issuer)),
    );
  });
});

function below(end: number): number {
  return Math.floor(Math.random() * end);
}
function letter(): string {
  return String.fromCharCode(65 + below(26));
}

/** A barcode, often with one fault, often written the way people write. */
function randomValue(): string {
  const right = buildBarcode(letter() + letter(), below(maxSerial + 1), letter() + letter())!;
  const at = below(14);
  const faulty = [
    right,
    right,
    right.slice(0, at) + below(10) + right.slice(at + 1),
    right.slice(0, at) + right.slice(at + 1),
    right.slice(0, at) + "ıßÄ٪#-"[below(6)] + right.slice(at + 1),
  ][below(5)];
  return [
    (value: string) => value,
    (value: string) => value.toLowerCase(),
    (value: string) => ` ${value.slice(0, 2)}\u00a0${value.slice(2)}\u200f`,
    (value: string) => value.replace(/\d/g, (d) => String.fromCharCode(0x660 + Number(d))),
    (value: string) => value.replace(/\d/g, (d) => String.fromCharCode(0x6f0 + Number(d))),
  ][below(5)](faulty);
}
