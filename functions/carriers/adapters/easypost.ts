/**
 * EasyPost, written against its published API (https://docs.easypost.com/docs/shipments, /docs/trackers,
 * /guides/webhooks-guide): a shipment is made with a reference, its cheapest rate is bought, and a tracker
 * reports what happens. `initial_token` is the API key; `login_id`, when given, the carrier account to use.
 *
 * Confirmed by that documentation and by the answers EasyPost publishes (github.com/EasyPost/examples): the key as
 * user of Basic auth, `reference` in place of an id, rates and their `rate` as text, `tracking_code`,
 * `postage_label.label_url`, `refund_status`, ounces and inches, the tracker's ten statuses, and events signed as
 * `X-Hmac-Signature: hmac-sha256-hex=…` over the raw body.
 * Not confirmed, and never tried against EasyPost itself: that GET /shipments takes every reference (the page on
 * objects says "many endpoints"); whether an address without a postal code is rated; customs forms, which are not sent.
 * Cash is not collected this way: `options.cod_amount` holds where a carrier supports it, which "is added as needed"
 * (/docs/shipments/options), it has no currency of its own, and nothing that EasyPost answers or reports says that cash
 * was taken. A shipment with cash due is refused before it comes here.
 */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { ExactInstant } from "../../../shared/schemas/schemas.ts";
import { callOut, OutboundFailure } from "../../../shared/outbound/fetch.ts";
import {
  type Adapter,
  type Booked,
  CarrierSilent,
  type Credentials,
  type Parcel,
  type Place,
  refused,
} from "./adapter.ts";

const Rate = z.object({ id: z.string(), rate: z.string(), currency: z.string().optional() });
const Shipment = z.object({
  id: z.string(),
  reference: z.string().nullish(),
  tracking_code: z.string().nullish(),
  rates: z.array(Rate).default([]),
  postage_label: z.object({ label_url: z.string().nullish() }).nullish(),
  refund_status: z.string().nullish(),
});
type Shipment = z.output<typeof Shipment>;
const Failure = z.object({ error: z.object({ message: z.unknown() }) });

const Event = z.object({
  id: z.string().min(1).max(200),
  result: z.object({
    object: z.string(),
    tracking_code: z.string().max(100).nullish(),
    status: z.string().max(100).nullish(),
    updated_at: ExactInstant.nullish(),
  }),
});

const timeoutMs = 20_000;
const ouncesOfKilogram = 35.274;
const inchesOfCentimetre = 0.393701;

