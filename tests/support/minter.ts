/** Test files run in processes of their own; this gives them tokens signed with the stack's key. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Stack } from "../../supabase/local/stack.ts";

export async function startMinter(stack: Stack): Promise<{ url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const claims = JSON.parse(Buffer.concat(chunks).toString() || "{}");
    for (const [name, value] of Object.entries(claims)) {
      if (value === null) claims[name] = undefined;
    }
    response.end(await stack.jwtSign(claims));
  });
  // A test that was busy for some seconds would otherwise ask on a connection that is being closed.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A signed token. A claim given as null is left out. */
export async function mint(minterUrl: string, claims: Record<string, unknown>): Promise<string> {
  const response = await fetch(minterUrl, { method: "POST", body: JSON.stringify(claims) });
  return await response.text();
}
