/**
 * Endpoints that take a file and make one thing of each line, all or none. The core that makes them tries every
 * line, so that a dry run and a refusal name everything that is wrong.
 */
import { z } from "zod";
import type { Access } from "../access.ts";
import type { CsvFile, LineError } from "./read.ts";
import { refusalOf } from "../../db/refusal.ts";
import { type Endpoint, endpoint, messageKey, status } from "../endpoint.ts";
import { AppError, type ErrorCode, isErrorCode } from "../../errors/errors.ts";
import { type Language, refusalText } from "../../i18n/index.ts";
import { Flag, Id } from "../../schemas/schemas.ts";

/** At most so many errors are in an answer, which always has their number. */
const maxErrors = 100;

/** The refusals of any line. */
const commonLineCodes: readonly ErrorCode[] = [
  "validation_failed",
  "field_too_large",
  "invalid_uuid",
  "wrong_cell_count",
  "invalid_reference",
  "conflict",
];

/** The result of app.import_lines for a line: a core's refusal, or a constraint's with its SQLSTATE. */
interface Refused {
  line: number;
  code: string;
  state: string;
  constraint: string;
  params: Record<string, unknown>;
}

interface Tried {
  ids: string[];
  errors: Refused[];
  error_count: number;
}

/**
 * `POST <path>` with a CSV file. `line` is the schema that making one of them has, `core` the import in SQL, which is
 * asked with `{lines: [{line, input}], refused, dry_run, …params}`; `lineErrors` are what making one may fail with.
 */
export function importEndpoint<P extends z.ZodType | undefined = undefined>(
  declaration: {
    path: string;
    summary: string;
    access: Access;
    feature?: Endpoint["feature"];
    params?: P;
    line: z.ZodType;
    maxLines: number;
    core: string;
    lineErrors: readonly ErrorCode[];
    errors?: readonly ErrorCode[];
    /** Fields of the core's answer that are told as they are. */
    known?: z.ZodObject;
  },
) {
  const { line, maxLines, core, lineErrors, errors = [], known, ...rest } = declaration;
  return endpoint({
    ...rest,
    method: "post",
    csv: { line, maxLines },
    query: z.object({
      dry_run: Flag.optional().meta({ description: "Only say what importing would do" }),
    }),
    response: answerOf([...commonLineCodes, ...lineErrors]).extend(known?.shape ?? {}),
    status: 201,
    otherStatus: 200,
    errors: ["import_has_errors", ...errors],
    async run(context) {
      const { db, file, params } = context;
      const dry_run = context.query.dry_run ?? false;
      const total = file.lines.length + file.errors.length;
      const input = { lines: file.lines, refused: file.errors.length, dry_run };
      try {
        const { ids, errors, error_count, ...told } = await db.call<Tried>(
          core,
          Object.assign({}, params, input),
        );
        const tried = { ids, errors, error_count };
        const found = allErrors(file, tried, context.language());
        return {
          dry_run,
          lines: total,
          valid: total - found.error_count,
          imported: dry_run ? 0 : tried.ids.length,
          ids: dry_run ? [] : tried.ids,
          ...found,
          ...told,
          [status]: dry_run ? 200 : 201,
          [messageKey]: dry_run ? "import_checked" : "import_done",
        };
      } catch (error) {
        if (!(error instanceof AppError && error.code === "import_has_errors")) throw error;
        const found = allErrors(file, error.params as unknown as Tried, context.language());
        throw new AppError(error.code, found, error.language);
      }
    },
  });
}

function answerOf(lineCodes: readonly ErrorCode[]) {
  return z.object({
    dry_run: z.boolean(),
    lines: z.int(),
    valid: z.int().describe("Lines that nothing is wrong with"),
    imported: z.int(),
    ids: z.array(Id).describe("Of what was made, in the order of the lines"),
    error_count: z.int(),
    errors: z.array(z.object({
      line: z.int(),
      field: z.string().nullable(),
      code: z.enum([...new Set(lineCodes)]),
      message: z.string(),
    })).describe("The first hundred, by line"),
  });
}

/** The findings of the schema and of the core, by line, as messages. */
function allErrors(file: CsvFile, tried: Tried, language: Language) {
  const found = [...file.errors, ...tried.errors.map(lineErrorOf)]
    .sort((a, b) => a.line - b.line).slice(0, maxErrors);
  return {
    error_count: file.errors.length + tried.error_count,
    errors: found.map(({ line, code, params }) => ({
      line,
      field: typeof params.field === "string" ? params.field : null,
      code,
      message: refusalText(language, code, params),
    })),
  };
}

function lineErrorOf({ line, code, state, constraint, params }: Refused): LineError {
  if (state === "RULE0" && isErrorCode(code)) return { line, code, params };
  const refusal = refusalOf(state, constraint, code);
  if (!refusal) throw new Error(`line ${line}: ${state} ${constraint} ${code}`);
  return { line, code: refusal.code, params: refusal.params };
}
