/** Calls of a dispatcher with supabase-js. */
import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import WebSocket from "ws";
import type { Stack } from "../../supabase/local/stack.ts";

/** Signs a person of the demo in, as a browser does. */
export async function signIn(stack: Stack, email: string): Promise<SupabaseClient> {
  const client = createClient(stack.url, stack.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    // deno-lint-ignore no-explicit-any -- the client wants the browser's type
    realtime: { transport: WebSocket as any },
  });
  const { error } = await client.auth.signInWithPassword({ email, password: "Barid-demo-1" });
  if (error) throw error;
  return client;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

// deno-lint-ignore no-explicit-any -- bodies of many shapes
export type Body = any;

/** Body and status, whether supabase-js calls it an error or not. */
export async function call(
  client: SupabaseClient,
  method: Method,
  path: string,
  body?: Record<string, unknown>,
  headers?: Record<string, string>,
): Promise<{ status: number; body: Body }> {
  const { data, error } = await client.functions.invoke(path, { method, body, headers });
  if (!error) return { status: 200, body: data };
  if (!("context" in error) || !(error.context instanceof Response)) throw error;
  return { status: error.context.status, body: await error.context.json() };
}
