/** Cancelling a shipment: one transaction before the call to the carrier, one after it. By the office, and by a job for cancelled deliveries. */
import { type Answer, replayed } from "../../../shared/api/endpoint.ts";
import { type Database, system } from "../../../shared/db/db.ts";
import type { Job } from "../../../shared/db/jobs.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import type { Booked } from "../adapters/adapter.ts";
import { adapterFor, asRefusal, opened } from "./carrier.ts";

interface Claim {
  shipment_id: string;
  claim_token: string;
  carrier_code: string;
  credentials: string | null;
  /** Null: a booking that never came back, of which nobody knows whether the carrier has it. */
  tracking_number: string | null;
  carrier_reference: string | null;
}

/** The result of a try at the carrier. */
interface Tried {
  cancelled: boolean;
  /** The booking of a claim that never came back, if the carrier has it. */
  found?: Booked;
  /** Nobody knows whether the carrier has a booking. */
  unknown: boolean;
  refusal: AppError;
}

interface CancelFinished extends Answer {
  shipment: { status: string };
}

/** As often as a job is tried (`app.jobs.attempts_max`). */
const attempts = 8;

/** Cancels a booking. The same Idempotency-Key returns the first answer again; a failure releases the key. */
export async function cancel(
  db: Database,
  delivery_id: string,
  key: string | undefined,
): Promise<Answer> {
  const keyed = key === undefined ? {} : { key };
  const begun = await db.call<Claim & { answer?: Answer }>("integration.cancel_begin", {
    delivery_id,
    ...keyed,
  });
  if (begun.answer) return { ...begun.answer, [replayed]: true };
  const tried = await cancelAtCarrier(begun);
  const answer = await db.call<CancelFinished>("integration.cancel_finish", {
    ...keyed,
    // Nobody can be kept from sending the parcel another way by a carrier that never answered: it ends here, and
    // somebody calls the carrier.
    ...ending(begun, tried, tried.unknown),
  });
  // It is, too, when the carrier has reported meanwhile that it does not come.
  if (answer.shipment.status === "cancelled") return answer;
  throw tried.refusal;
}

/**
 * Cancels the booking of a cancelled delivery. A carrier that is silent is asked again with the job; after its refusal, or the
 * last try, the administrators are notified.
 */
export async function withdraw(job: Job): Promise<void> {
  const begun = await system<Claim | null>(
    "select integration.withdraw_begin($1::text::uuid) as answer",
    [String(job.payload.shipment_id)],
  );
  if (!begun) return;
  const tried = await cancelAtCarrier(begun);
  const { cancelled, refusal } = tried;
  const gaveUp = !cancelled && (refusal.code === "carrier_refused" || job.attempts >= attempts);
  await system("select integration.withdraw_finish($1::text::jsonb) as answer", [
    JSON.stringify(ending(begun, tried, gaveUp)),
  ]);
  if (!cancelled && !gaveUp) throw refusal;
}

function ending({ shipment_id, claim_token }: Claim, tried: Tried, notify: boolean) {
  const { cancelled, found, unknown } = tried;
  return { shipment_id, claim_token, cancelled: cancelled || (unknown && notify), found, notify };
}

async function cancelAtCarrier(claim: Claim): Promise<Tried> {
  const { tracking_number, carrier_reference } = claim;
  const unsure = tracking_number === null;
  let found: Booked | undefined;
  try {
    const adapter = await adapterFor(claim.carrier_code);
    const credentials = await opened(claim.carrier_code, claim.credentials);
    if (unsure) {
      if (!adapter.findShipment) throw new AppError("carrier_refused", { reason: "not found" });
      const known = await adapter.findShipment(claim.shipment_id, credentials);
      if (!known) return { cancelled: true, unknown: false, refusal: refusedCancel() };
      found = known;
    }
    const booked = found ?? { tracking_number: tracking_number!, carrier_reference };
    const cancelled = await adapter.cancelShipment(booked, credentials);
    return { cancelled, found, unknown: false, refusal: refusedCancel() };
  } catch (error) {
    return { cancelled: false, found, unknown: unsure && !found, refusal: asRefusal(error) };
  }
}

const refusedCancel = () => new AppError("carrier_refused", { reason: "not cancelled" });
