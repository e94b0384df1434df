/**
 * The client of Barid's API: every call with the types of its parameters, body, answer and refusals (openapi-fetch), repeated safely
 * where a network or a server fails.
 */
import createClient, { type Client } from "openapi-fetch";
import type { paths } from "./paths.d.ts";
import { retryingFetch, type RetryOptions } from "./retry.ts";

/** All calls: `barid.GET("/delivery/deliveries", { params: { query: { limit: 50 } } })`. */
export type Barid = Client<paths>;

export interface BaridOptions {
  /** The project: `https://<ref>.supabase.co`, or `http://127.0.0.1:54321` of a local stack. */
  url: string;
  /** A person's access token, or what gives the present one, as supabase-js's session does. Undefined: public calls only. */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /** A company's API key, in place of a token. */
  apiKey?: string;
  /** The language of messages; without it the caller's settings decide. */
  language?: "en" | "ar" | "ku";
  /** How calls are repeated; false: never. */
  retries?: RetryOptions | false;
  /** Sends the requests; the platform's `fetch` if not given. */
  fetch?: typeof fetch;
}

/** A client for one project and caller. */
export function createBarid(options: BaridOptions): Barid {
  const { url, token, apiKey, language, retries, fetch: send = fetch } = options;
  const client = createClient<paths>({
    baseUrl: `${url.replace(/\/+$/, "")}/functions/v1`,
    fetch: retries === false ? send : retryingFetch(send, retries),
    // Several words of a filter are sent with commas between.
    querySerializer: { array: { style: "form", explode: false } },
  });
  client.use({
    async onRequest({ request }) {
      const current = typeof token === "function" ? await token() : token;
      if (current) request.headers.set("authorization", `Bearer ${current}`);
      if (apiKey) request.headers.set("x-api-key", apiKey);
      if (language && !request.headers.has("accept-language")) {
        request.headers.set("accept-language", language);
      }
      return request;
    },
  });
  return client;
}
