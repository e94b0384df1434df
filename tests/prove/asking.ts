/** A client who checks the answers they get and keeps what they said. */
import type { Attempt, Caller } from "./caller.ts";
import type { Facts } from "./facts.ts";
import type { DriverOf, Member, Place } from "./world.ts";

/** One operation; the letters are random numbers. */
export interface Step {
  a: number;
  b: number;
  c: number;
}

export class Asking {
  constructor(
    protected readonly place: Place,
    private readonly caller: Caller,
    protected readonly facts: Facts,
  ) {}

  /** Asks until it is known, and checks the answer: done as `right` says, or refused with one of `codes`. A new key unless said. */
  protected async ask(
    who: Member,
    method: string,
    path: string,
    body: unknown,
    right: (answer: Attempt["body"]) => boolean,
    codes: readonly string[] = [],
    headers: Record<string, string> = {},
    key?: string,
  ): Promise<Attempt["body"] | undefined> {
    const seen = await this.caller.surely({ token: who.token, method, path, body, headers, key });
    if (seen.status >= 200 && seen.status < 300 && fits(right, seen.body)) {
      this.facts.acknowledged++;
      return seen.body;
    }
    if (seen.status < 400 || seen.status >= 500 || !codes.includes(seen.body.code)) {
      this.facts.wrong.push(
        `${method} ${path} ${JSON.stringify(body)?.slice(0, 300)}: ${seen.status} ${
          seen.text.slice(0, 300)
        }`,
      );
    }
  }

  /** Asks for what cannot be: refused with one of `codes`. */
  protected async refused(
    who: Member,
    method: string,
    path: string,
    body: unknown,
    codes: readonly string[],
  ): Promise<void> {
    await this.ask(who, method, path, body, () => false, codes);
  }

  protected driver = (index: number): DriverOf =>
    this.place.drivers[index % this.place.drivers.length];
}

/** An answer to another question may lack what is looked at. */
function fits(right: (answer: Attempt["body"]) => boolean, answer: Attempt["body"]): boolean {
  try {
    return right(answer);
  } catch {
    return false;
  }
}
