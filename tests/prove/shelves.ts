/** The operations on the goods of two warehouses: received, corrected, written off, put aside, counted, moved and picked. */
import { randomUUID } from "node:crypto";
import type { Step } from "./asking.ts";
import { GoodsBack } from "./goods-back.ts";

export class Shelves extends GoodsBack {
  private lines(a: number, b: number, quantity: (line: number) => number) {
    const count = 1 + a % 3;
    return Array.from({ length: count }, (_, line) => ({
      item_id: this.place.items[(b + line * (a % 2 ? 1 : 3)) % this.place.items.length],
      quantity: quantity(line),
    }));
  }

  async receive({ a, b, c }: Step): Promise<void> {
    const { warehouse, bin } = this.place.shelves[c % 2];
    const notes = randomUUID();
    const items = this.lines(a, b, (line) => 1 + (c + line) % 50)
      .map((line) => ({ ...line, bin_id: bin }));
    const total = items.reduce((sum, { quantity }) => sum + quantity, 0);
    const done = await this.ask(
      this.place.ops,
      "POST",
      "/warehousing/inventory/receipts",
      { warehouse_id: warehouse, notes, items },
      ({ transactions }) => sumOf(transactions) === total,
    );
    if (done) this.facts.report("received", notes, `${done.receipt_id} ${total}`);
  }

  async correct({ a, b, c }: Step): Promise<void> {
    const { warehouse, bin } = this.place.shelves[c % 2];
    const delta = (a % 2 ? 1 : -1) * (1 + b % 40);
    const reason = randomUUID();
    const done = await this.ask(
      this.place.ops,
      "POST",
      "/warehousing/inventory/adjustments",
      { warehouse_id: warehouse, bin_id: bin, item_id: this.place.items[b % 4], delta, reason },
      ({ transactions }) => sumOf(transactions) === Math.abs(delta),
      ["insufficient_stock"],
    );
    if (done) this.facts.report("corrected", reason, `${done.adjustment_id} ${delta}`);
  }

  async writeOff({ a, b, c }: Step): Promise<void> {
    const { warehouse, bin } = this.place.shelves[c % 2];
    const reason = randomUUID();
    const items = this.lines(a, b, (line) => 1 + (b + line) % 20)
      .map((line) => ({ ...line, bin_id: bin }));
    const total = sumOf(items);
    const done = await this.ask(
      this.place.ops,
      "POST",
      "/warehousing/inventory/write-offs",
      { warehouse_id: warehouse, reason, items },
      ({ transactions }) => sumOf(transactions) === total,
      ["insufficient_stock"],
    );
    if (done) this.facts.report("writtenOff", reason, `${done.write_off_id} ${total}`);
  }

  /** Goods that come back without a delivery. */
  async takeBack({ a, b, c }: Step): Promise<void> {
    const { warehouse, bin } = this.place.shelves[c % 2];
    const reason = randomUUID();
    const items = this.lines(a, b, (line) => 1 + (c + line) % 20)
      .map((line) => ({ ...line, bin_id: bin, status: c % 5 ? "available" : "damaged" }));
    const total = sumOf(items);
    const done = await this.ask(
      this.place.ops,
      "POST",
      "/warehousing/inventory/returns",
      { warehouse_id: warehouse, reason, items },
      ({ transactions }) => sumOf(transactions) === total,
    );
    if (done) this.facts.report("takenBack", reason, `${done.return_id} ${total}`);
  }

  /** Puts some aside, or what was put aside back. */
  async shelve({ a, b, c }: Step): Promise<void> {
    const { warehouse, bin } = this.place.shelves[c % 2];
    const notes = randomUUID();
    const [status, to_status] = a % 3 ? ["available", "checked"] : ["checked", "available"];
    const items = this.lines(a, b, (line) => 1 + (b + line) % 10)
      .map((line) => ({ ...line, from_bin_id: bin, to_bin_id: bin, status, to_status }));
    const total = items.reduce((sum, { quantity }) => sum + quantity, 0);
    const done = await this.ask(
      this.place.ops,
      "POST",
      "/warehousing/inventory/moves",
      { warehouse_id: warehouse, notes, items },
      ({ transactions }) => sumOf(transactions) === total,
      ["insufficient_stock"],
    );
    if (done) this.facts.report("shelved", notes, `${done.move_id} ${total}`);
  }

