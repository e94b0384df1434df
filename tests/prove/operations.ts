/** Every call that moves money or stock, as clients make it; each compares its answers with what it asked. */
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { newManifest } from "../support/manifests.ts";
import { orderOf } from "../support/orders.ts";
import { atGateway, eventFor, sign } from "../support/payments.ts";
import type { Step } from "./asking.ts";
import { OrderParts, reachable } from "./order-parts.ts";
import { type Member, steadily } from "./world.ts";

export const kinds = [
  "deliver",
  "carry",
  "pay",
  "bulk",
  "remit",
  "settle",
  "deposit",
  "payOut",
  "adjust",
  "receive",
  "correct",
  "writeOff",
  "takeBack",
  "shelve",
  "count",
  "transfer",
  "pick",
  "destine",
  "buy",
  "comeBack",
  "handOver",
  "travel",
  "comeShort",
  "giveBack",
  "breakDown",
  "atDoor",
  "split",
  "undo",
  "changeAmount",
  "sendElsewhere",
  "offer",
  "state",
  "payStatement",
  "reversePayout",
  "voidStatement",
] as const;

/** How customers pay; both last ones are gateways. */
const ways = ["wallet", "cash", "razorpay", "gatewayone"] as const;
const nobody: Member = { id: "", token: "" };

/** The operations, and the random numbers for them. */
export interface Operation extends Step {
  kind: typeof kinds[number];
}

const die = fc.nat(9_999);
const arbitrary: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom(
    ...kinds,
    "deliver" as const,
    "remit" as const,
    "settle" as const,
    "state" as const,
    "state" as const,
    "buy" as const,
  ),
  a: die,
  b: die,
  c: die,
});

/** Operations without end; the same ones for a seed. */
export function* operations(seed: number): Generator<Operation> {
  for (let page = 0;; page++) yield* fc.sample(arbitrary, { seed: seed + page, numRuns: 500 });
}

export class Actor extends OrderParts {
  /** Those who are not buying at the moment: everybody has one cart. */
  readonly #customers: Member[] = [...this.place.customers];

  async run(step: Operation): Promise<void> {
    await this[step.kind](step);
  }

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

  /** A manifest's items received and ordered in one action, then perhaps sent elsewhere, or one called off and ordered anew. */
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

  /** A cart that is ordered, approved, and then brought or cancelled, which gives back what was paid. */
  async buy({ a, b, c }: Step): Promise<void> {
    const customer = this.#customers.shift();
    if (!customer) return await this.adjust({ a, b, c });
    try {
      await this.order(customer, a, b, c);
    } finally {
      this.#customers.push(customer);
    }
  }

  /** As buying, of goods that two warehouses have together. */
  async split(step: Step): Promise<void> {
    const customer = this.#customers.shift();
    if (!customer) return await this.adjust(step);
    try {
      await this.orderFromTwo(customer, step);
    } finally {
      this.#customers.push(customer);
    }
  }

  private async order(customer: Member, a: number, b: number, c: number): Promise<void> {
    const { shop, admin } = this.place;
    const opened = await this.ask(customer, "POST", "/storefront/carts", {
      marketId: shop.store.id,
    }, ({ data }) => data.status === "active" && data.items.length === 0);
    if (!opened) return;
    const cart: string = opened.data.id;
    const quantity = 1 + a % 3;
    const filled = await this.ask(customer, "POST", `/storefront/carts/${cart}/items`, {
      variantId: shop.product.variant,
      quantity,
    }, ({ data }) => data.id === cart && data.totalItems === quantity);
    if (!filled) return;
    const way = ways[c % ways.length];
    const gateway = way === "razorpay" || way === "gatewayone";
    const confirmed = await this.ask(
      customer,
      "POST",
      "/storefront/orders/confirm",
      { ...orderOf(shop, cart, way), address: reachable },
      ({ order, instructions }) =>
        order.totalItems === quantity && Boolean(instructions?.redirect_url) === gateway,
    );
    if (!confirmed) return;
    const { id, totalPrice, order_number } = confirmed.order;
    let paid = way === "wallet" ? "paid" : "pending";
    this.facts.report("bought", cart, `${id} pending ${paid}`);
    if (gateway && b % 5) {
      const { instructions } = confirmed;
      const told = way === "razorpay"
        ? await this.tellSigned(instructions.gateway_order_id, totalPrice, a)
        : await this.tellUnsigned(instructions, a);
      if (!told) return;
      if (way === "razorpay" && a % 2 === 0) {
        await this.settleLess(instructions.gateway_order_id, totalPrice - 1, a % 4 === 0);
      }
      paid = "paid";
      this.facts.report("bought", cart, `${id} pending ${paid}`);
      this.facts.report("charged", id, `1 ${totalPrice}`);
    }
    // An order that is unpaid at the gateway is not approved.
    if (b % 4 && (paid === "paid" || !gateway)) {
      const approved = await this.ask(
        admin,
        "PUT",
        `/storefront/orders/${id}/approve`,
        {},
        ({ data }) => data.order.id === id && data.deliveries.length === 1,
      );
      if (!approved) return;
      this.facts.report("bought", cart, `${id} confirmed ${paid}`);
      if (b % 2 && c % 5) {
        const [{ delivery_id: delivery }] = approved.data.deliveries;
        const order = { id, number: order_number, cart, delivery, quantity, total: totalPrice };
        await this.bringOrder({ ...order, paid: paid === "paid" }, this.driver(a + c), a + b);
      }
    }
    if (b % 2) return;
    const cancelled = await this.ask(admin, "PUT", `/storefront/orders/${id}/cancel`, {
      reason: "other",
    }, ({ data }) => data.order.id === id);
    if (!cancelled) return;
    this.facts.report("bought", cart, `${id} cancelled ${paid}`);
    if (paid === "paid") this.facts.report("refunded", id, String(totalPrice));
  }

