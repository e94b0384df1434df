/** Booking a shipment: one transaction before the call to the carrier, one after it. */
import type { Database } from "../../../shared/db/db.ts";
import { type Answer, replayed } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import type { Parcel } from "../adapters/adapter.ts";
import { collectsCash } from "../adapters/registry.ts";
import { adapterFor, asRefusal, opened } from "./carrier.ts";

interface Begun {
  answer?: Record<string, unknown>;
  /** The answer is that of an earlier call with the same key. */
  remembered?: boolean;
  shipment_id: string;
  claim_token: string;
  credentials: string | null;
  /** An earlier call may have booked it at the carrier, whatever this one hears. */
  again: boolean;
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
  if (begun.answer) return { ...begun.answer, [replayed]: begun.remembered === true };
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
      keep: begun.again || !said,
    });
    throw asRefusal(error);
  }
}
