/**
 * Where two values differ in shape: a field that only one has, or another type. What is null or an empty list says nothing of its
 * shape, since which row comes first may be another one each time.
 */
export function differencesOf(one: unknown, other: unknown, at = ""): string[] {
  if (isEmpty(one) || isEmpty(other)) return [];
  const [left, right] = [kindOf(one), kindOf(other)];
  if (left !== right) return [`${at}: ${left}, ${right}`];
  if (Array.isArray(one)) return differencesOf(one[0], (other as unknown[])[0], `${at}[]`);
  if (left !== "object") return [];
  const [fields, others] = [one, other] as Record<string, unknown>[];
  return [...new Set([...Object.keys(fields!), ...Object.keys(others!)])].flatMap((name) => {
    const path = at ? `${at}.${name}` : name;
    if (!Object.hasOwn(fields!, name)) return [`${path}: absent, there`];
    if (!Object.hasOwn(others!, name)) return [`${path}: there, absent`];
    return differencesOf(fields![name], others![name], path);
  });
}

const isEmpty = (value: unknown) =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0);

const kindOf = (value: unknown) => Array.isArray(value) ? "list" : typeof value;
