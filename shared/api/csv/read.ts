/**
 * CSV files as a client sends them: UTF-8 with or without a byte order mark, lines that end in LF or CRLF, quoted
 * cells, and comma, semicolon or tab between them, as the heading has it. What exports add is taken off again:
 * the apostrophe before formulas, and the columns that nobody can set.
 */
import { type CsvError, parse } from "csv-parse/sync";
import type { z } from "zod";
import { unguarded } from "./cells.ts";
import { columnsOf } from "./columns.ts";
import { AppError, type ErrorCode } from "../../errors/errors.ts";
import { acceptPosted, maxBodyBytes, readBytes, typeOf } from "../../schemas/input.ts";

/** Why one line is refused; `line` is where it begins in the file, whose heading is line 1. */
export interface LineError {
  line: number;
  code: ErrorCode;
  params: Record<string, unknown>;
}

/** A file as a body: what each line is, and how many there may be. */
export interface CsvBody {
  line: z.ZodType;
  maxLines: number;
}

/**
 * A file as its schema sees it: what each line says, and what is wrong with the others. `unclear` names a field whose
 * amount may be meant in thousands: what the currency says of it is known where the line is imported.
 */
export interface CsvFile {
  lines: { line: number; input: unknown; unclear?: string }[];
  errors: LineError[];
}

const delimiters = [",", ";", "\t"];
/** Columns that every exported row has and no imported one sets. */
const passedOver = ["id", "created_at", "updated_at"];

interface Row {
  line: number;
  cells: string[];
}

/**
 * The lines of a request's file. Fails for the whole file: unsupported_media_type, payload_too_large, invalid_csv,
 * csv_empty, csv_too_long, unknown_column, duplicate_column, missing_column.
 */
export async function readCsv(request: Request, { line, maxLines }: CsvBody): Promise<CsvFile> {
  const bytes = await readBytes(request, maxBodyBytes);
  if (typeOf(request) !== "text/csv") throw new AppError("unsupported_media_type");
  const [heading, ...rows] = rowsOf(textOf(bytes));
  if (!heading || rows.length === 0) throw new AppError("csv_empty");
  const names = namedCells(heading.cells.map((cell) => cell.trim()));
  const put = columnWriters(names, line);
  if (rows.length > maxLines) throw new AppError("csv_too_long", { lines_max: maxLines });
  const file: CsvFile = { lines: [], errors: [] };
  for (const row of rows) {
    try {
      const { input, unclear } = inputOf(namedCells(row.cells, put.length), put);
      file.lines.push({ line: row.line, input: acceptPosted(line, input), ...unclear });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      file.errors.push({ line: row.line, code: error.code, params: error.params });
    }
  }
  return file;
}

function textOf(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const nul = text.indexOf("\0");
    if (nul < 0) return text;
    throw new AppError("invalid_csv", { line: text.slice(0, nul).split("\n").length });
  } catch (error) {
    throw error instanceof AppError ? error : new AppError("invalid_csv", { line: 1 });
  }
}

function rowsOf(text: string): Row[] {
  const options = {
    info: true,
    raw: true,
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
  };
  try {
    const read = parse(text, { ...options, delimiter: delimiterOf(text) }) as unknown as {
      record: string[];
      raw: string;
      info: { lines: number };
    }[];
    return read.map(({ record, raw, info }) => ({
      line: info.lines - (raw.trimEnd().split("\n").length - 1),
      cells: record,
    }));
  } catch (error) {
    throw new AppError("invalid_csv", { line: (error as CsvError & { lines: number }).lines ?? 1 });
  }
}

/** The delimiter of the file: the candidate that splits the heading into most cells. */
function delimiterOf(text: string): string {
  const cells = delimiters.map((delimiter) => {
    try {
      return parse(text, { delimiter, to: 1, skip_empty_lines: true })[0]?.length ?? 0;
    } catch {
      return 0;
    }
  });
  return delimiters[cells.indexOf(Math.max(...cells))];
}

/** The cells without empty ones after the last column, which spreadsheets write for columns that were used once. */
function namedCells(cells: string[], columns = 0): string[] {
  let length = cells.length;
  while (length > columns && cells[length - 1] === "") length--;
  return cells.slice(0, length);
}

interface Writer {
  field: string;
  write(input: Record<string, unknown>, cell: string): void;
  mayBeThousands(cell: string): boolean;
}

/** How each cell of a line gets to its field. */
function columnWriters(heading: string[], schema: CsvBody["line"]): Writer[] {
  const columns = columnsOf(schema);
  const writers = heading.map((field, index): Writer => {
    if (field === "") {
      throw new AppError("unknown_column", {
        field,
        text_key: "column_unnamed",
        column: index + 1,
      });
    }
    const read = columns.reader(field);
    if (!read && !passedOver.includes(field)) throw new AppError("unknown_column", { field });
    const whole = heading.some((other) => field.startsWith(`${other}.`));
    if (whole || heading.indexOf(field) !== index) {
      throw new AppError("duplicate_column", { field });
    }
    if (!read) return { field, write: () => {}, mayBeThousands: () => false };
    const path = field.split(".");
    return {
      field,
      write(input, cell) {
        const value = read(cell);
        if (value !== undefined) put(input, path, value);
      },
      mayBeThousands: (cell) => columns.mayBeThousands(field, cell),
    };
  });
  const first = new Set(heading.map((field) => field.split(".")[0]));
  const field = columns.required.find((name) => !first.has(name));
  if (field) throw new AppError("missing_column", { field });
  return writers;
}

function put(input: Record<string, unknown>, [step, ...rest]: string[], value: unknown): void {
  if (rest.length === 0) input[step] = value;
  else put((input[step] ??= {}) as Record<string, unknown>, rest, value);
}

function inputOf(cells: string[], writers: Writer[]) {
  if (cells.length !== writers.length) {
    throw new AppError("wrong_cell_count", { cells: cells.length, columns: writers.length });
  }
  const input: Record<string, unknown> = {};
  writers.forEach(({ write }, index) => write(input, unguarded(cells[index])));
  const unclear = writers.find(({ mayBeThousands }, index) => mayBeThousands(cells[index]));
  return { input, unclear: unclear && { unclear: unclear.field } };
}
