/** A DNS-over-HTTPS resolver that knows what tests tell it: the functions are started with its address. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Zone = Record<string, string[] | "broken">;
const numbers: Record<string, number> = { A: 1, CNAME: 5, TXT: 16 };

export async function startResolver(): Promise<{ url: string; close(): void }> {
  const zone: Zone = {};
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://resolver");
    if (request.method === "PUT") {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      Object.assign(zone, JSON.parse(Buffer.concat(chunks).toString()));
      response.end();
      return;
    }
    const type = url.searchParams.get("type") ?? "";
    const name = url.searchParams.get("name") ?? "";
    const found = zone[`${type} ${name}`];
    if (found === "broken") {
      response.writeHead(500).end();
      return;
    }
    response.setHeader("content-type", "application/dns-json");
    response.end(JSON.stringify({
      Status: found ? 0 : 3,
      Answer: found?.map((data) => ({ name, type: numbers[type], TTL: 60, data })),
    }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  };
}

/** Puts records into the DNS of the tests: `{"TXT _market-verify.shop.test": ['"…"']}`. */
export async function putRecords(resolverUrl: string, records: Zone): Promise<void> {
  await fetch(resolverUrl, { method: "PUT", body: JSON.stringify(records) });
}
