/** Results at the door that are more than delivered or failed, each reported in one call. */
import { done, type Person } from "./barid.ts";
import type { Count } from "./count.ts";
import type { Job } from "./drivers.ts";
import type { AtDoor, Outcome } from "./plan.ts";

const atDoor: readonly string[] = [
  "partial",
  "exchanged",
  "refused",
  "postponed",
  "undone",
] satisfies AtDoor[];

export const isAtDoor = (outcome: Outcome): outcome is AtDoor => atDoor.includes(outcome);

interface Due {
  cod: number;
  delivery_fee: number;
}

/** Reports the result of a job at the door; returns the COD that was collected, and all cash. */
export async function reportAtDoor(
  driver: Person,
  job: Job & { outcome: AtDoor },
  count: Count,
  due: Due,
): Promise<{ cod: number; taken: number }> {
  const { barid } = driver;
  const at = { params: { path: { delivery_id: job.delivery } } };
  const report = async (
    body: {
      result: "partial" | "exchanged" | "refused" | "postponed" | "delivered";
      items?: { delivery_item_id: string; quantity: number }[];
      taken_back?: { name: string; quantity: number }[];
      reason_code?: string;
      postponed_to?: string;
    },
  ) => (await done(barid.POST("/delivery/deliveries/{delivery_id}/outcome", { ...at, body }))).data;
  const nothing = { cod: 0, taken: 0 };
  const collected = ({ cod, delivery_fee }: Due) => ({ cod, taken: cod + delivery_fee });
  switch (job.outcome) {
    case "refused":
      await report({ result: "refused", reason_code: "refused" });
      count.heard("delivery.failed");
      return nothing;
    case "postponed":
      await report({ result: "postponed", reason_code: "postponed", postponed_to: inDays(3) });
      count.heard("delivery.failed");
      return nothing;
    case "undone": {
      // The wrong bell: reported, undone, and delivered next door.
      await report({ result: "delivered" });
      await done(barid.POST("/delivery/deliveries/{delivery_id}/outcome/undo", {
        ...at,
        body: { reason: "The wrong door" },
      }));
      const { cash } = await report({ result: "delivered" });
      count.heard("delivery.delivered", 2);
      return collected(cash.collected);
    }
    case "partial":
    case "exchanged": {
      const { delivery } = await done(barid.GET("/delivery/deliveries/{delivery_id}", at));
      const items = delivery.items.map(({ id }) => ({ delivery_item_id: id, quantity: 1 }));
      const { cash, returns } = await report(
        job.outcome === "partial"
          ? { result: "partial", items }
          : { result: "exchanged", taken_back: [{ name: "القديم", quantity: 1 }] },
      );
      count.heard("delivery.delivered");
      const expected = job.outcome === "partial" ? { ...due, cod: due.cod / 2 } : due;
      if (cash.collected.cod !== expected.cod) {
        throw new Error(`${cash.collected.cod} of ${expected.cod}`);
      }
      for (const { id } of returns) await bringBack(driver, id);
      // Each is a delivery of its own.
      count.numbers.orders += returns.length;
      const figures = count.driver(driver.id);
      figures.ended += returns.length;
      figures.delivered += returns.length;
      return collected(cash.collected);
    }
  }
}

/** The driver brings a return from a door to where it goes, with a photo. */
async function bringBack({ barid }: Person, id: string): Promise<void> {
  const at = { params: { path: { delivery_id: id } } };
  const { data: upload } = await done(
    barid.POST("/delivery/deliveries/{delivery_id}/proof-uploads", {
      ...at,
      body: { stage: "delivery", kind: "photo", content_type: "image/jpeg" },
    }),
  );
  await done(barid.POST("/delivery/deliveries/{delivery_id}/complete", {
    ...at,
    body: { proof: { photo_urls: [upload.path] } },
  }));
}

const inDays = (days: number): string =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
