/** How documents write amounts and times. */

/** Amounts with the decimals of their currency, written alike in all three languages. */
export const moneyOf = ({ decimals }: { decimals: number }) => {
  const format = new Intl.NumberFormat("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: 3,
  });
  return (amount: number) => format.format(amount);
};

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
