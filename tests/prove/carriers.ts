/** The operations of parcels that another company carries: bookings, their cancellation, signed reports, and the cash it owes. */
import { randomUUID } from "node:crypto";
import type { Body } from "../support/api.ts";
import { external, signedBy } from "../support/carriers.ts";
import { sql } from "../support/db.ts";
import type { Step } from "./asking.ts";
import { OnTheWay } from "./on-the-way.ts";
import { steadily } from "./world.ts";

const deliveries = "/delivery/deliveries";
const shipments = "/carriers/shipments";
type Report = "picked_up" | "in_transit" | "failed" | "delivered" | "returned";

/** The reports of a parcel that reaches its door, and of one that comes back. */
const ways: Record<"out" | "back", Report[][]> = {
  out: [
    ["picked_up", "in_transit", "delivered"],
    ["delivered"],
    ["picked_up", "failed", "in_transit", "delivered"],
  ],
  back: [["picked_up", "failed", "returned"], ["returned"], ["in_transit", "returned"]],
};

/** A delivery with a carrier, which knows it by a number, and the statuses that it has had. */
interface Consigned {
  id: string;
  tracking_number: string;
  cash_due: number;
  had: string[];
}

/** After this many answers that a booking is under way, the time that its claim lasts is over. */
const triesOfClaim = 4;
const patienceMs = 60_000;

export class Carriers extends OnTheWay {
  /** Ordered, booked with a carrier, and reported delivered, twice at the same moment: the carrier has the cash. */
  async carry({ a }: Step): Promise<void> {
    const cod = 250 + 250 * (a % 90);
    const id: string | undefined = (await this.newDelivery(cod, external))?.id;
    if (!id) return;
    this.facts.report("carried", id, "pending");
    const booked = await this.book(id);
    if (!booked) return;
    const { cash_due } = booked;
    if (cash_due <= cod) this.facts.wrong.push(`${id} is booked for ${cash_due} of ${cod}`);
    const told = await Promise.all([0, 1].map(async () => {
      const event = randomUUID();
      const said = await this.tell(booked, "delivered", event, ["applied", "unchanged"]);
      if (said) this.facts.report("reported", event, `${id} ${said.outcome}`);
      return said;
    }));
    if (!told.some(Boolean)) return;
    this.had(booked, "delivered");
    this.facts.report("owed", id, `${this.place.carrier.code} 1 ${cash_due}`);
  }

  /** Booked, perhaps cancelled and booked anew; then its carrier reports step by step, each twice at the same moment. */
  async consign({ a, b, c }: Step): Promise<void> {
    const { customers, carrier } = this.place;
    const sender = customers[a % customers.length];
    const comesBack = b % 3 === 0;
    const waits = a % 2 === 0;
    const made = await this.newDelivery(comesBack ? 0 : 250 * (1 + a % 40), {
      ...waits ? {} : external,
      ...comesBack
        ? { customer_id: sender.id, payer_type: "sender", payment_method: "wallet" }
        : {},
    });
    if (!made) return;
    const { id } = made;
    if (waits) {
      if (!await this.giveToCarrier(id)) return;
    } else this.facts.report("carried", id, "pending");
    let booked = await this.book(id);
    if (!booked) return;
    if (c % 3 === 0) {
      booked = await this.bookAnew(booked, c % 2 === 0);
      if (!booked) return;
    }
    const list = ways[comesBack ? "back" : "out"];
    for (const report of list[c % list.length]) {
      if (!await this.tellTwice(booked, report)) return;
    }
    if (comesBack) this.facts.report("returned", id, `${sender.id} ${made.price}`);
    else this.facts.report("owed", id, `${carrier.code} 1 ${booked.cash_due}`);
    // After its end a booking is not cancelled, and a report of it is not believed.
    await this.refused(this.place.ops, "POST", `${shipments}/${id}/cancel`, undefined, [
      "delivery_not_bookable",
    ]);
    const event = randomUUID();
    const late = await this.tell(booked, "failed", event, ["impossible"]);
    if (late) this.facts.report("reported", event, `${id} impossible`);
  }

  /** A delivery that waits for one of the company's own drivers. */
  protected async giveToCarrier(id: string): Promise<boolean> {
    const given = await this.ask(
      this.place.ops,
      "PATCH",
      `${deliveries}/${id}/carrier`,
      external,
      ({ delivery }) => delivery.id === id && delivery.carrier_type === "external",
    );
    if (given) this.facts.report("carried", id, "pending");
    return given !== undefined;
  }

  protected async book(id: string): Promise<Consigned | undefined> {
    const { code } = this.place.carrier;
    const shipment = await this.shipment(id, "", { carrier_code: code }, "booked");
    if (!shipment) return;
    const { tracking_number, cash_due } = shipment;
    return { id, tracking_number, cash_due, had: ["pending"] };
  }

