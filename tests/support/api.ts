/** A person with a token, calling the functions the way a client does. */
import { gunzipSync } from "node:zlib";
import { type Dispatcher, request } from "undici";
import { stack } from "./db.ts";

// deno-lint-ignore no-explicit-any -- tests look into bodies of many shapes
export type Body = any;

export interface Answer {
  status: number;
  body: Body;
  headers: Headers;
}

export interface CallOptions {
  headers?: Record<string, string>;
  query?: Record<string, string | number | boolean | object | undefined>;
}

export class Person {
  constructor(
    readonly id: string,
    readonly tenantId: string | null,
    private readonly token: (() => Promise<string>) | null,
    private readonly language?: string,
  ) {}

  /** The same person asking for another language. */
  in(language: "en" | "ar" | "ku"): Person {
    return new Person(this.id, this.tenantId, this.token, language);
  }

  get(path: string, options: CallOptions = {}): Promise<Answer> {
    return this.send("GET", path, undefined, options);
  }
  post(path: string, body: unknown = {}, options: CallOptions = {}): Promise<Answer> {
    return this.send("POST", path, body, options);
  }
  put(path: string, body: unknown = {}, options: CallOptions = {}): Promise<Answer> {
    return this.send("PUT", path, body, options);
  }
  patch(path: string, body: unknown = {}, options: CallOptions = {}): Promise<Answer> {
    return this.send("PATCH", path, body, options);
  }
  delete(path: string, options: CallOptions = {}): Promise<Answer> {
    return this.send("DELETE", path, undefined, options);
  }

  /** Any request; a body of text or bytes is sent as it is. Objects in `query` are sent as JSON. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<Answer> {
    const url = new URL(stack.functionsUrl + path);
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined) {
        url.searchParams.set(
          name,
          typeof value === "object" ? JSON.stringify(value) : String(value),
        );
      }
    }
    if (this.language) url.searchParams.set("language", this.language);
    // Compressing for ourselves costs both ends time; what clients get that ask for it, tests/shared/headers.test.ts says.
    const headers: Record<string, string> = { "accept-encoding": "identity", ...options.headers };
    if (this.token) headers.authorization ??= `Bearer ${await this.token()}`;
    if (body !== undefined) headers["content-type"] ??= "application/json";
    // Less work than `fetch`, and tests make tens of thousands of calls.
    const answer = await request(url, {
      method: method as Dispatcher.HttpMethod,
      headers,
      body: body === undefined || typeof body === "string" || body instanceof Uint8Array
        ? body
        : JSON.stringify(body),
    });
    const received = new Headers(answer.headers as Record<string, string>);
    const sent = new Uint8Array(await answer.body.arrayBuffer());
    const bytes = received.get("content-encoding") === "gzip"
      ? new Uint8Array(gunzipSync(sent))
      : sent;
    return {
      status: answer.statusCode,
      headers: received,
      body: received.get("content-type")?.includes("json")
        ? JSON.parse(new TextDecoder().decode(bytes))
        : bytes,
    };
  }
}

/** Nobody: no token at all. */
export const nobody = new Person("", null, null);

/** A person of a tenant with a valid token, which is signed when it is needed: most of a tenant's people call nothing. */
export function signedIn(id: string, tenantId: string | null): Person {
  const { jwtSign } = stack;
  let token: Promise<string> | undefined;
  const claims = { sub: id, app_metadata: tenantId ? { tenant_id: tenantId } : {} };
  return new Person(id, tenantId, () => token ??= jwtSign(claims));
}

/** A caller with a token made elsewhere. */
export function withToken(token: string): Person {
  return new Person("", null, () => Promise.resolve(token));
}

class Program extends Person {
  constructor(private readonly key: string, language?: string) {
    super("", null, null, language);
  }

  override in(language: "en" | "ar" | "ku"): Person {
    return new Program(this.key, language);
  }

  override send(method: string, path: string, body?: unknown, options: CallOptions = {}) {
    const headers = { ...options.headers, "x-api-key": this.key };
    return super.send(method, path, body, { ...options, headers });
  }
}

/** A program with an API key. */
export function withKey(key: string): Person {
  return new Program(key);
}
