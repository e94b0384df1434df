/** Values of a recorded call that differ in every run, replaced by ones that stay: ids, times, numbers, names, secrets. */
import { createHash } from "node:crypto";
import type { Things } from "../../support/everything.ts";
import { newBarcode } from "../../support/manifests.ts";

/** When the examples take place. */
const day = Date.UTC(2026, 2, 2, 9);

/** Names that fixtures give to people, and those of the demo data. */
const people: readonly [RegExp, string][] = [
  [/^admin [0-9a-f]{4}$/, "Suad Al-Jubouri"],
  [/^ops [0-9a-f]{4}$/, "Haidar Al-Obaidi"],
  [/^dispatcher [0-9a-f]{4}$|^Dispatcher$/, "Zainab Kadhim"],
  [/^warehouse [0-9a-f]{4}$/, "Omar Al-Dulaimi"],
  [/^(staff|warehouse_staff) [0-9a-f]{4}$/, "Nour Mohammed"],
  [/^driver [0-9a-f]{4}$|^Driver$/, "Ali Hasan"],
  [/^driver2 [0-9a-f]{4}$/, "Mustafa Jasim"],
  [/^institution [0-9a-f]{4}$/, "Rafidain Pharmacy"],
  [/^institution2 [0-9a-f]{4}$/, "Mutanabbi Bookshop"],
  [/^customer [0-9a-f]{4}$|^Recipient$|^Customer$/, "Sara Hadi"],
  [/^Invited$|^Their Own Name$|^What The Company Typed$/, "Rebwar Ahmed"],
];

/** The same of everything else. */
const names: readonly [RegExp, string][] = [
  [/^Tenant$/, "Dijla Express"],
  [/^t-[0-9a-f-]{36}$/, "dijla"],
  [/^w-[0-9a-z]+-\d+-\d+$/, "furat"],
  [/^Street( \d+)?$/, "Karrada, Street 14, House 27"],
  [/^Place$/, "Karrada"],
  [/^Point \d+$/, "Karrada hub"],
  [/^PP\d+$/, "PP-KRD"],
  [/^Branch \d+$/, "Mansour branch"],
  [/^BR\d+$/, "BR-MNS"],
  [/^Zone \d+$/, "Karrada"],
  [/^Tag \d+$/, "Same day"],
  [/^Team \d+$/, "Karrada team"],
  [/^(Warehouse( \d+)?|Central)$/, "Karrada warehouse"],
  [/^Other$/, "Mansour warehouse"],
  [/^(WH|W-?)[0-9a-f]+$/, "WH-KRD"],
  [/^WO\d+$/, "WH-MNS"],
  [/^Bin( \d+)?$/, "Shelf A-01"],
  [/^B-?\d+$/, "A-01"],
  [/^Item \d+$|^Box$/, "Cardboard box"],
  [/^S[0-9a-f]{8}$/, "STD"],
  [/^(SKU-.*|SKU)$/, "BOX-30"],
  [/^[Ss]tore-[0-9a-f-]{36}$/, "dijla-sweets"],
  [/^Key$/, "Shop system"],
  [/^payment-\d+$/, "Bank transfer 4711"],
  [/^event-\d+$/, "evt-4711"],
  [/^[\w-]{36}\.example\.com$/, "shop.example.com"],
  [/^http:\/\/127\.0\.0\.1:9\/hook$/, "https://erp.example.com/barid"],
];

/** Keys whose numbers are measurements of the run. */
const measured = /_ms$/;
/** Keys whose texts nobody may use again, and such texts. */
const secretKeys = /^(secret|signature|token|access_token|hash|hint)$|_(secret|hash|token)$/;
const secretTexts = /^(whsec|barid)_/;

/** The parts of a text that are replaced. */
const replaced = new RegExp(
  [
    String.raw`(?<mail>[\w.-]+@barid\.test)`,
    String.raw`(?<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})`,
    String.raw`(?<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00))`,
    String.raw`(?<date>\b20\d\d-\d\d-\d\d\b)`,
    String.raw`(?<barcode>DM\d{10}IQ)`,
    String.raw`(?<phone>\+964770\d{7})`,
    String.raw`(?<host>http:\/\/127\.0\.0\.1:\d{4,5})`,
    String.raw`(?<address>127\.0\.0\.1:9)`,
    String
      .raw`(?<token>\beyJ[\w.-]+|\b(?=[0-9a-f]*\d)(?:[0-9a-f]{14}|[0-9a-f]{32,})\b|(?<=(?:acc|plink|pay)_)[0-9a-f]{14}|(?<=\/tracking\/)[\w-]{22})`,
    String.raw`(?<digits>(?<![+\d.])\d{6,}(?![\d.]))`,
  ].join("|"),
  "g",
);

/** Replaces what a world's runs differ in; the same thing is the same in all examples. */
export class Steady {
  private readonly seen = new Map<string, string>();
  private counts: Record<string, number> = {};

