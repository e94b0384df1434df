/** Finds the tests of a changed endpoint. */
import { describe, expect, test } from "vitest";
import { everyOperation } from "../../supabase/local/endpoints.ts";
import { testsOf } from "../tools/tests-of.ts";

const operations = await everyOperation();
const filesOf = (name: string) =>
  testsOf(operations.find((one) => one.name === name)!).map(({ file }) => file);

describe("the tests of an endpoint", () => {
  test("are found for each, in the folder of its function", () => {
    const elsewhere = operations.flatMap((one) => {
      const [first] = testsOf(one);
      return first?.file.startsWith(`tests/${one.slug}/`) ? [] : [`${one.name}: ${first?.file}`];
    });
    expect(elsewhere).toEqual([]);
  });

  test("are found through constants, helpers and words that a helper is given", () => {
    expect(filesOf("POST /delivery/cash-desks/transfers/:id/reverse").slice(0, 3)).toContain(
      "tests/delivery/cash-desks/reverse.test.ts",
    );
    expect(filesOf("POST /delivery/cod-settlements/:settlement_payment_id/reverse").slice(0, 2))
      .toContain(
        "tests/delivery/cod/settlements-reverse.test.ts",
      );
    expect(filesOf("POST /delivery/deliveries/:delivery_id/depart")).toContain(
      "tests/delivery/deliveries/life.test.ts",
    );
    // A step of what a helper made, on a path that is imported under another name.
    expect(filesOf("POST /warehousing/sorting-sessions/:session_id/scan")).toContain(
      "tests/warehousing/sorting-sessions/scan-races.test.ts",
    );
    // Not those that call another method of the same path.
    expect(filesOf("DELETE /delivery/services/:serviceId")).not.toContain(
      "tests/delivery/services/list.test.ts",
    );
  });
});
