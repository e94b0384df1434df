/**
 * An independent account of desks' queues: cash is coins of 250, each with the name of its row and its place in the order of arrival. A
 * desk gives its coins with the lowest places; what was wrongly entered is set right by exchanging the names of coins.
 */
export const coin = 250;

export interface Coin {
  /** Empty: cash from the bank, of no row. */
  row: string;
  place: number;
}

export interface Row {
  /** Whose row it is. */
  by: "driver" | "carrier";
  coins: number;
  held: boolean;
  status: "collected" | "remitted" | "settled_by_wallet";
}

export interface Settlement {
  kind: "settlement";
  rows: string[];
  /** Null: from the driver's wallet. */
  desk: number | null;
  /** The coins of it that its carrier kept. */
  kept: number;
  reversed: boolean;
}

export interface Transfer {
  kind: "transfer";
  from: number;
  /** Null: to the bank. */
  to: number | null;
  /** The coins that left, and of a handover their names then. */
  coins: Coin[];
  names: Coin[];
  reversed: boolean;
}

/** Cash that came to a desk from outside. */
export interface Arrival {
  kind: "arrival";
  desk: number;
  place: number;
  count: number;
  reversed: boolean;
}

export class Coins {
  readonly rows: Record<string, Row> = {};
  readonly done: Record<string, Settlement | Transfer | Arrival> = {};
  /** The coins that left with the reversal of an arrival. */
  private readonly left: Record<string, Transfer> = {};
  /** Coins that changed names. */
  exchanged = 0;
  private last = 0;
  /** `order`: the desks in the order of their accounts. */
  constructor(readonly desks: Coin[][], private readonly order: () => number[]) {}

  /** Of the oldest of its rows a carrier may keep some coins, which come to no desk. */
  settle(id: string, rows: string[], desk: number | null, kept = 0): void {
    let missing = kept;
    for (const row of rows) {
      const place = ++this.last;
      this.rows[row]!.status = desk === null ? "settled_by_wallet" : "remitted";
      if (desk === null) continue;
      const gone = Math.min(missing, this.rows[row]!.coins);
      missing -= gone;
      for (let n = gone; n < this.rows[row]!.coins; n++) this.desks[desk]!.push({ row, place });
    }
    this.done[id] = { kind: "settlement", rows, desk, kept, reversed: false };
  }

  /** False: the desk holds less. */
  move(id: string, from: number, to: number | null, count: number): boolean {
    if (this.desks[from]!.length < count) return false;
    const coins = this.oldest(from).slice(0, count);
    this.leave(from, coins);
    if (to !== null) this.desks[to]!.push(...coins);
    const names = coins.map((one) => ({ ...one }));
    this.done[id] = { kind: "transfer", from, to, coins, names, reversed: false };
    return true;
  }

  arrive(id: string, desk: number, count: number): void {
    const place = ++this.last;
    this.desks[desk]!.push(...Array.from({ length: count }, () => ({ row: "", place })));
    this.done[id] = { kind: "arrival", desk, place, count, reversed: false };
  }

  /** Own coins leave first, then the oldest: as by a transfer that stays. */
  private goBack(id: string, { desk, place, count }: Arrival): boolean {
    if (this.desks[desk]!.length < count) return false;
    const isOwn = (one: Coin) => one.row === "" && one.place === place;
    const own = this.desks[desk]!.filter(isOwn).slice(0, count);
    const others = this.oldest(desk).filter((one) => !own.includes(one));
    const coins = [...own, ...others.slice(0, count - own.length)];
    this.leave(desk, coins);
    const names: Coin[] = [];
    this.left[id] = { kind: "transfer", from: desk, to: null, coins, names, reversed: false };
    return true;
  }

  /** False: the desk that has to give holds less. */
  reverse(id: string): boolean {
    const one = this.done[id]!;
    if (one.kind === "settlement") {
      if (one.desk !== null && !this.give(one, one.desk)) return false;
      for (const row of one.rows) this.rows[row]!.status = "collected";
    } else if (one.kind === "arrival") {
      if (!this.goBack(id, one)) return false;
    } else if (one.to === null) {
      this.desks[one.from]!.push(...one.coins);
    } else {
      const { to, names } = one;
      if (this.desks[to]!.length < names.length) return false;
      const own = this.desks[to]!.filter((here) => {
        const index = names.findIndex(({ row, place }) => row === here.row && place === here.place);
        return index >= 0 && names.splice(index, 1);
      });
      const others = this.oldest(to).filter((here) => !own.includes(here)).slice(0, names.length);
      this.leave(to, [...own, ...others]);
      this.desks[one.from]!.push(...own, ...others);
    }
    one.reversed = true;
    return true;
  }

  /** The coins of a settlement go back to who brought them; those that are elsewhere change names with the oldest that are there. */
  private give({ rows, kept }: Settlement, desk: number): boolean {
    const count = rows.reduce((sum, row) => sum + this.rows[row]!.coins, -kept);
    if (this.desks[desk]!.length < count) return false;
    const mine = ({ row }: Coin) => rows.includes(row);
    const byPlace = (coins: Coin[]) => coins.filter(mine).sort((a, b) => a.place - b.place);
    const left = Object.values({ ...this.done, ...this.left });
    const banked = left.flatMap((one) =>
      one.kind === "transfer" && one.to === null && !one.reversed ? byPlace(one.coins) : []
    );
    const elsewhere = this.order().filter((other) => other !== desk)
      .flatMap((other) => byPlace(this.desks[other]!));
    const others = this.oldest(desk).filter((one) => !mine(one));
    for (const [index, gone] of [...banked, ...elsewhere].entries()) {
      const other = others[index]!;
      this.exchanged++;
      [gone.row, other.row] = [other.row, gone.row];
      [gone.place, other.place] = [other.place, gone.place];
    }
    this.leave(desk, this.desks[desk]!.filter(mine));
    return true;
  }

  private oldest(desk: number): Coin[] {
    return this.desks[desk]!.toSorted((a, b) => a.place - b.place);
  }

  private leave(desk: number, coins: Coin[]): void {
    const gone = new Set(coins);
    this.desks[desk] = this.desks[desk]!.filter((one) => !gone.has(one));
  }

  /** Of each desk how much of each row lies there, and which rows are held. */
  seen(): { there: Record<string, number>; held: string[] } {
    const there: Record<string, number> = {};
    for (const [desk, coins] of this.desks.entries()) {
      for (const { row } of coins.filter(({ row }) => row)) {
        there[`${desk} ${row}`] = (there[`${desk} ${row}`] ?? 0) + coin;
      }
    }
    const lies = new Set(this.desks.flat().map(({ row }) => row));
    const held = Object.entries(this.rows)
      .filter(([row, { held, status }]) => held && (status === "collected" || lies.has(row)))
      .map(([row]) => row).sort();
    return { there, held };
  }
}
