/** A proxy that answers for hosts of the internet itself: what is sent to them with TLS arrives at `answer`. */
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { newAuthority, newCertificate } from "../support/certificates.ts";

export interface TlsGate {
  /** Of the proxy. */
  url: string;
  /** The authority that its clients have to trust, as PEM. */
  authority: string;
  close(): Promise<void>;
}

export type Answer = (host: string, request: Request) => Response | Promise<Response>;

/** Nothing leaves this machine: hosts other than these find no server. */
export async function startTlsGate(hosts: string[], answer: Answer): Promise<TlsGate> {
  const authority = await newAuthority();
  const ports = new Map<string, number>();
  const servers: { close(done: () => void): unknown; closeAllConnections?(): void }[] = [];
  for (const host of hosts) {
    const server = createTlsServer(await newCertificate(host, authority), (request, response) => {
      read(host, request).then((asked) => answer(host, asked)).then(async (answered) => {
        response.writeHead(answered.status, Object.fromEntries(answered.headers));
        response.end(Buffer.from(await answered.arrayBuffer()));
      }).catch((error) => response.writeHead(500).end(String(error)));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ports.set(host, (server.address() as AddressInfo).port);
    servers.push(server);
  }
  const proxy = createServer();
  proxy.on("connect", ({ url = "" }, client) => {
    const port = ports.get(url.replace(/:443$/, ""));
    client.on("error", () => client.destroy());
    if (!port) return client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    const server = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      server.pipe(client);
      client.pipe(server);
    });
    server.on("error", () => client.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  servers.push(proxy);
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    authority: authority.cert,
    async close() {
      for (const server of servers) {
        server.closeAllConnections?.();
        await new Promise<void>((resolve) => server.close(() => resolve()));
      }
    },
  };
}

async function read(host: string, request: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  return new Request(`https://${host}${request.url}`, {
    method: request.method,
    headers: Object.fromEntries(headers),
    body: chunks.length ? Buffer.concat(chunks) : undefined,
  });
}
