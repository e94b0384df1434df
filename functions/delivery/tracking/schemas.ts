import { z } from "zod";
import { Id, Timestamp } from "../../../shared/schemas/schemas.ts";
import { deliveryStatuses } from "../../../shared/schemas/delivery-statuses.ts";
import { answered } from "./answer-schemas.ts";

export const MakeLinks = z.object({
  delivery_ids: z.array(Id).min(1).max(100).describe("Of a leg it is the link of its parcel"),
});

/** Of another form it is no link's, and is answered as such. */
export const TrackingToken = z.object({ token: z.string().max(64) });

const Link = z.object({
  delivery_id: Id,
  delivery_code: z.int(),
  token: z.string().describe("For a page of your own: it opens the answer of `url`"),
  url: z.string().describe("The answer for a program, `GET /delivery/public/tracking/:token`"),
}).meta({ id: "TrackingLink" });
export type TrackingLink = z.infer<typeof Link>;

export const TrackingLinksResponse = z.object({
  data: z.array(Link).describe("In the order asked, each parcel once"),
});

export const LinkEnded = z.object({ data: z.object({ delivery_id: Id }) });

const Status = z.enum(deliveryStatuses);

const Tracking = z.object({
  delivery_code: z.int(),
  status: Status,
  company: z.object({
    name: z.string().nullable(),
    logo_url: z.string().nullable(),
    phone: z.string().nullable(),
    email: z.string().nullable(),
  }),
  service: z.object({ name: z.string().nullable(), service_level: z.string() }),
  sender_name: z.string().nullable().describe("The merchant that sends it; null of other senders"),
  destination_city: z.string().nullable().describe("Of the place where it ends; no street"),
  promised_at: Timestamp.nullable().describe("By when the order promised it"),
  expected_at: Timestamp.nullable().describe("When its driver expects to bring it"),
  deliver_after: Timestamp.nullable(),
  deliver_before: Timestamp.nullable(),
  postponed_to: z.string().nullable().describe("The day that was agreed at the door"),
  ordered_at: Timestamp,
  picked_up_at: Timestamp.nullable(),
  delivered_at: Timestamp.nullable(),
  delivered_in_part: z.boolean().describe("The receiver kept a part and gave the rest back"),
  cash_due: z.object({
    amount: z.number().describe("COD and fee, 0 where all is paid"),
    currency: z.string(),
  }).nullable().describe("To be paid at the door; null once the parcel has ended"),
  carrier: z.object({ code: z.string(), tracking_number: z.string() }).nullable().describe(
    "The external carrier that brings it, and the number there",
  ),
  history: z.array(z.object({
    status: Status,
    at: Timestamp.describe("By the device that reported it, else when it was recorded"),
  })).describe("Oldest first"),
  trackable_until: Timestamp.nullable().describe(
    "30 days after the parcel has ended; null until then",
  ),
  ...answered,
}).meta({ id: "Tracking" });

export const TrackingResponse = z.object({ data: Tracking });
