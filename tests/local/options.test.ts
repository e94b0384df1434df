/** The command-line options of `npm start`. */
import { expect, test } from "vitest";
import { UsageFailure } from "../../supabase/local/command-line.ts";
import { parseStartOptions } from "../../supabase/local/options.ts";

test("what is not given has its default", () => {
  expect(parseStartOptions([])).toEqual({
    reset: false,
    quiet: false,
    help: false,
    port: 54321,
    dbPort: 54322,
    workers: 1,
  });
});

test("values stand after a space or an equals sign", () => {
  expect(parseStartOptions(["--port", "1234", "--db-port=1235", "--workers=3", "--reset"])).toEqual(
    {
      reset: true,
      quiet: false,
      help: false,
      port: 1234,
      dbPort: 1235,
      workers: 3,
    },
  );
});

test.each([
  [["--prot", "1"], "Unknown option '--prot': npm start -- --help lists the options."],
  [["start"], "Unexpected argument 'start': npm start -- --help lists the options."],
  [["--port"], "Option '--port <value>' argument missing: npm start -- --help lists the options."],
  [
    ["--port", "--reset"],
    "Option '--port' argument is ambiguous: npm start -- --help lists the options.",
  ],
  [
    ["--reset=yes"],
    "Option '--reset' does not take an argument: npm start -- --help lists the options.",
  ],
  [["--port", "x"], '--port needs a number from 1 to 65535, not "x".'],
  [["--port="], '--port needs a number from 1 to 65535, not "".'],
  [["--db-port", "65536"], '--db-port needs a number from 1 to 65535, not "65536".'],
  [["--workers", "0"], '--workers needs a number from 1 to 32, not "0".'],
])("%j is refused with one line", (args, message) => {
  expect(() => parseStartOptions(args)).toThrow(new UsageFailure(message));
});
