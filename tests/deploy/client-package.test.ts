/** The package `barid` is packed, installed into an empty project, compiled there and run. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../supabase/local/paths.ts";
import { runProgram } from "../tools/checks/programs.ts";

let project: string;
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "barid-package-"));
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

async function run(program: string, ...args: string[]): Promise<string> {
  const { code, lines } = await runProgram(program, args, { cwd: project });
  expect(code, lines.join("\n")).toBe(0);
  return lines.join("\n");
}

test("an empty project installs it, compiles against it and runs it", async () => {
  const packed = await runProgram("npm", ["run", "--silent", "client", "--", project], {
    cwd: root,
  });
  expect(packed.code, packed.lines.join("\n")).toBe(0);
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module", private: true }));
  await run("npm", "install", "--no-audit", "--no-fund", packed.lines.at(-1)!);

  writeFileSync(
    join(project, "program.ts"),
    `
import { createBarid, isRefusal, unwrap } from "barid";
import { isBarcode, parseBarcode } from "barid/barcode";
import { type BaridEvent, isEvent, verifyWebhook } from "barid/webhooks";

const barid = createBarid({
  url: "http://barid.test",
  token: "t",
  fetch: async () => Response.json({ success: false, code: "no_pending_collections", message: "Nothing" }, { status: 404 }),
});
const hear = (body: string, headers: Headers): BaridEvent => verifyWebhook(body, headers, "whsec_");
const told = (event: BaridEvent): number | string | null => {
  if (isEvent(event, "delivery.created")) return event.data.delivery_code;
  if (isEvent(event, "delivery.failed", "delivery.returned")) return event.data.reason;
  // @ts-expect-error: nothing is known of the data of other events.
  return event.data.delivery_code;
};
try {
  const { data } = await unwrap(barid.POST("/delivery/cod-collections/remit", { body: { scope: "all" } }));
  const total: number = data.total_remitted;
  console.log(total, hear, told);
} catch (error) {
  console.log(isRefusal(error, "no_pending_collections") && error.code, isBarcode("DM0473124829IQ"), parseBarcode("DM0473124829IQ")?.serial);
}
`,
  );
  await run(
    join(root, "node_modules/.bin/tsc"),
    ...[
      "program.ts",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--strict",
      "--skipLibCheck",
      "--lib",
      "es2023,dom,dom.iterable",
    ],
  );
  expect(await run("node", "program.js")).toBe("no_pending_collections true 47312482");
}, 180_000);
