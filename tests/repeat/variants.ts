/** The circumstances under which the suite has to come out the same. */

export interface Variant {
  /** Test files at a time; as many as there are cores unless said. */
  workers?: number;
  /** Every core is kept busy by somebody else. */
  load?: true;
  /** The tenant's midnight comes while the suite runs: of any day, or of a month's last. */
  midnight?: "day" | "month";
}

/** By name, in the order they are run. The order of files is drawn anew in each run. */
export const variants: Readonly<Record<string, Variant>> = {
  usual: {},
  "one worker": { workers: 1 },
  "two workers": { workers: 2 },
  "four workers": { workers: 4 },
  busy: { load: true },
  "end of a day": { midnight: "day" },
  "end of a month": { midnight: "month" },
};

/** Minutes before midnight at which the run begins: starting takes some, and most of the suite comes after. */
const before = 2;
/** Of tenants that tests make: Baghdad, which has no summer time. */
const hoursOfZone = 3;

/** Seconds to put the clock forward so that it is shortly before the tenant's next midnight of that kind. */
export function secondsUntil(midnight: "day" | "month", now: Date): number {
  const local = new Date(now.getTime() + hoursOfZone * 3_600_000);
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  const at = midnight === "day" ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1);
  const wait = Math.round((at - local.getTime()) / 1000) - before * 60;
  if (wait >= 0) return wait;
  return midnight === "day"
    ? wait + 86_400
    : secondsUntil(midnight, new Date(now.getTime() + 600_000)) + 600;
}
