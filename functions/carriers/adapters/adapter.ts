/** The interface of an external carrier. One file with an Adapter, and its line in registry.ts, adds one. */
import { AppError } from "../../../shared/errors/errors.ts";

/** Statuses of a delivery that a carrier can report. */
export type ReportedStatus =
  | "picked_up"
  | "in_transit"
  | "delivered"
  | "failed"
  | "returned"
  | "cancelled";

export interface Credentials {
  login_id?: string;
  password?: string;
  initial_token?: string;
}

/** A place as it was when the delivery was made. */
export interface Place {
  full_address?: string | null;
  city?: string | null;
  country?: string | null;
  contact_info?: { name?: string | null; phone?: string | null; email?: string | null } | null;
}

export interface Parcel {
  id: string;
  delivery_code: number;
  barcode: string;
  recipient: { name?: string | null; phone?: string | null };
  pickup: Place;
  dropoff: Place;
  package_details:
    | {
      items?:
        | {
          quantity?: number;
          weight?: number;
          length?: number;
          width?: number;
          height?: number;
        }[]
        | null;
    }
    | null;
  unit_size: number;
  /** The amount to collect at the door, in `currency`; more than 0 only for those that collect cash. */
  cash_due: number;
  currency: string;
  notes: string | null;
}

export interface Booked {
  tracking_number: string;
  carrier_reference: string;
  label_url?: string;
}

/** One thing that a carrier reported. */
export interface Report {
  /** Of the carrier's own making; the same report has the same id. */
  event_id: string;
  tracking_number?: string;
  /** The carrier's own word. */
  carrier_status?: string;
  occurred_at?: string;
}

export interface Adapter {
  code: string;
  /** Books a parcel. Called again with the same `reference`, it finds what the lost call did. */
  bookShipment(parcel: Parcel, reference: string, credentials: Credentials): Promise<Booked>;
  /**
   * The booking that a lost call made under this `reference`; null: the carrier knows of none that would fetch a parcel. Left out where
   * carriers cannot be asked.
   */
  findShipment?(reference: string, credentials: Credentials): Promise<Booked | null>;
  /** True when the carrier let it go. */
  cancelShipment(
    shipment: { tracking_number: string; carrier_reference: string | null },
    credentials: Credentials,
  ): Promise<boolean>;
  /** Where a report's signature stands: HMAC-SHA256 of the raw body, in hex, after `prefix`. */
  signature: { header: string; prefix: string };
  /** The report in a body that was proved genuine; null: none that concerns a shipment. */
  parseWebhook(body: unknown): Report | null;
  /** The carrier's words for what they mean here; one that is missing says nothing to us. */
  statusMap: Readonly<Record<string, ReportedStatus>>;
}

/** The carrier understood and said no. */
export function refused(reason: string): AppError {
  return new AppError("carrier_refused", { reason: reason.slice(0, 300) });
}

/** Nobody knows whether the carrier did it. */
export class CarrierSilent extends Error {}
