/** The fate of a request whose kept-alive connection turns out to be dead. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { functionsProxy } from "../../supabase/local/functions-proxy.ts";

let dying: Server;
let sound: Server;
let gateway: Server;
let url: string;
const seen = { dying: 0, sound: 0 };
const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  // Answers once on a connection; the next request on it finds the process gone.
  dying = createServer((request, response) => {
    if (seen.dying++ % 2 === 0) response.end("dying");
    else request.socket.destroy();
  });
  sound = createServer((_, response) => {
    seen.sound++;
    response.end("sound");
  });
  for (const server of [dying, sound]) await listening(server);
  const proxy = functionsProxy(() => [portOf(dying), portOf(sound)]);
  gateway = createServer(proxy.handle);
  await listening(gateway);
  url = `http://127.0.0.1:${portOf(gateway)}/functions/v1/system/health`;
});
afterAll(() => {
  for (const server of [gateway, dying, sound]) {
    server.close();
    server.closeAllConnections();
  }
});

test("a read is answered by the next worker", async () => {
  expect(await (await fetch(url)).text()).toBe("dying");
  const answer = await fetch(url);
  expect([answer.status, await answer.text()]).toEqual([200, "sound"]);
});

test("a write is not sent twice: it may have been done", async () => {
  const before = seen.sound;
  expect(await (await fetch(url)).text()).toBe("dying");
  const answer = await fetch(url, { method: "POST", body: "{}" });
  expect([answer.status, seen.sound]).toEqual([502, before]);
});

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
}
