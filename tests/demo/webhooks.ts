/** A subscriber on this machine: takes events, checks their signatures, answers 200. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { done } from "./barid.ts";
import type { World } from "./people.ts";

export const eventTypes = [
  "delivery.created",
  "delivery.delivered",
  "delivery.failed",
  "delivery.returned",
  "delivery.cancelled",
];

export interface Subscriber {
  /** Events of the run's parcels by their id, each once however often it came. */
  heard: Map<string, Heard>;
  /** Requests that were not signed as they should be. */
  forged: number;
  /** Events of the run's parcels in Barid's log that are with us, by type. */
  log(parcels: Set<string>): Promise<{ delivered: Record<string, number>; open: number }>;
  /** Waits until everything was sent. */
  drained(parcels: Set<string>, expected: number): Promise<void>;
  /** Takes the subscription back. */
  close(): Promise<void>;
}

export interface Heard {
  type: string;
  delivery: string;
}

const path = "/barid-demo";

/** Subscribes to deliveries; undefined where somebody else of the tenant does already. */
export async function listen(world: World): Promise<Subscriber | undefined> {
  const { barid } = world.admin;
  const { subscriptions } = await done(barid.GET("/webhooks/subscriptions"));
  const saved = subscriptions.find(({ module }) => module.key === "delivery");
  if (!saved) return undefined;
  const remove = (subscription_id: string) =>
    done(barid.DELETE("/webhooks/subscriptions/{subscription_id}", {
      params: { path: { subscription_id } },
    }));
  if (saved.id) {
    // Ours, of a day that was broken off.
    if (!saved.url?.endsWith(path)) return undefined;
    await remove(saved.id);
  }

  const heard = new Map<string, Heard>();
  const state: { forged: number; verifier?: Webhook } = { forged: 0 };
  const server = createServer(async (request, response) => {
    let raw = "";
    for await (const chunk of request) raw += chunk;
    try {
      const event = state.verifier!.verify(raw, request.headers as Record<string, string>) as {
        type: string;
        data: { delivery_id: string };
      };
      heard.set(String(request.headers["webhook-id"]), {
        type: event.type,
        delivery: event.data.delivery_id,
      });
      response.end("ok");
    } catch {
      state.forged++;
      response.writeHead(401).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { subscription, secret } = await done(barid.POST("/webhooks/subscriptions", {
    body: {
      module_id: saved.module.id,
      url: `http://127.0.0.1:${port}${path}`,
      event_types: eventTypes,
    },
  }));
  state.verifier = new Webhook(secret);
  const at = { params: { path: { subscriptionId: subscription.id } } };

  async function log(parcels: Set<string>) {
    const delivered: Record<string, number> = {};
    let open = 0;
    for (let page = 1, left = 1; left > 0; page++) {
      const { events, total, limit } = await done(barid.GET("/webhooks/events/{subscriptionId}", {
        params: { ...at.params, query: { limit: 100, page } },
      }));
      left = total - page * limit;
      for (const { event_type, status, payload } of events) {
        if (!parcels.has((payload as { delivery_id: string }).delivery_id)) continue;
        if (status === "success") delivered[event_type] = (delivered[event_type] ?? 0) + 1;
        else open++;
      }
    }
    return { delivered, open };
  }

  return {
    heard,
    get forged() {
      return state.forged;
    },
    log,
    async drained(parcels, expected) {
      const ours = () => [...heard.values()].filter(({ delivery }) => parcels.has(delivery)).length;
      // As long as events come, and a little longer.
      for (let still = Date.now(), last = -1; Date.now() - still < 20_000; await sleep(100)) {
        const now = ours();
        if (now !== last) [still, last] = [Date.now(), now];
        if (now >= expected && (await log(parcels)).open === 0) return;
      }
    },
    async close() {
      await remove(subscription.id);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
