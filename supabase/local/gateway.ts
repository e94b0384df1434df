import type { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { platformCors } from "./cors.ts";
import { type FunctionsProxy, functionsProxy, isFunctionPath } from "./functions-proxy.ts";
import { portFailure } from "./ports.ts";
import { slugs } from "./paths.ts";

type Fetch = (request: Request) => Response | Promise<Response>;

/** The services behind the gateway. */
export interface Services {
  auth: Fetch;
  mail: Fetch;
  storage: Fetch;
  realtime: Fetch;
  payments: Fetch;
  docs: Fetch;
  /** Takes over a websocket of /realtime/v1. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ports of the function workers, best first. */
  workers(): number[];
}

/** The one HTTP server in front of everything. */
export interface Gateway {
  readonly port: number;
  readonly url: string;
  /** Until this is called every request is answered with 503. */
  open(services: Services): void;
  /** Stops listening, lets requests under way end for `graceMs`, then cuts them off. */
  close(graceMs: number): Promise<void>;
}

/** Takes the port at once, so that a taken one is known before anything else is started. */
export async function listen(port: number): Promise<Gateway> {
  const starting: Fetch = () =>
    Response.json({ code: "STARTING", message: "The local stack is starting" }, {
      status: 503,
      headers: { "retry-after": "1" },
    });
  let handle: (request: IncomingMessage, response: ServerResponse) => void = listener(starting);
  let upgrade: Services["upgrade"] = (_request, socket) => socket.destroy();
  let proxy: FunctionsProxy | undefined;
  const server = createServer((request, response) => handle(request, response));
  // The server forgets a connection that became a websocket, but waits for it when it closes.
  const websockets = new Set<Duplex>();
  server.on("upgrade", (request, socket, head) => {
    websockets.add(socket.once("close", () => websockets.delete(socket)));
    upgrade(request, socket, head);
  });
  // Uploads and long answers decide for themselves how long they take.
  server.requestTimeout = 0;
  // Longer than Deno keeps an idle connection (90 s): whoever ends it first must be the one who asks, or a
  // call sent at that moment is lost.
  server.keepAliveTimeout = 120_000;
  const bound = await listening(server, port);
  const url = `http://127.0.0.1:${bound}`;
  return {
    port: bound,
    url,
    open(services) {
      const functions = functionsProxy(services.workers);
      proxy = functions;
      const rest = listener(routes(url, services));
      handle = (request, response) =>
        isFunctionPath(request.url ?? "")
          ? functions.handle(request, response)
          : rest(request, response);
      upgrade = services.upgrade;
    },
    async close(graceMs) {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of websockets) socket.destroy();
      server.closeIdleConnections();
      const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(cutOff);
      proxy?.close();
    },
  };
}

function routes(url: string, services: Services): Fetch {
  const prefixes: [string, Fetch][] = [
    ["/auth/v1", services.auth],
    ["/mail", services.mail],
    ["/storage/v1", services.storage],
    ["/realtime/v1", services.realtime],
    ["/payments/v1", services.payments],
    ["/docs", services.docs],
  ];
  const index = {
    name: "barid",
    docs: `${url}/docs`,
    functions: slugs.map((slug) => `${url}/functions/v1/${slug}`),
    auth: `${url}/auth/v1`,
    storage: `${url}/storage/v1`,
    realtime: `${url}/realtime/v1`,
  };
  return (request) => {
    const path = new URL(request.url).pathname;
    const under = ([prefix]: readonly [string, ...unknown[]]) =>
      path === prefix || path.startsWith(`${prefix}/`);
    const [, service] = prefixes.find(under) ?? [];
    if (service) return service(request);
    if (closed.some((prefix) => under([prefix]))) return closedInterface(request);
    if (path === "/") return Response.json(index);
    return Response.json({ message: "no Route matched with those values" }, { status: 404 });
  };
}

/** Supabase's interfaces to tables: no schema of ours is exposed to them, here as on a project. */
const closed = ["/rest/v1", "/graphql/v1"];

const closedApp = new Hono().use(platformCors).all("*", (c) =>
  c.json({
    code: "not_exposed",
    message:
      "No table of Barid is reachable here: call its functions below /functions/v1, see /docs.",
  }, 404));
const closedInterface: Fetch = (request) => closedApp.fetch(request);

/** Leaves the global Request and Response alone: the tests' own code runs in this process too. */
function listener(fetch: Fetch) {
  return getRequestListener(fetch, { overrideGlobalObjects: false });
}

function listening(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(portFailure(error, port, "--port")));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : port);
    });
  });
}
