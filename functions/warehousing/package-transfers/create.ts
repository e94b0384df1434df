/** Which kind of transfer a request asks for, and its answer in the caller's language. */
import type { Database } from "../../../shared/db/db.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { type Language, translate } from "../../../shared/i18n/index.ts";
import type { CreateTransfer } from "./schemas.ts";

type Kind = "system_only" | "single_delivery" | "waybill";
interface Row {
  reason: string;
  message?: string;
}

/** A waybill is never guessed: it takes an Idempotency-Key that only the client can bring. */
export function kindOf(body: CreateTransfer): Kind {
  const barcodes = body.package_barcodes?.length ?? 0;
  const others = (body.delivery_ids?.length ?? 0) + (body.inventory_item_ids?.length ?? 0);
  if (body.mode === "system_only") {
    if (body.operation_type) {
      throw new AppError("operation_type_not_allowed", { field: "operation_type" });
    }
    if (others) {
      const field = body.delivery_ids?.length ? "delivery_ids" : "inventory_item_ids";
      throw new AppError("validation_failed", { field, reason_key: "reason_unknown" });
    }
    requireBarcodes(barcodes);
    requireDestination(body);
    return "system_only";
  }
  if (body.operation_type === "waybill") return "waybill";
  const single = barcodes === 1 && others === 0;
  if (!body.operation_type && !single) {
    throw new AppError("operation_type_required", { field: "operation_type" });
  }
  if (!single) {
    throw new AppError("single_delivery_needs_one_package", { field: "package_barcodes" });
  }
  requireDestination(body);
  return "single_delivery";
}

function requireBarcodes(count: number) {
  if (count === 0) {
    throw new AppError("validation_failed", {
      field: "package_barcodes",
      reason_key: "reason_required",
    });
  }
}

function requireDestination({ destination_warehouse_id }: CreateTransfer) {
  if (!destination_warehouse_id) {
    throw new AppError("validation_failed", {
      field: "destination_warehouse_id",
      reason_key: "reason_required",
    });
  }
}

export async function createTransfer(
  db: Database,
  body: CreateTransfer,
  language: () => Language,
  key: string | undefined,
): Promise<Record<string, unknown>> {
  const kind = kindOf(body);
  if (kind === "waybill") {
    if (!key) throw new AppError("idempotency_key_required");
    return await createWaybill(db, body, language);
  }
  const { transferred_count, operation_type, ...made } = await withLocalizedRejections(
    language,
    () =>
      db.call("warehousing.package_transfer_create", {
        ...body,
        ...(kind === "single_delivery" ? { operation_type: kind } : {}),
      }),
  );
  return kind === "system_only" ? { ...made, transferred_count } : { ...made, operation_type };
}

export function createWaybill(
  db: Database,
  body: Record<string, unknown>,
  language: () => Language,
): Promise<Record<string, unknown>> {
  return withLocalizedRejections(language, () => db.call("warehousing.waybill_create", body));
}

/** The answer, or the refusal, with each rejected row said in words. */
export async function withLocalizedRejections(
  language: () => Language,
  work: () => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  try {
    const answer = await work();
    const result = answer.operation_result as Record<string, unknown> | undefined;
    return {
      ...answer,
      rejected: inWords(answer.rejected as Row[], language()),
      ...(result
        ? {
          operation_result: { ...result, rejected: inWords(result.rejected as Row[], language()) },
        }
        : {}),
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "no_transferable_packages") throw error;
    const rejected = inWords(error.params.rejected as Row[], language());
    throw new AppError(error.code, { ...error.params, rejected }, error.language);
  }
}

function inWords(rows: Row[], language: Language): Row[] {
  return rows.map((row) => {
    const key = row.reason.startsWith("package_") ? row.reason : `package_${row.reason}`;
    return { ...row, message: translate(language, key) };
  });
}
