/** How documents write amounts and times. */
import { inLanguage } from "../i18n/index.ts";

// One that is made for each row costs more than all else of a long document.
const amounts = new Map<number, Intl.NumberFormat>();

/** Amounts with the decimals of their currency, written alike in all three languages. */
export function moneyOf({ decimals }: { decimals: number }): (amount: number) => string {
  let format = amounts.get(decimals);
  if (!format) {
    format = new Intl.NumberFormat("en-US", {
      minimumFractionDigits: decimals,
      maximumFractionDigits: 3,
    });
    amounts.set(decimals, format);
  }
  return format.format;
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/**
 * `2026-11-21 14:05` in the tenant's time zone: reads the same in all three languages. In UTC where the runtime does not know the
 * zone, as new ones reach the database first.
 */
export function moment(instant: string, timeZone: string): string {
  let clock = clocks.get(timeZone);
  if (!clock) {
    clock = clockOf(timeZone);
    clocks.set(timeZone, clock);
  }
  return clock.format(new Date(instant));
}

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const form = { dateStyle: "short", timeStyle: "short" } as const;
  try {
    return new Intl.DateTimeFormat("sv-SE", { ...form, timeZone });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return new Intl.DateTimeFormat("sv-SE", { ...form, timeZone: "UTC" });
  }
}

/** The name of the company on its documents: its brand, where it has one. */
export function brandOf(
  { brand, tenant_name }: {
    brand: { brand_name?: Record<string, string> };
    tenant_name: Record<string, string>;
  },
  language: string,
): string {
  return inLanguage(brand.brand_name ?? {}, language) || inLanguage(tenant_name, language);
}
