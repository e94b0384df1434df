/** A merchant of a contest: an owner whose money is on the wallet, and the requests of all who want it. */
import { delivered, handIn } from "../support/cod-holds.ts";
import { sql } from "../support/db.ts";
import type { Ground } from "../support/deliveries.ts";
import type { Asked, Caller } from "./caller.ts";
import { lastingToken, type World } from "./world.ts";

/** Requests of one of two sides. */
export const each = 10;
/** The COD that is stated. */
export const net = 7_000;
export const statements = "/delivery/merchant-statements";

type Part = "admin" | "ops" | "dispatcher" | "driver";
/** The cash stays on the desk that has to give it back. */
export const byBank: Part[] = ["ops", "admin"];

/** An owner with one COD on the wallet, and the requests about it. */
export class Merchant {
  /** The row of cash whose COD is stated. */
  row = "";

  constructor(
    private readonly world: World,
    private readonly caller: Caller,
    readonly ground: Ground,
    readonly owner: string,
  ) {}

  /** Delivers a parcel with this COD, and hands its cash in to the dispatcher unless said: the row. */
  async bringIn(cod: number, remitted = true): Promise<string> {
    const [row] = await delivered(this.ground, [cod], { customer_id: this.owner });
    if (remitted) await handIn(this.ground, [row]);
    return row;
  }

  async calls(part: Part, path: string, body: object = {}, count = each): Promise<Asked[]> {
    const token = await this.token(this.ground.tenant[part].id);
    return Array.from({ length: count }, () => ({ token, path, body }));
  }

  async opens(count = each): Promise<Asked[]> {
    const body = { owner_user_id: this.owner };
    return [
      ...await this.calls("ops", statements, body, count / 2),
      ...await this.calls("admin", statements, body, count / 2),
    ];
  }

  /** By the dispatcher in cash, by the others by bank. */
  async pays(id: string, count = each, parts: Part[] = ["dispatcher", "ops"]): Promise<Asked[]> {
    const asked: Asked[] = [];
    for (const part of parts) {
      const method = part === "dispatcher" ? "cash" : "bank";
      const path = `${statements}/${id}/pay`;
      asked.push(...await this.calls(part, path, { method }, count / parts.length));
    }
    return asked;
  }

  async debits(amount: number): Promise<Asked[]> {
    const [{ id }] = await sql`select id from money.accounts
      where tenant_id = ${this.ground.tenant.id} and kind = 'wallet' and owner_user_id = ${this.owner}`;
    const body = { amount, direction: "debit", reason: "Spent" };
    return await this.calls("admin", `/delivery/wallets/${id}/adjust`, body);
  }

  /** Reversals of the settlement of the row. */
  async reversals(): Promise<Asked[]> {
    const [{ id }] = await sql`select settlement_payment_id as id from money.cod_collections
      where id = ${this.row}`;
    const body = { reason: "Typed twice" };
    return await this.calls("admin", `/delivery/cod-settlements/${id}/reverse`, body);
  }

  async open(): Promise<string> {
    const [asked] = await this.opens(2);
    const { status, body, text } = await this.caller.surely(asked);
    if (status !== 201) throw new Error(text);
    return body.data.statement.id;
  }

  /** Balance, held, stated and available of the owner's wallet. */
  async shown(): Promise<number[]> {
    const token = await this.token(this.owner);
    const asked = { token, method: "GET", path: "/delivery/wallets/me", key: false } as const;
    const { body: { wallet } } = await this.caller.surely(asked);
    return [
      wallet.balance,
      wallet.held_balance,
      wallet.stated_balance,
      wallet.available_balance,
    ];
  }

  private token(person: string): Promise<string> {
    return lastingToken(this.world.stack, person, this.ground.tenant.id);
  }
}
