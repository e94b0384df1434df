/**
 * One POST to an address a client chose, over a connection of its own to exactly the address that was vetted. `fetch`
 * resolves names by itself, so a name could mean another address there than it did when it was checked; undici lets the
 * connection be made to the checked one, while the certificate must still name the host of the URL. No redirects, no more
 * of the answer than is kept, and an end to everything after `timeoutMs`.
 */
import { Buffer } from "node:buffer";
import { Agent, buildConnector, type Dispatcher } from "undici";
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

const maxHeadBytes = 32_768;

/** Sends `body` and answers what came back. Fails with AddressRefused, AddressUnknown or what broke. */
export async function guardedPost(
  text: string,
  headers: Record<string, string>,
  body: string,
  options: PostOptions,
): Promise<PostAnswer> {
  const began = performance.now();
  const vetted = await vet(text, options);
  const left = Math.max(1, Math.ceil(options.timeoutMs - (performance.now() - began)));
  const signal = AbortSignal.timeout(left);
  const agent = agentFor(vetted, left);
  try {
    const answer = await agent.request({
      origin: vetted.url.origin,
      path: `${vetted.url.pathname}${vetted.url.search}`,
      method: "POST",
      headers: {
        "user-agent": "Barid-Webhooks/1",
        accept: "*/*",
        "accept-encoding": "identity",
        ...headers,
      },
      body,
      reset: true,
      signal,
    });
    return {
      status: answer.statusCode,
      headers: headersOf(answer),
      body: await bodyOf(answer, options.keepBytes, signal),
    };
  } catch (error) {
    throw signal.aborted
      ? new Error(`no complete answer within ${Math.round(left / 1000)} s`, { cause: error })
      : error;
  } finally {
    await agent.destroy();
  }
}

/** Connects to the vetted address, whatever the name of the host means by now. */
function agentFor({ url, address }: Vetted, timeoutMs: number): Agent {
  const connect = buildConnector({ timeout: timeoutMs });
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return new Agent({
    maxHeaderSize: maxHeadBytes,
    // The signal ends everything.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) =>
      connect({ ...options, hostname: address, servername: host }, callback),
  });
}

function headersOf({ headers }: Dispatcher.ResponseData): Map<string, string> {
  return new Map(
    Object.entries(headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]),
  );
}

/** As much of the body as is kept; what came before the connection broke counts, what a time-out cut off does not. */
async function bodyOf(
  { body }: Dispatcher.ResponseData,
  keepBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= keepBytes) break;
    }
  } catch (error) {
    if (signal.aborted) throw error;
  }
  // PostgreSQL keeps no NUL in text.
  return Buffer.concat(chunks).subarray(0, keepBytes).toString("utf8").replaceAll("\0", "\ufffd");
}
