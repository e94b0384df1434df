/** Outside services over HTTP, for functions that run on Deno: the handlers that unit tests intercept with answer there. */
import { serve, type ServerType } from "@hono/node-server";
import type { AddressInfo } from "node:net";
import { getResponse, type RequestHandler } from "msw";

export interface ServedHandlers {
  /** Without a trailing slash. */
  url: string;
  close(): void;
}

/** Listens on a free port of this machine; a request that no handler takes gets 501 and its own line. */
export async function serveHandlers(handlers: RequestHandler[]): Promise<ServedHandlers> {
  let server: ServerType | undefined;
  const port = await new Promise<number>((resolve) => {
    server = serve({
      fetch: async (request) =>
        await getResponse(handlers, request) ??
          new Response(`no handler takes ${request.method} ${request.url}`, { status: 501 }),
      hostname: "127.0.0.1",
      port: 0,
      // The Response of everybody else in this process stays the one that msw knows.
      overrideGlobalObjects: false,
    }, (info: AddressInfo) => resolve(info.port));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server?.close();
      if (server && "closeAllConnections" in server) server.closeAllConnections();
    },
  };
}
