/**
 * One POST to an address a client chose, over a connection of its own to exactly the address that was
 * vetted. `fetch` resolves names by itself and Deno's `http.request` takes no resolver, so a name could
 * mean another address there than it did when it was judged. HTTP/1.1, no redirects, no more of the answer
 * than is kept, and an end to everything after `timeoutMs`.
 */
import { Buffer } from "node:buffer";
import net from "node:net";
import tls from "node:tls";
import { type GuardOptions, vet, type Vetted } from "./address-guard.ts";

export interface PostOptions extends GuardOptions {
  timeoutMs: number;
  /** Bytes of the answer's body that are kept. */
  keepBytes: number;
}

export interface PostAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

const headBytesMax = 32_768;

/** Sends `body` and answers what came back. Fails with AddressRefused, AddressUnknown or what broke. */
export async function guardedPost(
  text: string,
  headers: Record<string, string>,
  body: string,
  options: PostOptions,
): Promise<PostAnswer> {
  const began = performance.now();
  const vetted = await vet(text, options);
  const left = Math.max(1, options.timeoutMs - (performance.now() - began));
  return await exchange(vetted, request(vetted.url, headers, body), options.keepBytes, left);
}

function request(url: URL, headers: Record<string, string>, body: string): string {
  const all = {
    host: url.host,
    "user-agent": "Barid-Webhooks/1",
    accept: "*/*",
    "accept-encoding": "identity",
    connection: "close",
    ...headers,
    "content-length": String(new TextEncoder().encode(body).length),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  if (lines.some((line) => /[\r\n\0]/.test(line))) throw new Error("a header holds a line break");
  return `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

function exchange(
  { url, address }: Vetted,
  message: string,
  keepBytes: number,
  timeoutMs: number,
): Promise<PostAnswer> {
  return new Promise((resolve, reject) => {
    const secure = url.protocol === "https:";
    const port = Number(url.port || (secure ? 443 : 80));
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const answer = new Reading(keepBytes);
    // The certificate must name the host of the URL, whatever address we connect to.
    const socket: net.Socket = secure
      ? tls.connect({ host: address, port, servername: host, ALPNProtocols: ["http/1.1"] })
      : net.connect({ host: address, port });
    const end = (error?: Error) => {
      clearTimeout(timer);
      socket.destroy();
      const done = answer.result();
      if (done && !(error instanceof TimedOut)) resolve(done);
      else reject(error ?? new Error("the connection ended before an answer"));
    };
    const timer = setTimeout(
      () => end(new TimedOut(`no complete answer within ${Math.round(timeoutMs / 1000)} s`)),
      timeoutMs,
    );
    socket.on("error", end);
    // A character a byte: lengths count bytes, and nothing is decoded before it is whole.
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      try {
        if (answer.take(String(chunk))) end();
      } catch (error) {
        end(error as Error);
      }
    });
    socket.on("end", () => end());
    socket.on("close", () => end());
    socket.once(secure ? "secureConnect" : "connect", () => socket.write(message));
  });
}

class TimedOut extends Error {}

/** An answer as it comes in, a character a byte. */
class Reading {
  private text = "";
  private head: { status: number; headers: Map<string, string>; at: number } | undefined;
  private broken = false;

  constructor(private readonly keepBytes: number) {}

  /** True when there is nothing more to wait for. */
  take(chunk: string): boolean {
    this.text += chunk;
    if (!this.head && !this.readHead()) return false;
    const { status, headers, at } = this.head!;
    const arrived = this.text.length - at;
    if (status === 204 || status === 304) return true;
    if (isChunked(headers)) {
      // The lines between chunks count as well, so a little more than is kept may be read.
      return arrived > this.keepBytes * 2 ||
        /(^|\r\n)0\r\n(\r\n|.*\r\n\r\n)$/.test(this.text.slice(at));
    }
    return arrived >= Math.min(lengthOf(headers), this.keepBytes + 1);
  }

  private readHead(): boolean {
    const end = this.text.indexOf("\r\n\r\n");
    if (end < 0) {
      if (this.text.length > headBytesMax) throw this.fail("headers without an end");
      return false;
    }
    const [first, ...lines] = this.text.slice(0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1]);
    if (!(status >= 100)) throw this.fail("not an answer in HTTP/1.1");
    if (status < 200) {
      // 100 Continue and the like come before the answer.
      this.text = this.text.slice(end + 4);
      return this.readHead();
    }
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(":");
      if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    this.head = { status, headers, at: end + 4 };
    return true;
  }

  private fail(why: string): Error {
    this.broken = true;
    return new Error(why);
  }

  result(): PostAnswer | undefined {
    if (!this.head || this.broken) return undefined;
    const { status, headers, at } = this.head;
    const raw = this.text.slice(at);
    const body = isChunked(headers) ? unchunked(raw) : raw.slice(0, lengthOf(headers));
    const kept = Buffer.from(body.slice(0, this.keepBytes), "latin1").toString("utf8");
    // PostgreSQL keeps no NUL in text.
    return { status, headers, body: kept.replaceAll("\0", "\ufffd") };
  }
}

function isChunked(headers: Map<string, string>): boolean {
  return /chunked/i.test(headers.get("transfer-encoding") ?? "");
}

function lengthOf(headers: Map<string, string>): number {
  const length = headers.get("content-length");
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : Infinity;
}

/** The content of chunks, as far as it came. */
function unchunked(raw: string): string {
  let content = "";
  for (let at = 0; at < raw.length;) {
    const line = raw.indexOf("\r\n", at);
    const size = line < 0 ? NaN : parseInt(raw.slice(at, line), 16);
    if (!(size > 0)) break;
    content += raw.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
  return content;
}