export function easypost(baseUrl = "https://api.easypost.com/v2"): Adapter {
  async function ask(
    credentials: Credentials,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Shipment | undefined> {
    const key = credentials.initial_token;
    if (!key) throw refused("the API key (initial_token) is missing");
    let response: Response;
    try {
      response = await callOut(`${baseUrl}${path}`, {
        method,
        headers: {
          authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}`,
          "content-type": "application/json",
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        // Only reading may safely happen twice.
      }, { timeoutMs, retries: method === "GET" ? 1 : 0 });
    } catch (error) {
      if (error instanceof OutboundFailure) throw new CarrierSilent(error.message);
      throw error;
    }
    const answer = await response.json().catch(() => undefined);
    if (response.status === 404 && method === "GET") return undefined;
    if (response.status >= 500 || response.status === 429) {
      throw new CarrierSilent(`HTTP ${response.status}`);
    }
    if (!response.ok) {
      const said = Failure.safeParse(answer);
      throw refused(said.success ? String(said.data.error.message) : `HTTP ${response.status}`);
    }
    const shipment = Shipment.safeParse(answer);
    if (!shipment.success) throw new CarrierSilent("an answer without a shipment");
    return shipment.data;
  }

  return {
    code: "easypost",
    async bookShipment(parcel, reference, credentials) {
      // A reference stands for the id: what an earlier call made is found, and not made twice.
      const found = await ask(credentials, "GET", `/shipments/${reference}`);
      const made = found ??
        await ask(credentials, "POST", "/shipments", {
          shipment: shipmentOf(parcel, reference, credentials),
        });
      const bought = made!.tracking_code ? made! : await ask(
        credentials,
        "POST",
        `/shipments/${made!.id}/buy`,
        { rate: { id: cheapest(made!) } },
      );
      if (!bought?.tracking_code) throw new CarrierSilent("bought, but without a tracking code");
      return bookedOf(bought, bought.tracking_code);
    },
    async findShipment(reference, credentials) {
      const found = await ask(credentials, "GET", `/shipments/${reference}`);
      // One that was made and not bought costs nothing, and nobody comes for it.
      return found?.tracking_code ? bookedOf(found, found.tracking_code) : null;
    },
    async cancelShipment({ carrier_reference }, credentials) {
      const refunded = await ask(credentials, "POST", `/shipments/${carrier_reference}/refund`);
      return refunded?.refund_status === "submitted" || refunded?.refund_status === "refunded";
    },
    signature: { header: "x-hmac-signature", prefix: "hmac-sha256-hex=" },
    parseWebhook(body) {
      const { id, result } = Event.parse(body);
      if (result.object !== "Tracker") return null;
      return {
        event_id: id,
        tracking_number: result.tracking_code ?? undefined,
        carrier_status: result.status ?? undefined,
        occurred_at: result.updated_at ?? undefined,
      };
    },
    statusMap: {
      in_transit: "in_transit",
      out_for_delivery: "in_transit",
      available_for_pickup: "in_transit",
      delivered: "delivered",
      failure: "failed",
      return_to_sender: "returned",
      cancelled: "cancelled",
    },
  };
}

function bookedOf({ id, postage_label }: Shipment, tracking_number: string): Booked {
  const label_url = postage_label?.label_url ?? undefined;
  return { tracking_number, carrier_reference: id, label_url };
}

/** Of an account with carriers of several countries, the cheapest in the currency that is named first: amounts of two do not compare. */
function cheapest({ rates }: Shipment): string {
  const comparable = rates.filter(({ currency }) => currency === rates[0]!.currency);
  const [best] = comparable.sort((a, b) => Number(a.rate) - Number(b.rate));
  if (!best) throw refused("no rate for this shipment");
  return best.id;
}

function shipmentOf(parcel: Parcel, reference: string, { login_id }: Credentials) {
  const { name, phone } = parcel.recipient;
  return {
    reference,
    to_address: addressOf(parcel.dropoff, name, phone),
    from_address: addressOf(parcel.pickup),
    parcel: parcelOf(parcel),
    ...(login_id ? { carrier_accounts: [login_id] } : {}),
  };
}

function addressOf(place: Place, name?: string | null, phone?: string | null) {
  return {
    name: name ?? place.contact_info?.name ?? undefined,
    phone: phone ?? place.contact_info?.phone ?? undefined,
    email: place.contact_info?.email ?? undefined,
    street1: place.full_address ?? undefined,
    city: place.city ?? undefined,
    country: place.country ?? undefined,
  };
}

/** EasyPost weighs in ounces and measures in inches; the largest item stands for the parcel. */
function parcelOf({ package_details, unit_size }: Parcel) {
  const items = package_details?.items ?? [];
  const sum = items.reduce((all, item) => all + (item.weight ?? 0) * (item.quantity ?? 1), 0);
  const largest = (side: "length" | "width" | "height") =>
    Math.max(0, ...items.map((item) => item[side] ?? 0));
  const inches = (side: "length" | "width" | "height") =>
    largest(side) > 0 ? round(largest(side) * inchesOfCentimetre) : undefined;
  return {
    weight: round((sum > 0 ? sum : unit_size) * ouncesOfKilogram),
    length: inches("length"),
    width: inches("width"),
    height: inches("height"),
  };
}

function round(value: number): number {
  return Math.max(0.1, Math.round(value * 10) / 10);
}
