/** Amounts as clients send them: three decimals at most, whatever their size. */
import { expect, test } from "vitest";
import { Money } from "../../shared/schemas/schemas.ts";

const takes = (value: number) => Money.safeParse(value).success;

test.each([
  0,
  0.001,
  12_345.678,
  67_848_137.644,
  547_147_955.542,
  8_628_346_817.838,
  999_999_999_998.999,
  999_999_999_999,
])("%d is taken", (value) => expect(takes(value)).toBe(true));

test("a sum of amounts is read as what was meant, also where it is a little beside its decimals", () => {
  expect(Money.parse(0.1 + 0.2)).toBe(0.3);
  expect(Money.parse(67_848_137.644 + 0.1 + 0.2)).toBe(67_848_137.944);
});

test.each([0.0001, 1.2345, 67_848_137.6444, -1, 1_000_000_000_000])(
  "%d is refused",
  (value) => expect(takes(value)).toBe(false),
);