  /** `about`: the call, of which ids that no thing has are made. */
  constructor(
    private readonly about: string,
    things: Things,
    /** Ids that are the same everywhere. */
    private readonly everybodys: ReadonlySet<string>,
    private readonly now = Date.now(),
  ) {
    for (const [kind, id] of Object.entries(things)) {
      if (typeof id === "string" && isId(id) && !everybodys.has(id)) this.seen.set(id, idOf(kind));
    }
  }

  /** The value as it is kept; lists have their first row alone. */
  of(value: unknown, key = ""): unknown {
    if (Array.isArray(value)) {
      const shown = isRows(value) ? value.slice(0, 1) : value;
      return shown.map((one) => this.of(one, key));
    }
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(
        Object.entries(value).map(([name, one]) => [this.text(name, ""), this.of(one, name)]),
      );
    }
    if (typeof value === "string") return this.text(value, key);
    if (typeof value === "number") return this.number(value, key);
    return value;
  }

  private number(value: number, key: string): number {
    if (measured.test(key)) return 12;
    if (Number.isInteger(value) && value >= 100_000_000) {
      return Number(this.digits(String(value)));
    }
    return value;
  }

  private text(value: string, key: string): string {
    const named = [...(/^(en|ar|ku)$/.test(key) ? [] : people), ...names];
    const name = named.find(([pattern]) => pattern.test(value))?.[1];
    if (name !== undefined) return name;
    if (secretTexts.test(value) || secretKeys.test(key)) return this.secret(value);
    return value.replace(replaced, (text, ...rest) => {
      const groups = rest.at(-1) as Record<string, string | undefined>;
      const kind = Object.keys(groups).find((kind) => groups[kind] !== undefined)!;
      return this.part(kind, text);
    });
  }

  private part(kind: string, text: string): string {
    switch (kind) {
      case "id":
        return this.id(text);
      case "time":
        return this.time(text);
      case "date":
        return this.date(text);
      case "barcode":
        return this.remember(text, kind, (nth) => newBarcode(100_000_000 + nth));
      case "mail":
        return this.mail(text);
      case "phone":
        return this.remember(text, kind, (nth) => `+96477012345${String(nth).padStart(2, "0")}`);
      case "host":
        return "https://project.supabase.co";
      case "address":
        return "203.0.113.9:443";
      case "token":
        return this.secret(text);
      default:
        return this.digits(text);
    }
  }

  /** A file: each of its cells is a text. */
  file(text: string): string {
    return text.replace(/(?<=")[^"]+(?=")|[^",\r\n]+/g, (cell) => this.text(cell, ""));
  }

  private remember(value: string, kind: string, make: (nth: number) => string): string {
    const known = this.seen.get(value);
    if (known !== undefined) return known;
    const nth = this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    const made = make(nth);
    this.seen.set(value, made);
    return made;
  }

  private id(id: string): string {
    if (this.everybodys.has(id)) return id;
    return this.remember(id, "id", (nth) => idOf(`${this.about} ${nth}`));
  }

  private digits(digits: string): string {
    // Serial numbers have more digits at some times than at others.
    const length = digits.length > 8 && digits.length < 12 ? 9 : digits.length;
    return this.remember(
      digits,
      `digits ${length}`,
      (nth) => "1" + String(nth).padStart(length - 1, "0"),
    );
  }

  private secret(value: string): string {
    const prefix = /^[a-z]+_/.exec(value)?.[0] ?? "";
    return this.remember(value, "secret", (nth) => {
      const hex = /^[0-9a-f]+$/.test(value);
      const text = hex ? "0123456789abcdef" : "NotASecretButAnExample";
      return prefix + (text + nth).repeat(9).slice(0, value.length - prefix.length);
    });
  }

  private mail(mail: string): string {
    return this.remember(mail, "mail", (nth) => {
      const part = /^(\w+)-[0-9a-f]{8}@/.exec(mail)?.[1];
      return `${part ?? `person${nth}`}@dijla.example`;
    });
  }

  /** Times of the run keep their order; others their distance from it in hours. */
  private time(time: string): string {
    const at = Date.parse(time);
    const distance = at - this.now;
    if (Math.abs(distance) > 500 * 86_400_000) return time;
    const hour = 3_600_000;
    if (Math.abs(distance) > hour / 2) {
      return new Date(day + Math.round(distance / hour) * hour).toISOString();
    }
    return this.remember(time, "time", (nth) => new Date(day + nth * 1_000).toISOString());
  }

  private date(date: string): string {
    const distance = Date.parse(date) - Math.floor(this.now / 86_400_000) * 86_400_000;
    if (Math.abs(distance) > 500 * 86_400_000) return date;
    return new Date(day + distance).toISOString().slice(0, 10);
  }
}

const isId = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** An id made of what it names. */
function idOf(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${
    hex.slice(20, 32)
  }`;
}

/** Coordinates and codes are shown whole. */
function isRows(list: unknown[]): boolean {
  return list.some((one) => one !== null && typeof one === "object" && !Array.isArray(one));
}
