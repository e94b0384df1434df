/** A body is read whole or refused, however its length is told. */
import { connect } from "node:net";
import { expect, test } from "vitest";
import { readBytes } from "../../shared/schemas/input.ts";
import { stack } from "../support/db.ts";
import { newTenant } from "../support/people.ts";

const mebibyte = 1_048_576;

/** JSON of so many bytes that asks for nothing known. */
const bodyOf = (bytes: number) => `{"scope":"${"x".repeat(bytes - 12)}"}`;

/** The answer's head and body, as the socket gave them. */
async function send(headers: string, body: string): Promise<string> {
  const { id, dispatcher } = await newTenant();
  const token = await stack.jwtSign({
    sub: dispatcher.id,
    app_metadata: { tenant_id: id },
  });
  const { hostname, port } = new URL(stack.functionsUrl);
  return await new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = "";
    socket.on("connect", () => {
      socket.write(
        `POST /delivery/cod-collections/remit HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n` +
          `authorization: Bearer ${token}\r\ncontent-type: application/json\r\n${headers}\r\n${body}`,
      );
    });
    socket.on("data", (bytes) => (answer += bytes));
    socket.on("close", () => resolve(answer));
    // The rest of what is too long is not read; the answer came before.
    socket.on("error", (error) => answer === "" ? reject(error) : resolve(answer));
  });
}

const chunked = (body: string) =>
  [...body.match(/.{1,60000}/gs)!, ""].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
    .join("");

const ways: [string, (body: string) => [headers: string, sent: string]][] = [
  ["declared", (body) => [`content-length: ${body.length}\r\n`, body]],
  ["in chunks", (body) => ["transfer-encoding: chunked\r\n", chunked(body)]],
  [
    "in chunks, declared as shorter",
    (body) => ["content-length: 20\r\ntransfer-encoding: chunked\r\n", chunked(body)],
  ],
];

test.each(ways)("%s: read to its end up to the limit, refused beyond", async (_, way) => {
  const [read, refused] = [
    await send(...way(bodyOf(mebibyte))),
    await send(...way(bodyOf(mebibyte + 1))),
  ];
  expect(read).toMatch(/^HTTP\/1\.1 400 /);
  expect(read).toContain('"field":"scope"');
  expect(refused).toMatch(/^HTTP\/1\.1 413 /);
  expect(refused).toContain('"code":"payload_too_large"');
});

test.each<Record<string, string>>([{}, { "content-length": "40" }])(
  "broken off, with the headers %j: no failure of ours",
  async (headers) => {
    const body = new ReadableStream({
      start(stream) {
        stream.enqueue(new TextEncoder().encode('{"scope":'));
        stream.error(new Error("error reading a body from connection"));
      },
    });
    const request = new Request("http://barid.test/", {
      method: "POST",
      headers,
      body,
      ...{ duplex: "half" },
    });
    await expect(readBytes(request, mebibyte)).rejects.toMatchObject({ code: "invalid_json" });
  },
);
