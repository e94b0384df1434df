/** People who call Barid: signed in with supabase-js, calling through the typed client. */
import { setTimeout as sleep } from "node:timers/promises";
import { createClient as createSupabase, type SupabaseClient } from "@supabase/supabase-js";
import createClient, { type Client } from "openapi-fetch";
import WebSocket from "ws";
import type { paths } from "../../shared/client/paths.d.ts";
import { Failure } from "../../supabase/local/failure.ts";

/** An error that ends the day: one line with the request and the response. */
export class DemoFailure extends Failure {}

export interface Person {
  id: string;
  name: string;
  supabase: SupabaseClient;
  barid: Client<paths>;
}

/** The system the day is driven through. */
export class System {
  #calls = 0;

  /** `run` begins every Idempotency-Key; no two runs have the same. */
  constructor(readonly url: string, readonly key: string, readonly run: string) {}

  /** Calls that were answered, and those that had to be sent again. */
  answered = 0;
  repeated = 0;

  /** Somebody who is nobody yet. */
  visitor(name: string): Person {
    const supabase = createSupabase(this.url, this.key, {
      auth: { persistSession: false, autoRefreshToken: false },
      // deno-lint-ignore no-explicit-any -- the client wants the browser's type
      realtime: { transport: WebSocket as any },
    });
    const barid = createClient<paths>({
      baseUrl: `${this.url}/functions/v1`,
      fetch: async (request) => {
        const { data } = await supabase.auth.getSession();
        const headers = new Headers(request.headers);
        headers.set("apikey", this.key);
        if (data.session) headers.set("authorization", `Bearer ${data.session.access_token}`);
        // Writing gets a key that stays when it is sent again: what was done is not done twice.
        if (request.method !== "GET" && !headers.has("idempotency-key")) {
          headers.set("idempotency-key", this.nextKey());
        }
        return await this.#steadily(() => new Request(request.clone(), { headers }));
      },
    });
    return { id: "", name, supabase, barid };
  }

  async signIn(name: string, email: string, password: string): Promise<Person> {
    const person = this.visitor(name);
    const { data, error } = await person.supabase.auth.signInWithPassword({ email, password });
    if (error) throw new DemoFailure(`${email} at ${this.url}: ${error.message}`);
    return { ...person, id: data.user.id };
  }

  /** An Idempotency-Key that no other call of any run has. */
  nextKey(): string {
    return `demo-${this.run}-${++this.#calls}`;
  }

  /**
   * Sends until there is an answer. A lost connection or a busy server is waited for, at most half a minute; who is told
   * when to come again waits so long, for a limit of calls a minute as often as it takes.
   */
  async #steadily(make: () => Request): Promise<Response> {
    let until = Date.now() + 30_000;
    for (let pause = 100;; pause = Math.min(2 * pause, 3_000)) {
      const outcome = await fetch(make()).catch((error: unknown) => error);
      const busy = outcome instanceof Response && [429, 502, 503, 504].includes(outcome.status);
      if (outcome instanceof Response && !busy) {
        this.answered++;
        return outcome;
      }
      if (Date.now() > until) {
        if (outcome instanceof Response) return outcome;
        throw new DemoFailure(`${make().url}: ${outcome}`);
      }
      this.repeated++;
      const told = outcome instanceof Response
        ? 1_000 * Number(outcome.headers.get("retry-after") ?? 0)
        : 0;
      if (outcome instanceof Response && outcome.status === 429) until = Date.now() + told + 30_000;
      await sleep(Math.max(pause, told));
    }
  }
}

type Called<T> = { data?: T; error?: unknown; response: Response };

/** The answer of a call that has to succeed. */
export async function done<T>(call: Promise<Called<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await call;
  if (data) return data;
  const { code, message, field } = (error ?? {}) as Record<string, unknown>;
  const path = new URL(response.url).pathname.replace("/functions/v1", "");
  throw new DemoFailure(
    `${path}: ${response.status} ${code ?? ""}: ${message ?? ""}${field ? ` (${field})` : ""}`,
  );
}