  /** One to three copies of the gateway's signed event at once, and one that says less than is due. */
  private async tellSigned(number: string, total: number, a: number): Promise<boolean> {
    const { shop } = this.place;
    const right = eventFor(shop, number, total);
    const less = eventFor(shop, number, total - 1, { id: `pay_less_${number}` });
    const events = [...Array.from({ length: 1 + a % 3 }, () => right), ...a % 2 ? [] : [less]];
    const answers = await Promise.all(events.map((event) => this.notify("razorpay", event)));
    return answers.every(Boolean);
  }

  /** An amount that is too small matches no payment: it goes to the customer's wallet, or is refunded at the gateway. */
  private async settleLess(number: string, amount: number, credit: boolean): Promise<void> {
    const { admin } = this.place;
    const transaction = `pay_less_${number}`;
    const open = await this.ask(
      admin,
      "GET",
      `/payment/webhook-events?open=true&search=${transaction}`,
      undefined,
      ({ data }) => data.length === 1 && data[0].gateway_transaction_id === transaction,
    );
    if (!open) return;
    const action = credit ? "credit_wallet" : "refund";
    const settled = await this.ask(
      admin,
      "POST",
      `/payment/webhook-events/${open.data[0].id}/resolve`,
      { resolution: credit ? "credited_by_adjustment" : "refunded_at_gateway", action },
      ({ data }) => data.action === action && !data.is_open,
    );
    if (settled) this.facts.report("resolved", transaction, `${action} 1 ${amount}`);
  }

  /** Paid at the gateway, and one or two hints of it, of which none proves anything. */
  private async tellUnsigned(
    { redirect_url, gateway_order_id }: { redirect_url: string; gateway_order_id: string },
    a: number,
  ): Promise<boolean> {
    await atGateway(redirect_url, "pay", "yes");
    const hint = {
      terminal: "LOCAL001",
      actionCode: "0",
      responseCode: "00",
      statusMsg: "Approved",
      amount: "1",
      currency: "368",
      rrn: "123456789012",
      orderId: gateway_order_id,
    };
    // One after the other: while the first asks the gateway, a second is told to come again.
    for (let copy = 0; copy <= a % 2; copy++) {
      if (!await this.notify("gatewayone", hint)) return false;
    }
    return true;
  }

  private async notify(code: string, event: object): Promise<boolean> {
    const signature = sign(JSON.stringify(event));
    const answer = await this.ask(
      nobody,
      "POST",
      `/payment/webhooks/${code}`,
      event,
      ({ message }) => message === "received",
      [],
      code === "razorpay" ? { "x-gateway-signature": signature } : {},
    );
    return answer !== undefined;
  }
}

/** The available quantity of an item there. */
const unitsIn = (rows: { item_id: string; status: string; quantity: number }[], item: string) =>
  sumOf(rows.filter((row) => row.item_id === item && /^(available|reserved)$/.test(row.status)));

const sumOf = (transactions: { quantity: number }[]) =>
  transactions.reduce((sum, { quantity }) => sum + quantity, 0);
