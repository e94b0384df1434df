/** The operations that order the items of a manifest, send them elsewhere, or order one of them anew. */
import { newManifest } from "../support/manifests.ts";
import type { Step } from "./asking.ts";
import { Shelves } from "./shelves.ts";
import { steadily } from "./world.ts";

export class ManifestItems extends Shelves {
  /** A manifest's items received and ordered in one action, then perhaps sent elsewhere, or one cancelled and ordered anew. */
  async destine({ a, b, c }: Step): Promise<void> {
    const { tenant, branch, ground } = this.place;
    const items = 1 + a % 4;
    const manifest = await steadily(() => newManifest(tenant, { items, branch }));
    const item_ids = c % 2 ? manifest.itemIds : [...manifest.itemIds].reverse();
    const done = await this.ask(
      this.place.dispatcher,
      "POST",
      "/delivery/transfer-manifest-items/bulk/set-destination",
      { item_ids, destination_branch_id: branch, delivery_service_id: ground.service },
      ({ data }) =>
        data.created_count === items &&
        data.created.every((row: { item_id: string }, place: number) =>
          row.item_id === item_ids[place]
        ),
    );
    for (const { item_id, delivery } of done?.data.created ?? []) {
      this.facts.report("destined", item_id, delivery.id);
    }
    if (!done) return;
    if (b % 2) await this.redirect(item_ids);
    const [{ item_id, delivery }] = done.data.created;
    if (c % 3 === 0) await this.orderAnew(item_id, delivery.id);
  }

  private async redirect(item_ids: string[]): Promise<void> {
    const { ground } = this.place;
    await this.ask(
      this.place.dispatcher,
      "POST",
      "/delivery/transfer-manifest-items/bulk/change-destination",
      { item_ids, destination_address_id: ground.to },
      ({ data }) =>
        data.changed_count + data.failed_count === item_ids.length &&
        data.failed.every((row: { error_key: string }) =>
          row.error_key === "insufficient_wallet_balance"
        ),
    );
  }

  private async orderAnew(item: string, delivery: string): Promise<void> {
    const { branch, ground, dispatcher } = this.place;
    const cancelled = await this.ask(
      dispatcher,
      "POST",
      `/delivery/deliveries/${delivery}/cancel`,
      { reason: "wrong place" },
      ({ delivery }) => delivery.status === "cancelled",
      ["insufficient_wallet_balance"],
    );
    if (!cancelled) return;
    await this.ask(
      dispatcher,
      "POST",
      "/delivery/transfer-manifest-items/bulk/set-destination",
      { item_ids: [item], destination_branch_id: branch, delivery_service_id: ground.service },
      ({ data }) => data.created_count === 1 && data.created[0].delivery.id !== delivery,
    );
  }
}
