import { expect, test } from "vitest";
import { secondsUntil } from "./variants.ts";

test.each(
  [
    ["day", "2026-11-24T12:00:00Z", "2026-11-24T20:58:00Z"],
    ["day", "2026-11-24T20:59:30Z", "2026-11-25T20:58:00Z"],
    ["day", "2026-11-24T22:00:00Z", "2026-11-25T20:58:00Z"],
    ["month", "2026-11-24T12:00:00Z", "2026-11-30T20:58:00Z"],
    ["month", "2026-11-30T20:59:00Z", "2026-12-31T20:58:00Z"],
    ["month", "2026-12-31T21:30:00Z", "2027-01-31T20:58:00Z"],
  ] as const,
)("two minutes before the tenant's midnight, end of a %s, seen from %s, is %s", (kind, now, at) => {
  const seconds = secondsUntil(kind, new Date(now));
  expect(new Date(Date.parse(now) + seconds * 1000).toISOString()).toBe(at.replace("Z", ".000Z"));
});
