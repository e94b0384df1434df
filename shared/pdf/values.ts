/** How documents write amounts and times. */

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

/** `2026-11-21 14:05` in the tenant's time zone: reads the same in all three languages. */
export function moment(instant: string, timeZone: string): string {
  let clock = clocks.get(timeZone);
  if (!clock) {
    clock = new Intl.DateTimeFormat("sv-SE", {
      timeZone,
      dateStyle: "short",
      timeStyle: "short",
    });
    clocks.set(timeZone, clock);
  }
  return clock.format(new Date(instant));
}

/** A text of the company in the language of a document; in another one where it has none in this. */
export function inLanguage(texts: Record<string, string>, language: string): string {
  return texts[language] || texts.en || Object.values(texts).find(Boolean) || "";
}
