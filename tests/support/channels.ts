/** Private channels of Supabase Realtime, as a frontend joins them with the real client. */
import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import ws from "ws";
import { stack } from "./db.ts";

export interface Heard {
  event: string;
  // deno-lint-ignore no-explicit-any -- a payload of any event
  payload: any;
}

export interface Listener {
  app: SupabaseClient;
  heard: Heard[];
  /** The payloads of one event. */
  of(event: string): Heard["payload"][];
}

/** The token of a person in a tenant. */
export const tokenOf = (person: { id: string }, tenant: { id: string }) =>
  stack.jwtSign({ sub: person.id, app_metadata: { tenant_id: tenant.id } });

/** Joins a private channel and collects what is broadcast there; rejects with the service's reason when it may not. */
export async function listen(topic: string, token: string): Promise<Listener> {
  const app = createClient(stack.url, stack.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: ws as unknown as typeof WebSocket },
  });
  await app.realtime.setAuth(token);
  const heard: Heard[] = [];
  await new Promise<void>((resolve, reject) => {
    app.channel(topic, { config: { private: true } })
      .on("broadcast", { event: "*" }, ({ event, payload }) => heard.push({ event, payload }))
      .subscribe((status, error) => {
        if (status === "SUBSCRIBED") resolve();
        else if (error || status === "CHANNEL_ERROR") reject(error ?? new Error(status));
      });
  }).catch(async (error) => {
    await app.removeAllChannels();
    throw error;
  });
  return {
    app,
    heard,
    of: (event) => heard.filter((one) => one.event === event).map(({ payload }) => payload),
  };
}
