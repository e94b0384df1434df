/** The operations of random cash histories. Drivers are numbers, taken modulo the number of drivers. */
import fc from "fast-check";

export type Operation =
  | { kind: "complete"; driver: number; rule: number; cod: number }
  | {
    kind: "settle" | "remit";
    driver: number;
    byOffice: boolean;
    scope: "all" | "selected";
    take: number;
    twins: number;
  }
  | { kind: "adjust"; driver: number; amount: number; credit: boolean }
  | { kind: "reverse"; pick: number; twins: number }
  | { kind: "replay"; pick: number }
  | { kind: "cut" };

const driverIndex = fc.nat(1_000);
const settling = (kind: "settle" | "remit") =>
  fc.record({
    kind: fc.constant(kind),
    driver: driverIndex,
    byOffice: fc.boolean(),
    scope: fc.constantFrom("all" as const, "selected" as const, "selected" as const),
    take: fc.integer({ min: 1, max: 6 }),
    twins: fc.constantFrom(1, 1, 1, 2, 5),
  });
export const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("complete" as const),
      driver: driverIndex,
      rule: fc.nat(2),
      cod: fc.integer({ min: 1, max: 90 }).map((n) => n * 250),
    }),
  },
  { weight: 3, arbitrary: settling("remit") },
  { weight: 3, arbitrary: settling("settle") },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("adjust" as const),
      driver: driverIndex,
      amount: fc.integer({ min: 1, max: 40_000 }),
      credit: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("reverse" as const),
      pick: fc.nat(10_000),
      twins: fc.constantFrom(1, 1, 3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("replay" as const), pick: fc.nat(10_000) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "cut" as const }) },
);
