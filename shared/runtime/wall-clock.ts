/** Clocks of time zones. */

/**
 * A clock that reads the same in all three languages: `2026-11-21 14:05`. In UTC where the runtime does not know the zone, as new ones
 * reach the database first.
 */
export function clockOf(
  timeZone: string,
  form: Pick<Intl.DateTimeFormatOptions, "dateStyle" | "timeStyle">,
): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("sv-SE", { ...form, timeZone });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return new Intl.DateTimeFormat("sv-SE", { ...form, timeZone: "UTC" });
  }
}
