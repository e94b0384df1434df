import type { Change } from "./pgoutput.ts";

/** A client's subscription by `.on("postgres_changes", …)`. */
export interface Binding {
  id: number;
  event: string;
  schema: string;
  table?: string;
  /** `column=operator.value`. */
  filter?: string;
}

/** True when the change is one the binding asks for. */
export function matches(binding: Binding, change: Change): boolean {
  return (binding.event === "*" || binding.event === change.type) &&
    (binding.schema === "*" || binding.schema === change.schema) &&
    (!binding.table || binding.table === "*" || binding.table === change.table) &&
    (!binding.filter || passes(binding.filter, change.row));
}

function passes(filter: string, row: Change["row"]): boolean {
  const [, column, operator, wanted] = /^([^=]+)=(eq|neq|lt|lte|gt|gte|in)\.(.*)$/s.exec(filter) ??
    [];
  if (!column || !operator || wanted === undefined) return false;
  const value = row[column];
  if (value === null || value === undefined) return false;
  const order = compare(value, wanted);
  switch (operator) {
    case "eq":
      return value === wanted;
    case "neq":
      return value !== wanted;
    case "lt":
      return order < 0;
    case "lte":
      return order <= 0;
    case "gt":
      return order > 0;
    case "gte":
      return order >= 0;
    default:
      return wanted.replace(/^\(|\)$/g, "").split(",").includes(value);
  }
}

/** As numbers when both are, else as text. */
function compare(a: string, b: string): number {
  const [x, y] = [Number(a), Number(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  return a < b ? -1 : a > b ? 1 : 0;
}
