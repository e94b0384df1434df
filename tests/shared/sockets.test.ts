/** A pool gets one socket until the server has answered, then as many in a second as it has connections. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { socketsFor } from "../../shared/db/sockets.ts";

const server = createServer((socket) => socket.on("error", () => {}));
let target: { host: string[]; port: number[] };
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  target = { host: ["127.0.0.1"], port: [(server.address() as AddressInfo).port] };
});
afterAll(() => server.close());

test("a pool that nobody answered yet gets one socket, however long it waits", () => {
  let now = 0;
  const socket = socketsFor(8, () => false, () => now);
  socket(target).destroy();
  now = 60_000;
  expect(() => socket(target)).toThrow("closes connections");
});

test("a pool that works opens each of its connections once a second at most", () => {
  let now = 0;
  let reached = false;
  const socket = socketsFor(3, () => reached, () => now);
  socket(target).destroy();
  reached = true;
  for (let n = 0; n < 2; n++) socket(target).destroy();
  expect(() => socket(target)).toThrow("closes connections");
  now = 1_001;
  for (let n = 0; n < 3; n++) socket(target).destroy();
  expect(() => socket(target)).toThrow("closes connections");
});

test("a socket connects to where the driver says, and knows the name that a certificate is for", async () => {
  const socket = socketsFor(1, () => false)({ ...target, host: ["localhost"] });
  await new Promise((resolve) => socket.once("connect", resolve));
  expect(socket).toMatchObject({ host: "localhost", remotePort: target.port[0] });
  socket.destroy();
});
