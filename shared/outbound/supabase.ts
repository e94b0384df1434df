/**
 * Supabase's own client for its services, as the system itself. Loaded when it is first needed: most requests only read
 * the database, and start faster without it.
 */
import type { SupabaseClient } from "@supabase/supabase-js";
import { secretKey, supabaseUrl } from "../runtime/env.ts";
import { callOut, type OutboundOptions } from "./fetch.ts";

/** A client whose calls have these limits. It keeps no session and refreshes none. */
export async function supabaseAdmin(limits: OutboundOptions): Promise<SupabaseClient> {
  const { createClient } = await import("@supabase/supabase-js");
  return createClient(supabaseUrl, secretKey(), {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    global: { fetch: (url, init) => callOut(String(url), keyed(init), limits) },
  });
}

/** Legacy service-role keys are tokens and stand in Authorization as well; the client puts new keys there, too. */
function keyed(init: RequestInit = {}): RequestInit {
  const headers = new Headers(init.headers);
  if (!secretKey().startsWith("ey")) headers.delete("authorization");
  return { ...init, headers };
}
