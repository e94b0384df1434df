/** Calls that are sent at the same moment, and their answers. */

/** Starts `call` so many times at once. */
export const times = <T>(count: number, call: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => call(index)));

/** How many answers had which status and code. */
export function tally(
  answers: Iterable<{ status: number; body?: { code?: string } | null }>,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = body?.code ? `${status} ${body.code}` : String(status);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
