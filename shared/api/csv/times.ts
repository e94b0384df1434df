/** Times of files on the clock of the company, in the form that every spreadsheet takes for a date. */
import type { Database } from "../../db/db.ts";
import { clockOf } from "../../runtime/wall-clock.ts";

/** An instant as it stands in a file. What is none stays. */
export type FileClock = (value: unknown) => unknown;

/**
 * The clock of the caller's company, for `times=local`; none otherwise, and then instants stay as PostgreSQL wrote them. Where
 * clocks go back, two instants an hour apart are written alike: a clock on the wall says no more either.
 */
export async function fileClock(
  db: Database,
  times: FileTimes,
): Promise<FileClock | undefined> {
  if (times !== "local") return undefined;
  const { zone } = await db.read<{ zone: string }>(
    "select json_build_object('zone', app.timezone()), 0",
    {},
  );
  const clock = clockOf(zone, { dateStyle: "short", timeStyle: "medium" });
  return (value) => {
    const instant = typeof value === "string" ? new Date(value) : undefined;
    if (!instant || Number.isNaN(instant.getTime())) return value;
    // The zeros of years before 1000.
    return clock.format(instant).padStart("2026-11-30 15:00:00".length, "0");
  };
}

/** The word of `times` in a query. */
export type FileTimes = "utc" | "local" | undefined;
