/** A proxy before a stack that compares every call of the functions with the API's document. */
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describeAll } from "../../shared/http/openapi.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";
import { Conformance } from "./conformance.ts";

export interface ValidatingProxy {
  url: string;
  /** Calls of the functions so far, and by operation how they differed from the document. */
  calls: number;
  operations: Set<string>;
  differences: Set<string>;
  close(): void;
}

const prefix = "/functions/v1";
/** Headers of one connection, and what `fetch` has undone already. */
const ofConnection =
  /^(connection|keep-alive|transfer-encoding|content-length|content-encoding|host|expect)$/;

/** Starts one on a free port; it passes everything on to the stack at `target`. */
export async function startValidatingProxy(target: string): Promise<ValidatingProxy> {
  const conformance = new Conformance(
    JSON.parse(JSON.stringify(describeAll(await everyFunction()))),
  );
  const proxy: Omit<ValidatingProxy, "url" | "close"> = {
    calls: 0,
    operations: new Set(),
    differences: new Set(),
  };
  const server = createServer(async (request, response) => {
    try {
      const method = request.method!;
      const body = await bytesOf(request);
      const answer = await fetch(target + request.url, {
        method,
        headers: passedOn(Object.entries(request.headers)),
        body: body.length > 0 ? new Uint8Array(body) : undefined,
        redirect: "manual",
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const path = new URL(request.url!, target).pathname;
      if (path.startsWith(`${prefix}/`) && method !== "OPTIONS") {
        proxy.calls++;
        const name = path.slice(prefix.length);
        const difference = conformance.differenceOf({
          method,
          path: name,
          body: body.toString("utf8"),
          status: answer.status,
          contentType: answer.headers.get("content-type"),
          answer: bytes.toString("utf8"),
        });
        const operation = `${method} ${conformance.templateOf(name, method.toLowerCase()) ?? name}`;
        proxy.operations.add(operation);
        if (difference) proxy.differences.add(`${operation}: ${difference}`);
      }
      response.writeHead(answer.status, Object.fromEntries(passedOn([...answer.headers])));
      response.end(bytes);
    } catch (error) {
      response.writeHead(502).end(String(error));
    }
  });
  // Subscriptions are no calls: their bytes go through as they are.
  server.on("upgrade", ({ method, url, rawHeaders }, socket, head) => {
    const { hostname, port } = new URL(target);
    const there = connect(Number(port), hostname, () => {
      const lines = rawHeaders.map((text, n) => n % 2 ? `${text}\r\n` : `${text}: `).join("");
      there.write(`${method} ${url} HTTP/1.1\r\n${lines}\r\n`);
      there.write(head);
      there.pipe(socket).pipe(there);
    });
    there.on("error", () => socket.destroy());
    socket.on("error", () => there.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  });
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const passedOn = (headers: [string, string | string[] | undefined][]): [string, string][] =>
  headers.filter(([name, value]) => value !== undefined && !ofConnection.test(name))
    .map(([name, value]) => [name, [value].flat().join(", ")]);