  /** Counts what is on a shelf, now and then with a unit too many or too few. */
  async count({ a, b, c }: Step): Promise<void> {
    const { warehouse, bin } = this.place.shelves[c % 2];
    const seen = await this.ask(
      this.place.ops,
      "GET",
      `/warehousing/inventory?bin_id=${bin}&sort_by=quantity&limit=100`,
      undefined,
      ({ data }) => Array.isArray(data),
    );
    if (!seen) return;
    const notes = randomUUID();
    const items = this.lines(a, b, (line) => (c + line) % 3 - 1).map(({ item_id, quantity }) => ({
      item_id,
      bin_id: bin,
      counted: Math.max(0, unitsIn(seen.data, item_id) + quantity),
    }));
    const done = await this.ask(
      this.place.ops,
      "POST",
      "/warehousing/inventory/counts",
      { warehouse_id: warehouse, notes, items },
      ({ count, transactions }) =>
        count.notes === notes && count.items.length === items.length &&
        sumOf(transactions) === count.units_found + count.units_missing,
      ["count_below_reserved"],
    );
    if (!done) return;
    const { id, differences, units_found, units_missing } = done.count;
    this.facts.report("counted", notes, `${id} ${differences} ${units_found} ${units_missing}`);
  }

  async transfer({ a, b, c }: Step): Promise<void> {
    const [from, to] = c % 2 ? this.place.shelves : [...this.place.shelves].reverse();
    const reference_number = randomUUID();
    const items = this.lines(a, b, (line) => 1 + (b + line) % 30)
      .map((line) => ({ ...line, source_bin_id: from.bin, destination_bin_id: to.bin }));
    const total = items.reduce((sum, { quantity }) => sum + quantity, 0);
    const done = await this.ask(
      this.place.ops,
      "POST",
      "/warehousing/inventory-transfers",
      {
        source_warehouse_id: from.warehouse,
        destination_warehouse_id: to.warehouse,
        reference_number,
        items,
      },
      ({ inventory_transfer: made }) => made.reference_number === reference_number,
      ["insufficient_stock"],
    );
    if (done) {
      this.facts.report("transferred", reference_number, `${done.inventory_transfer.id} ${total}`);
    }
  }

  /** A pick that is begun, and then ended or given up. */
  async pick({ a, b, c }: Step): Promise<void> {
    const { warehouse, bin } = this.place.shelves[c % 2];
    const reference_number = randomUUID();
    const path = "/warehousing/picking-orders";
    const made = await this.ask(
      this.place.ops,
      "POST",
      path,
      {
        warehouse_id: warehouse,
        order_type: "individual",
        status: "in_progress",
        reference_number,
        item_details: this.lines(a, b, (line) => 1 + (b + line) % 20)
          .map((line) => ({ ...line, bin_id: bin })),
      },
      ({ order }) => order.reference_number === reference_number,
      ["insufficient_stock"],
    );
    if (!made) return;
    const { id } = made.order;
    this.facts.report("picked", reference_number, `${id} in_progress`);
    const status = b % 3 ? "completed" : "cancelled";
    // Those who pick report it, or the office says so.
    const reported = status === "completed" && c % 4 > 1;
    const moved = await this.ask(
      this.place.ops,
      reported ? "POST" : "PUT",
      reported ? `${path}/${id}/progress` : `${path}/${id}`,
      reported ? { status, items: [] } : { status },
      ({ order }) => order.id === id && order.status === status,
    );
    if (moved) this.facts.report("picked", reference_number, `${id} ${status}`);
  }
}

/** The available quantity of an item there. */
const unitsIn = (rows: { item_id: string; status: string; quantity: number }[], item: string) =>
  sumOf(rows.filter((row) => row.item_id === item && /^(available|reserved)$/.test(row.status)));

const sumOf = (transactions: { quantity: number }[]) =>
  transactions.reduce((sum, { quantity }) => sum + quantity, 0);
