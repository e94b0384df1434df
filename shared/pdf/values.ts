/** How documents write amounts and times. */
import { inLanguage } from "../i18n/index.ts";
import { clockOf } from "../runtime/wall-clock.ts";

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

/** `2026-11-21 14:05` in the tenant's time zone. */
export function moment(instant: string, timeZone: string): string {
  let clock = clocks.get(timeZone);
  if (!clock) {
    clock = clockOf(timeZone, { dateStyle: "short", timeStyle: "short" });
    clocks.set(timeZone, clock);
  }
  return clock.format(new Date(instant));
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
