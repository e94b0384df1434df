/** The operations of a search for a driver: an offer is made, and accepted, rejected, left unanswered or replaced by hand. */
import type { Step } from "./asking.ts";
import { sql } from "../support/db.ts";
import { SendBacks } from "./send-backs.ts";
import { type Member, steadily } from "./world.ts";

const deliveries = "/delivery/deliveries";
const assignments = "/delivery/assignments";
/** An offer that is withdrawn cannot be answered any more. */
const late = ["assignment_not_pending"];
const ends = ["accepted", "rejected", "unanswered", "replaced"] as const;
const patienceMs = 60_000;

interface Offer {
  id: string;
  driver: Member;
}

export class Offers extends SendBacks {
  /** The office has a driver searched for; the one who accepts carries the parcel, perhaps to its receiver. */
  async offer({ a, b, c }: Step): Promise<void> {
    const made = await this.newDelivery(250 * (1 + a % 20));
    if (!made) return;
    const { id } = made;
    const begun = await this.ask(
      this.place.ops,
      "POST",
      `${deliveries}/${id}/auto-assign`,
      {},
      ({ data: { auto_assignment: { status, attempts } } }) =>
        status === "searching" && attempts === 0,
    );
    if (!begun) return;
    const end = ends[b % ends.length]!;
    const first = await this.offerOf(id);
    if (!first) return;
    if (end === "replaced") return await this.replace(id, first, this.driver(c));
    let last: Offer | undefined = first;
    if (end === "rejected" && !await this.reply(first, "rejected")) return;
    if (end === "unanswered") await this.lapse(id);
    if (end !== "accepted") last = await this.offerOf(id, first);
    if (!last || !await this.reply(last, "accepted")) return;
    this.facts.report("assigned", id, last.driver.id);
    this.facts.report("searched", id, end === "accepted" ? "assigned 1 0" : "assigned 2 1");
    if (end === "unanswered") await this.tooLate(first);
    if (c % 2) return;
    for (const step of ["pickup", "depart", "complete"]) {
      const moved = await this.move(last.driver, id, step);
      if (!moved) return;
      if (step !== "complete") continue;
      const { cod_amount, price } = moved.delivery;
      this.facts.report("collected", id, `${last.driver.id} 1 ${cod_amount + price}`);
    }
  }

  /** The office assigns what is only offered: it has to say so, and the offer is no more. */
  private async replace(id: string, offer: Offer, driver: Member): Promise<void> {
    const { ops } = this.place;
    const body = { delivery_id: id, driver_id: driver.id };
    await this.refused(ops, "POST", assignments, body, ["delivery_already_assigned"]);
    const given = await this.ask(
      ops,
      "POST",
      assignments,
      { ...body, replace_offer: true },
      (answer) => typeof answer.id === "string" && answer.id !== offer.id,
    );
    if (!given) return;
    this.facts.report("assigned", id, driver.id);
    this.facts.report("searched", id, "off 1 0");
    await this.tooLate(offer);
    await this.reply({ id: given.id, driver }, "accepted");
  }

  /** Does what the functions do as well, whichever of them is alive, until a driver is asked; another than before. */
  private async offerOf(id: string, before?: Offer): Promise<Offer | undefined> {
    const { id: tenant, crew } = this.place;
    for (const until = Date.now() + patienceMs; Date.now() < until;) {
      await steadily(() => sql`select delivery.search_step(${tenant}, ${id})`);
      const [asked] = await steadily(() =>
        sql<{ id: string; driver_id: string }[]>`select id, driver_id from delivery.assignments
          where tenant_id = ${tenant} and delivery_id = ${id} and status = 'pending'`
      );
      const driver = crew.find((one) => one.id === asked?.driver_id);
      if (asked && driver && asked.id !== before?.id) return { id: asked.id, driver };
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    this.facts.wrong.push(`the search for a driver of ${id} asks nobody`);
  }

  /** The time to answer is over. */
  private lapse(id: string): Promise<unknown> {
    return steadily(() =>
      sql`update delivery.driver_searches set next_attempt_at = now() - interval '1 second'
        where tenant_id = ${this.place.id} and delivery_id = ${id} and status = 'offered'`
    );
  }

  private reply({ id, driver }: Offer, status: "accepted" | "rejected") {
    return this.ask(
      driver,
      "PUT",
      `${assignments}/${id}`,
      { status },
      (answer) => answer.id === id && answer.status === status,
    );
  }

  private tooLate({ id, driver }: Offer): Promise<void> {
    return this.refused(driver, "PUT", `${assignments}/${id}`, { status: "accepted" }, late);
  }
}
