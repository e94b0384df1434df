/** The wallet of a merchant, its parcels and its statements as a model: the answer to each step, and the state after it. */

/** The company's rule (setting delivery.payouts). */
export interface Rule {
  release: "on_delivery" | "on_remit";
  hold_days: number;
  keep: number;
  minimum: number;
}

export interface Parcel {
  id: string;
  cod: number;
  /** Fee that the wallet paid, and that may be given back once. */
  fee: number;
  refunded: boolean;
  /** A driver has its cash; false: it is handed in. */
  out: boolean;
  /** The step of the outcome, when its cash was taken; undefined: not delivered yet. */
  takenAt?: bigint;
  undone: boolean;
  settlement?: string;
  /** Held by the rule of the moment of collection: its cash is waited for, and until a day. */
  hold?: { release: Rule["release"]; day: number };
}

type Kind = "cod" | "delivery_fee" | "refund" | "adjustment";

interface Movement {
  version: number;
  kind: Kind;
  amount: number;
  at: bigint;
  /** The parcel whose COD, fee or refund it is. */
  parcel?: Parcel;
}

/** A line as the database has it; movement null: what is kept. */
export interface Line {
  movement: number | null;
  kind: Kind;
  amount: number;
}

export interface Statement {
  id: string;
  net: number;
  status: "open" | "paid" | "void";
  lines: Line[];
}

export interface Shown {
  balance: number;
  held: number;
  stated: number;
}

const sumOf = (list: readonly { amount: number }[]) =>
  list.reduce((sum, { amount }) => sum + amount, 0);

export class Wallet {
  balance = 0;
  /** Entries of the ledger; payouts are among them and no movements. */
  version = 0;
  day = 0;
  rule: Rule = { release: "on_remit", hold_days: 0, keep: 0, minimum: 0 };
  /** False while the owner is shut out: statements keep nothing, and have no least amount. */
  member = true;
  readonly parcels: Parcel[] = [];
  readonly statements: Statement[] = [];
  readonly #movements: Movement[] = [];

  /** The part of the rule that holds for statements of this owner. */
  get terms(): Pick<Rule, "keep" | "minimum"> {
    return this.member ? this.rule : { keep: 0, minimum: 0 };
  }

  shown(): Shown {
    const open = this.statements.filter(({ status }) => status === "open");
    return {
      balance: this.balance,
      held: this.#movements.reduce((sum, movement) => sum + this.#held(movement), 0),
      stated: open.reduce((sum, { net }) => sum + net, 0),
    };
  }

  /** True when this much can be taken by orders and debits. */
  spends(amount: number): boolean {
    const { balance, held, stated } = this.shown();
    return balance - amount >= 0 && balance - amount - held - stated >= 0;
  }

  move(kind: Kind, amount: number, at: bigint, parcel?: Parcel): void {
    this.balance += amount;
    this.#movements.push({ version: ++this.version, kind, amount, at, parcel });
  }

  delivered(parcel: Parcel, at: bigint): void {
    const { release, hold_days } = this.rule;
    parcel.takenAt = at;
    parcel.out = true;
    if (release === "on_remit" || hold_days > 0) {
      parcel.hold = { release, day: this.day + hold_days };
    }
    this.move("cod", parcel.cod, at, parcel);
  }

  /** The refusal of an undo; undefined: it is undone. */
  undone(parcel: Parcel, at: bigint): string | undefined {
    const since = this.#movements.filter((one) =>
      one.parcel === parcel && one.at >= parcel.takenAt!
    );
    if (since.some((movement) => this.#saying(movement).length)) return "outcome_is_settled";
    // Held COD could not be spent: it goes, whatever else is available.
    const held = since.some((movement) => this.#held(movement) > 0);
    parcel.undone = true;
    if (held ? this.balance < parcel.cod : !this.spends(parcel.cod)) {
      parcel.undone = false;
      return "insufficient_wallet_balance";
    }
    this.move("cod", -parcel.cod, at);
  }

  /** The lines that a statement of movements until a moment has now; undefined: none is made. */
  due(until: bigint | undefined): Line[] | undefined {
    const lines = this.#movements.flatMap((movement): Line[] => {
      if (until !== undefined && movement.at > until) return [];
      const said = this.#saying(movement);
      const amount = movement.amount - this.#held(movement) - sumOf(said);
      const kind = said.length ? "adjustment" : movement.kind;
      return amount ? [{ movement: movement.version, kind, amount }] : [];
    });
    const { keep, minimum } = this.terms;
    for (const amount of [this.kept(), -keep]) {
      if (amount) lines.push({ movement: null, kind: "adjustment", amount });
    }
    const net = sumOf(lines);
    return net > 0 && net >= minimum ? lines : undefined;
  }

  /** The part of the wallet that statements keep. */
  kept(): number {
    return 0 - sumOf(this.#said().filter(({ movement }) => movement === null));
  }

  made(id: string, lines: Line[]): void {
    this.statements.push({ id, net: sumOf(lines), status: "open", lines });
  }

  /** The refusal of a payout; undefined: it is paid. */
  paid(statement: Statement): string | undefined {
    if (statement.status === "paid") return "statement_already_paid";
    if (statement.status === "void") return "statement_not_open";
    const { balance, held } = this.shown();
    if (balance - held < statement.net) return "statement_not_covered";
    statement.status = "paid";
    this.balance -= statement.net;
    this.version++;
  }

  reversed(statement: Statement): string | undefined {
    if (statement.status !== "paid") return "statement_not_paid";
    statement.status = "open";
    this.balance += statement.net;
    this.version++;
  }

  voided(statement: Statement): string | undefined {
    if (statement.status !== "open") return "statement_not_open";
    statement.status = "void";
  }

  #said(): Line[] {
    return this.statements.flatMap(({ status, lines }) => status === "void" ? [] : lines);
  }

  #saying({ version }: Movement): Line[] {
    return this.#said().filter(({ movement }) => movement === version);
  }

  #held({ kind, amount, parcel }: Movement): number {
    if (kind !== "cod" || !parcel?.hold || parcel.undone) return 0;
    const { release, day } = parcel.hold;
    return release === "on_remit" && parcel.out || this.day < day ? amount : 0;
  }
}
