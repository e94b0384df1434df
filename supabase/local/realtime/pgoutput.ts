import { Buffer } from "node:buffer";

/** A column of a table, as the stream announces it. */
export interface Column {
  name: string;
  isKey: boolean;
}

/** A changed row; values are Postgres's text form. */
export interface Change {
  type: "INSERT" | "UPDATE" | "DELETE";
  schema: string;
  table: string;
  columns: Column[];
  /** The row, or what its replica identity kept of it after a delete. */
  row: Record<string, string | null>;
}

interface Relation {
  schema: string;
  table: string;
  columns: Column[];
}

/** Reads messages of logical decoding's `pgoutput`, version 1; remembers the tables that were announced. */
export function pgoutputReader(): (message: Buffer) => Change | undefined {
  const relations = new Map<number, Relation>();
  return (message) => {
    const at = new Reader(message);
    switch (at.char()) {
      case "R":
        relations.set(...relation(at));
        return undefined;
      case "I":
        return change(at, relations, "INSERT");
      case "U":
        return change(at, relations, "UPDATE");
      case "D":
        return change(at, relations, "DELETE");
      default:
        return undefined;
    }
  };
}

function relation(at: Reader): [number, Relation] {
  const id = at.int32();
  const schema = at.text();
  const table = at.text();
  at.char();
  const columns = Array.from({ length: at.int16() }, () => {
    const isKey = at.int8() === 1;
    const name = at.text();
    at.int32();
    at.int32();
    return { name, isKey };
  });
  return [id, { schema, table, columns }];
}

function change(
  at: Reader,
  relations: Map<number, Relation>,
  type: Change["type"],
): Change | undefined {
  const known = relations.get(at.int32());
  if (!known) return undefined;
  let kind = at.char();
  let row = tuple(at, known.columns);
  if (type === "UPDATE" && kind !== "N") {
    kind = at.char();
    row = tuple(at, known.columns);
  }
  return { type, ...known, row };
}

function tuple(at: Reader, columns: Column[]): Record<string, string | null> {
  const row: Record<string, string | null> = {};
  const count = at.int16();
  for (let i = 0; i < count; i++) {
    const kind = at.char();
    // "u" stands for a large value that did not change and is not sent again.
    if (kind === "t") row[columns[i]!.name] = at.bytes(at.int32());
    else if (kind === "n") row[columns[i]!.name] = null;
  }
  return row;
}

class Reader {
  private offset = 0;

  constructor(private readonly data: Buffer) {}

  int8 = () => this.data.readUInt8(this.skip(1));
  int16 = () => this.data.readInt16BE(this.skip(2));
  int32 = () => this.data.readInt32BE(this.skip(4));
  char = () => String.fromCharCode(this.int8());

  bytes(length: number): string {
    const from = this.skip(length);
    return this.data.toString("utf8", from, from + length);
  }

  text(): string {
    const end = this.data.indexOf(0, this.offset);
    const value = this.data.toString("utf8", this.offset, end);
    this.offset = end + 1;
    return value;
  }

  private skip(length: number): number {
    this.offset += length;
    return this.offset - length;
  }
}
