/** A subscriber: takes webhooks on a port of this machine, remembers them, and answers as a test wants. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import type { Body } from "./api.ts";

export interface Received {
  headers: Record<string, string>;
  raw: string;
  body: Body;
  at: number;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** The most connections that were open at once. */
  readonly socketsPeak: number;
  /** The responses to the next requests; the last one repeats. Default: 200. */
  answer(how: (response: ServerResponse, number: number, received: Received) => void): void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let how: Parameters<Receiver["answer"]>[0] = (response) => response.end("ok");
  let sockets = 0;
  let peak = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString();
    const one = {
      headers: request.headers as Record<string, string>,
      raw,
      body: JSON.parse(raw),
      at: Date.now(),
    };
    received.push(one);
    how(response, received.length, one);
  });
  server.on("connection", (socket) => {
    peak = Math.max(peak, ++sockets);
    socket.on("close", () => sockets--);
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    get socketsPeak() {
      return peak;
    },
    answer: (next) => (how = next),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** The event that the standard's published library reads from a delivery; throws if the signature is invalid. */
export function verified(secret: string, { raw, headers }: Received): Body {
  return new Webhook(secret).verify(raw, headers);
}

/** Waits for something to become true. */
export async function until(
  what: () => boolean | Promise<boolean>,
  ms = 30_000,
): Promise<void> {
  const stopAt = Date.now() + ms;
  while (!await what()) {
    if (Date.now() > stopAt) throw new Error(`did not happen within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
