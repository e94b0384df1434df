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
    expect(parseTenantOptions(["delete", "--slug", "acme"])).toEqual({
      ...{ command: "delete", slug: "acme", withOpenItems: false },
    });
    const id = "018f3a5e-0000-4000-8000-000000000001";
    const all = "--confirm acme --keep acme --with-open-items --by Dana".split(" ");
    expect(parseTenantOptions(["delete", "--id", id, ...all])).toEqual({
      ...{ command: "delete", id, confirm: "acme", keep: "acme", withOpenItems: true, by: "Dana" },
    });
    const known = "--slug acme --phone +9647700000001 --email a@example.test".split(" ");
    expect(parseTenantOptions(["erase", ...known, "--keep-books-until", "2036-12-31"])).toEqual({
      ...{ command: "erase", slug: "acme", phone: "+9647700000001", email: "a@example.test" },
      keepBooksUntil: "2036-12-31",
    });
    expect(parseTenantOptions(["person", "--slug", "acme", "--person", id, "--export", "a.json"]))
      .toEqual({ command: "person", slug: "acme", person: id, export: "a.json" });
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
    [["delete"]],
    [["delete", "--confirm", "acme"]],
    [["delete", "--slug", "acme", "--id", "018f3a5e-0000-4000-8000-000000000001"]],
    [["delete", "--id", "acme"]],
    [["delete", "--slug", "acme", "--dry-run"]],
    [["export", "--slug", "acme", "--to", "x", "--confirm", "acme"]],
    [["erase", "--slug", "acme"]],
    [["erase", "--phone", "+9647700000001"]],
    [["erase", "--slug", "acme", "--person", "a", "--phone", "+9647700000001"]],
    [["erase", "--slug", "acme", "--person", "a", "--keep-books-until", "later"]],
    [["person", "--slug", "acme", "--person", "a"]],
    [["person", "--slug", "acme", "--person", "a", "--export", "a.json", "--confirm", "a"]],
  ])("is refused: %j", (args) => {
    expect(() => parseTenantOptions(args)).toThrow(UsageFailure);
  });

  test("needs Storage's address and key beside a database's", () => {
    expect(() => whereIs({ DATABASE_URL: "postgres://here" })).toThrow("SUPABASE_SECRET_KEY");
  });
});
