import { expect, test } from "vitest";
import { easyPost } from "./easypost.ts";
import { serveHandlers } from "./serve.ts";

test("serving handlers leaves the process's own Request and Response as they are", async () => {
  const before = [globalThis.Request, globalThis.Response];
  const served = await serveHandlers(easyPost().handlers);
  expect((await fetch(`${served.url}/v2/shipments/none`)).status).toBe(404);
  expect([globalThis.Request, globalThis.Response]).toEqual(before);
  served.close();
});
