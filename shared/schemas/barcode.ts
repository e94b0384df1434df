/**
 * Barcodes of transfer manifests: 14 characters, the UPU S10 item identifier widened by one digit.
 *
 *     DM 047312482 9 IQ
 *     |  |         | issuer: ISO 3166-1 letters of the tenant's country
 *     |  |         check digit of the serial
 *     |  serial, nine digits
 *     service indicator: DM unless asked otherwise, of the range S10 leaves to domestic use
 *
 * Source: UPU standard S10 (13 characters: two letters, eight digits, check digit, two letters). Its
 * weights 8 6 4 2 3 5 9 7 are extended on the left by 10; S = sum of digit x weight,
 * C = 11 - S mod 11, where 10 stands as 0 and 11 as 5. Letters do not enter the sum. So a serial that
 * starts with 0 has exactly the check digit of its eight-digit S10 serial, and scanners made for S10
 * need no new rule.
 *
 * `sql/delivery/barcode-batches/barcodes.sql` is the twin of this module;
 * `tests/support/barcode-vectors.json` holds for both.
 */

import { asciiDigits } from "./digits.ts";

/** A barcode as it is stored, and as the API reference shows it. */
export const barcodePattern = /^([A-Z]{2})([0-9]{9})([0-9])([A-Z]{2})$/;
export const defaultIndicator = "DM";
export const defaultIssuer = "IQ";
export const maxSerial = 999_999_999;

const weights = [10, 8, 6, 4, 2, 3, 5, 9, 7];
// Spaces, and the marks that right-to-left text leaves around what is copied from it.
const invisible =
  /[ \t\n\v\f\r\u00a0\u061c\u2000-\u200f\u2028-\u202f\u2060\u2066-\u2069\u3000\ufeff]/g;

export interface Barcode {
  indicator: string;
  serial: number;
  checkDigit: number;
  issuer: string;
}

/**
 * A scanned or typed value as barcodes are stored: no spaces or invisible marks, capital letters,
 * ASCII digits for the Arabic-Indic and extended Arabic-Indic ones. Only a-z are raised: what other
 * letters become differs between languages.
 */
export function normaliseBarcode(value: string): string {
  return asciiDigits(value.replace(invisible, ""))
    .replace(/[a-z]/g, (letter) => letter.toUpperCase());
}

/** The check digit of nine digits. */
export function checkDigitOf(serialDigits: string): number {
  const sum = weights.reduce((total, weight, i) => total + weight * Number(serialDigits[i]), 0);
  const rest = 11 - sum % 11;
  return rest === 10 ? 0 : rest === 11 ? 5 : rest;
}

/** The parts of a barcode as it is stored, or null when the value is none; normalise first. */
export function parseBarcode(value: string): Barcode | null {
  const [, indicator, digits, check, issuer] = barcodePattern.exec(value) ?? [];
  if (digits === undefined || checkDigitOf(digits) !== Number(check)) return null;
  return { indicator, serial: Number(digits), checkDigit: Number(check), issuer };
}

/** True for a value that is a barcode as it is stored; normalise first. */
export function isBarcode(value: string): boolean {
  return parseBarcode(value) !== null;
}

/** The barcode of a serial, or null when the parts make none. */
export function buildBarcode(indicator: string, serial: number, issuer: string): string | null {
  const letters = /^[A-Z]{2}$/;
  if (!letters.test(indicator) || !letters.test(issuer)) return null;
  if (!Number.isInteger(serial) || serial < 0 || serial > maxSerial) return null;
  const digits = String(serial).padStart(9, "0");
  return indicator + digits + checkDigitOf(digits) + issuer;
}
