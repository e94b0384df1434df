/** The command line of `npm run tenant`. */
import { describe, expect, test } from "vitest";
import { UsageFailure } from "../../supabase/local/command-line.ts";
import { parseTenantOptions } from "../../supabase/tenant/options.ts";
import { whereIs } from "../../supabase/tenant/place.ts";

describe("a command line", () => {
  test("names the command and its folder", () => {
    expect(parseTenantOptions(["export", "--slug", "acme", "--to", "acme"])).toEqual({
      ...{ command: "export", slug: "acme", to: "acme", dryRun: false, whileActive: false },
    });
    expect(parseTenantOptions(["import", "--from", "acme", "--dry-run"])).toEqual({
      ...{ command: "import", from: "acme", dryRun: true },
    });
    expect(parseTenantOptions(["compare", "--with", "acme"])).toEqual({
      ...{ command: "compare", with: "acme" },
    });
    expect(parseTenantOptions(["--help"])).toEqual({ command: "help" });
  });

  test.each([
    [[]],
    [["export"]],
    [["export", "--slug", "acme"]],
    [["export", "--slug", "acme", "--to", "x", "--from", "y"]],
    [["import"]],
    [["import", "--from", "x", "--while-active"]],
    [["import", "everything", "--from", "x"]],
    [["import", "--from", "x", "--force"]],
    [["import", "--from", "x", "--with", "y"]],
    [["compare"]],
    [["compare", "--with", "x", "--dry-run"]],
  ])("is refused: %j", (args) => {
    expect(() => parseTenantOptions(args)).toThrow(UsageFailure);
  });

  test("needs Storage's address and key beside a database's", () => {
    expect(() => whereIs({ DATABASE_URL: "postgres://here" })).toThrow("SUPABASE_SECRET_KEY");
  });
});
