/** Statements as files: the document, and the rows for the accountant. */
import { csvTable, fileClock, instantsOf } from "../../../shared/api/csv/export.ts";
import type { FileTimes } from "../../../shared/api/csv/times.ts";
import type { Database } from "../../../shared/db/db.ts";
import { pdfFile } from "../../../shared/http/pdf-file.ts";
import type { Language } from "../../../shared/i18n/index.ts";
import { brandOf } from "../../../shared/pdf/values.ts";
import { supabaseUrl } from "../../../shared/runtime/env.ts";
import { inWords } from "../wallets/movement-text.ts";
import type { StatementDocument, StatementRow } from "./document-head.ts";
import { Line } from "./schemas.ts";

type Shown = Omit<StatementDocument, "owner" | "brand" | "decimals" | "timezone" | "rows"> & {
  owner: { full_name: string | null };
};

interface Printed {
  statement: Shown;
  rows: StatementRow[];
  hash: string;
  tenant_name: Record<string, string>;
  brand: { brand_name?: Record<string, string> };
  timezone: string;
  decimals: number;
}

/** The columns of the file, as its rows have them. */
const columns: readonly (keyof StatementRow)[] = [
  "kind",
  "delivery_code",
  "external_reference_id",
  "collected_at",
  "released_at",
  "cod",
  "delivery_fee",
  "refund",
  "adjustment",
  "net",
  "description",
];

/** The rows of a statement as CSV: their sums are those of the statement. Fails: statement_not_found. */
export async function statementFile(
  db: Database,
  params: { id: string },
  times: FileTimes,
  language: () => Language,
): Promise<Response> {
  const { number, rows } = await db.call<{ number: string; rows: StatementRow[] }>(
    "money.statement_file",
    params,
  );
  // Times stand in a row as they do in the lines that it adds up.
  const written = { instants: instantsOf(Line), clock: await fileClock(db, times) };
  return csvTable(`${fileName(number)}.csv`, columns, inWords(language(), rows), written);
}

/** The document of a statement as a PDF. Fails: statement_not_found. */
export async function printStatement(
  db: Database,
  params: { id: string },
  language: () => Language,
): Promise<Response> {
  const { statement, hash, tenant_name, brand, ...printed } = await db.call<Printed>(
    "money.statement_document",
    params,
  );
  // Drawing is heavy and rare: the other calls of this function start without it.
  const { renderStatement } = await import("./document-page.ts");
  const asked = language();
  const pdf = await renderStatement({
    ...statement,
    ...printed,
    rows: inWords(asked, printed.rows),
    owner: statement.owner.full_name ?? "",
    brand: brandOf({ brand, tenant_name }, asked),
    verify_url: `${supabaseUrl}/functions/v1/delivery/merchant-statements/verify?hash=${hash}`,
  }, asked);
  return pdfFile(`${fileName(statement.number)}.pdf`, pdf);
}

const fileName = (number: string) => `merchant-statement-${number}`;
