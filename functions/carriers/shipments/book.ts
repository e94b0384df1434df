/** Booking and cancelling a shipment: one transaction before the call to the carrier, one after it. */
import type { Database } from "../../../shared/db/db.ts";
import { type Answer, replayed } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";
import { credentialsPurpose } from "../../../shared/outbound/purposes.ts";
import { unseal } from "../../../shared/outbound/secrets.ts";
import type { Adapter, Credentials, Parcel } from "../adapters/adapter.ts";
import { adapterOf, collectsCash } from "../adapters/registry.ts";

interface Begun {
  answer?: Record<string, unknown>;
  shipment_id: string;
  claim_token: string;
  credentials: string | null;
  delivery: Parcel;
}

/** Books a delivery. The same Idempotency-Key returns the first answer again; a failure releases the key. */
export async function book(
  db: Database,
  asked: { delivery_id: string; carrier_code: string },
  key: string | undefined,
): Promise<Answer> {
  const keyed = key === undefined ? {} : { key };
  const begun = await db.call<Begun>("integration.shipment_begin", {
    ...asked,
    ...keyed,
    collects_cash: collectsCash(asked.carrier_code),
  });
  if (begun.answer) return { ...begun.answer, [replayed]: key !== undefined };
  const { shipment_id, claim_token } = begun;
  try {
    const adapter = await adapterFor(asked.carrier_code);
    const credentials = await opened(asked.carrier_code, begun.credentials);
    const booked = await adapter.bookShipment(begun.delivery, shipment_id, credentials);
    return await db.call("integration.shipment_booked", {
      ...keyed,
      ...booked,
      shipment_id,
      claim_token,
    });
  } catch (error) {
    const said = error instanceof AppError && error.code === "carrier_refused";
    await db.call("integration.shipment_abandon", {
      ...keyed,
      shipment_id,
      claim_token,
      keep: !said,
    });
    throw asRefusal(error);
  }
}

interface CancelBegun {
  answer?: Record<string, unknown>;
  shipment_id: string;
  claim_token: string;
  carrier_code: string;
  credentials: string | null;
  tracking_number: string;
  carrier_reference: string | null;
}

interface CancelFinished extends Answer {
  shipment: { status: string };
}

/** Cancels a booking. The same Idempotency-Key returns the first answer again; a failure releases the key. */
export async function cancel(
  db: Database,
  delivery_id: string,
  key: string | undefined,
): Promise<Answer> {
  const keyed = key === undefined ? {} : { key };
  const begun = await db.call<CancelBegun>("integration.cancel_begin", { delivery_id, ...keyed });
  if (begun.answer) return { ...begun.answer, [replayed]: true };
  const { shipment_id, claim_token } = begun;
  let cancelled = false;
  let refusal = new AppError("carrier_refused", { reason: "not cancelled" });
  try {
    const adapter = await adapterFor(begun.carrier_code);
    const credentials = await opened(begun.carrier_code, begun.credentials);
    cancelled = await adapter.cancelShipment(begun, credentials);
  } catch (error) {
    refusal = asRefusal(error);
  }
  const answer = await db.call<CancelFinished>("integration.cancel_finish", {
    ...keyed,
    shipment_id,
    claim_token,
    cancelled,
  });
  // It is, too, when the carrier has reported meanwhile that it does not come.
  if (answer.shipment.status === "cancelled") return answer;
  throw refusal;
}

async function adapterFor(code: string): Promise<Adapter> {
  const adapter = await adapterOf(code);
  if (!adapter) throw new AppError("carrier_unavailable");
  return adapter;
}

async function opened(code: string, sealed: string | null): Promise<Credentials> {
  return sealed ? JSON.parse(await unseal(sealed, credentialsPurpose(code))) : {};
}

function asRefusal(error: unknown): AppError {
  if (error instanceof AppError) return error;
  log("warn", "carrier_unavailable", describeError(error));
  return new AppError("carrier_unavailable");
}
