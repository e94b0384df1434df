import {
  Agent,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import { errorCode } from "./failure.ts";

const prefix = "/functions/v1";

/** Headers that belong to one connection, not to the request. */
const hopByHop = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
  "expect",
];

/** Streams `/functions/v1/<slug>/…` to the workers in turn, as the platform's gateway does. */
export interface FunctionsProxy {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Closes the connections to the workers. */
  close(): void;
}

/** Makes the proxy; `candidates` names the ports of the workers, best first. */
export function functionsProxy(candidates: () => number[]): FunctionsProxy {
  // Idle connections are given up after a second, because a worker that is to end waits for them.
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, timeout: 1_000 });
  return {
    handle: (request, response) => forward(agent, candidates(), request, response),
    close: () => agent.destroy(),
  };
}

/** True for the paths the proxy answers. */
export function isFunctionPath(path: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}?`);
}

function forward(
  agent: Agent,
  ports: number[],
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const [port, ...others] = ports;
  if (port === undefined) {
    response.setHeader("retry-after", "1");
    return refuse(
      response,
      503,
      "SERVICE_UNAVAILABLE",
      "No function worker answers; try again shortly",
    );
  }
  const [host, hostPort] = (request.headers.host ?? "127.0.0.1").split(/:(?=\d+$)/);
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !hopByHop.includes(name)),
  );
  let connected = false;
  const upstream = httpRequest({
    agent,
    host: "127.0.0.1",
    port,
    method: request.method,
    path: (request.url ?? "").slice(prefix.length) || "/",
    headers: {
      ...headers,
      "x-forwarded-host": host,
      "x-forwarded-port": hostPort ?? "80",
      "x-forwarded-proto": "http",
      "x-forwarded-for": request.socket.remoteAddress ?? "127.0.0.1",
    },
  });
  // Nothing is sent before the connection stands, so a worker that cannot be reached has seen nothing of the request
  // and the next may have it. After that it may have been processed, and is never sent again.
  const send = () => {
    connected = true;
    if (request.readableEnded) upstream.end();
    else request.pipe(upstream);
  };
  upstream.once("socket", (socket) => socket.connecting ? socket.once("connect", send) : send());
  upstream.once("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer));
    answer.pipe(response);
    answer.once("error", () => response.destroy());
  });
  upstream.once("error", (error) => {
    if (response.headersSent) return response.destroy();
    const unseen = !connected && errorCode(error) === "ECONNREFUSED";
    // A kept connection may turn out to be dead only when it is used; reading twice does no harm.
    const repeatable = upstream.reusedSocket && others.length > 0 &&
      ["GET", "HEAD"].includes(request.method ?? "");
    if (unseen || repeatable) return forward(agent, others, request, response);
    refuse(response, 502, "BAD_GATEWAY", "The function worker ended before it answered");
  });
  response.once("close", () => {
    if (!response.writableFinished) upstream.destroy();
  });
}

function withoutHopByHop(answer: IncomingMessage): string[] {
  const headers: string[] = [];
  for (let i = 0; i < answer.rawHeaders.length; i += 2) {
    const [name, value] = [answer.rawHeaders[i]!, answer.rawHeaders[i + 1]!];
    if (![...hopByHop, "transfer-encoding"].includes(name.toLowerCase())) headers.push(name, value);
  }
  return headers;
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  if (response.destroyed) return;
  response.writeHead(status, {
    "content-type": "application/json",
    "access-control-allow-origin": "*",
  });
  response.end(JSON.stringify({ code, message }));
}
