/** The one address of the local stack: what is not exposed says so, to browsers as well. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../supabase/local/paths.ts";
import { stack } from "../support/db.ts";

test.each(["/rest/v1/deliveries", "/graphql/v1"])("%s is closed, with CORS", async (path) => {
  const asked = await fetch(stack.url + path, { headers: { origin: "https://app.example" } });
  expect(asked.status).toBe(404);
  expect(asked.headers.get("access-control-allow-origin")).toBe("*");
  expect(await asked.json()).toEqual({ code: "not_exposed", message: expect.any(String) });
  const preflight = await fetch(stack.url + path, {
    method: "OPTIONS",
    headers: { origin: "https://app.example", "access-control-request-method": "GET" },
  });
  expect(preflight.status).toBe(204);
});

test("what nobody serves stays unknown", async () => {
  expect((await fetch(`${stack.url}/rest/v2`)).status).toBe(404);
  expect(await (await fetch(`${stack.url}/rest/v2`)).json()).not.toHaveProperty("code");
});

test("the status ends quietly when its reader does", () => {
  const command = join(root, "supabase/local/commands/status.ts");
  const piped = spawnSync("sh", [
    "-c",
    `"${process.execPath}" --import tsx "${command}" 2>&1 | true`,
  ], {
    cwd: root,
    encoding: "utf8",
  });
  expect(piped.status).toBe(0);
  expect(piped.stdout).not.toContain("EPIPE");
});