  /** The booking is cancelled, and its number means nothing; `again`: another one is made. */
  private async bookAnew(booked: Consigned, again: boolean): Promise<Consigned | undefined> {
    const { id } = booked;
    if (!await this.shipment(id, "/cancel", undefined, "cancelled")) return;
    await this.refused(this.place.ops, "POST", `${shipments}/${id}/cancel`, undefined, [
      "shipment_not_found",
    ]);
    const event = randomUUID();
    const told = await this.tell(booked, "picked_up", event, ["unknown_shipment"]);
    if (told) this.facts.report("reported", event, `${id} unknown_shipment`);
    return again ? await this.book(id) : undefined;
  }

  /**
   * Books or cancels, under one key until it is known. A call that was cut off still has the shipment; it is free when the
   * minutes of a claim are over, which pass here at once.
   */
  private async shipment(
    id: string,
    call: "" | "/cancel",
    body: object | undefined,
    status: string,
  ): Promise<Body | undefined> {
    const key = randomUUID();
    // Faults may cut off one call after the other.
    const until = performance.now() + patienceMs;
    for (let attempt = 1; performance.now() < until; attempt++) {
      const done = await this.ask(
        this.place.ops,
        "POST",
        `${shipments}/${id}${call}`,
        body,
        ({ shipment }) => shipment.delivery_id === id && shipment.status === status,
        ["shipment_in_progress"],
        {},
        key,
      );
      if (done) {
        const { id: shipment, tracking_number, cash_due } = done.shipment;
        this.facts.report("booked", shipment, `${id} ${status} ${tracking_number} ${cash_due}`);
        return done.shipment;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(50 * attempt, 250)));
      if (attempt % triesOfClaim === 0) await this.lapseClaim(id);
    }
    this.facts.wrong.push(`${shipments}/${id}${call} comes to no end`);
  }

  private lapseClaim(delivery: string): Promise<unknown> {
    return steadily(() =>
      sql`update integration.carrier_shipments set claimed_at = now() - interval '1 hour'
        where tenant_id = ${this.place.id} and delivery_id = ${delivery} and status in ('booking', 'cancelling')`
    );
  }

  /** One report that arrives twice at the same moment is applied once, and both times that is the answer. */
  protected async tellTwice(parcel: Consigned, status: Report): Promise<boolean> {
    const event = randomUUID();
    const told = await Promise.all(
      [0, 1].map(() => this.tell(parcel, status, event, ["applied"])),
    );
    if (!told.every(Boolean)) return false;
    this.facts.report("reported", event, `${parcel.id} applied`);
    this.had(parcel, status);
    return true;
  }

  /** Carriers have no token: the signature is the proof. */
  private tell(
    { tracking_number }: Consigned,
    status: Report,
    event_id: string,
    outcomes: readonly string[],
  ): Promise<Body | undefined> {
    const { id: tenant, ops, carrier } = this.place;
    const body = { event_id, tracking_number, status };
    return this.ask(
      ops,
      "POST",
      `/carriers/webhooks/${carrier.code}/${tenant}`,
      body,
      ({ outcome }) => outcomes.includes(outcome),
      [],
      { "x-carrier-signature": signedBy(carrier.secret, JSON.stringify(body)) },
    );
  }

  /** That it was taken goes without saying in the first report. */
  private had(parcel: Consigned, status: Report): void {
    if (parcel.had.at(-1) === "pending" && status !== "in_transit") {
      parcel.had.push(status === "picked_up" ? "accepted" : "in_transit");
    }
    parcel.had.push(status);
    this.facts.report("carried", parcel.id, parcel.had.join(" "));
  }

  /** The carrier pays for some of what it collected; some payments are reversed, and owed again. */
  async pay({ a, b }: Step): Promise<void> {
    const { id: tenant, admin, carrier } = this.place;
    const rows = await steadily(() =>
      sql`select id, amount from money.carrier_collections where tenant_id = ${tenant} and status = 'owed'
        order by random() limit ${1 + b % 5}`
    );
    if (rows.length === 0) return;
    const amount = rows.reduce((sum, row) => sum + row.amount, 0);
    // Every other time it keeps something, now and then all of it.
    const charges = [0, Math.min(amount, 250), 0, amount][b % 4]!;
    const reference = randomUUID();
    const path = `/carriers/tenant/${carrier.code}/remittances`;
    const paid = await this.ask(
      admin,
      "POST",
      path,
      {
        amount,
        charges,
        currency: "IQD",
        reference,
        carrier_collection_ids: rows.map(({ id }) => id),
      },
      ({ remittance }) =>
        remittance.reference === reference && remittance.amount === amount &&
        remittance.received === amount - charges,
      ["cod_collections_not_pending"],
    );
    if (!paid) return;
    const { id } = paid.remittance;
    const fact = `${id} ${amount} ${charges} ${rows.length}`;
    this.facts.report("paid", reference, fact);
    if (a % 4) return;
    const back = await this.ask(
      admin,
      "POST",
      `${path}/${id}/reverse`,
      { reason: reference },
      ({ remittance }) => remittance.id === id && remittance.reversal_reason === reference,
      ["insufficient_desk_cash"],
    );
    if (back) this.facts.report("paid", reference, `${fact} reversed`);
  }
}
