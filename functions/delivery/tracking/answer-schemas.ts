import { z } from "zod";
import { defineList, type Filter } from "../../../shared/api/list.ts";
import {
  Day,
  Id,
  Latitude,
  listResponse,
  Longitude,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { deliveryStatuses } from "../../../shared/schemas/delivery-statuses.ts";
import { maxText } from "../../../shared/schemas/sizes.ts";

/** A field that is left out stays as it is. */
export const AnswerByLink = z.strictObject({
  wanted_day: Day.nullish().describe("One of `wanted_days`; null takes it away"),
  note: maxText(300).min(1).nullish().describe("For the driver; null takes it away"),
  location: z.strictObject({ latitude: Latitude, longitude: Longitude }).nullish().describe(
    "Where the door is; null takes it away",
  ),
}).refine((answer) => Object.values(answer).some((value) => value !== undefined), {
  error: "name a field",
}).meta({ id: "AnswerByLink" });

/** The recipient's answer as the link shows it: that a note and a place were given, and neither of them. */
export const answered = {
  answer: z.object({
    wanted_day: z.string().nullable().describe("The day on which the recipient wants it"),
    note_given: z.boolean().describe("There is a note for the driver, which is not shown here"),
    location_given: z.boolean().describe(
      "The place of the door was given, which is not shown here",
    ),
    answered_at: Timestamp,
  }).nullable().describe("What the recipient wants; not agreed to by that"),
  wanted_days: z.object({
    first: z.string().describe("Tomorrow"),
    last: z.string().describe("30 days on"),
  }).nullable().describe(
    "The days that may be wanted; null when no answer is taken any more",
  ),
};

export const AnswerByLinkResponse = z.object({ data: z.object(answered) });

/** Of a parcel or of a leg of it. */
const delivery: Filter = {
  schema: Id.describe("Of a leg it is the answer for its parcel"),
  condition: (value) =>
    `r.delivery_id in (select coalesce(d.parent_id, d.id) from delivery.deliveries d
      where d.tenant_id = (select app.tenant_id()) and d.id = (${value} #>> '{}')::uuid)`,
};

const wantedDay: Filter = {
  schema: Day.describe("Those who want this day"),
  condition: (value) => `r.wanted_day = (${value} #>> '{}')::date`,
};

export const recipientAnswers = defineList({
  view: "delivery.recipient_answers_list",
  sort: ["answered_at"],
  params: { delivery_id: delivery, wanted_day: wantedDay },
  readBy: "answered_at",
  limit: { default: 20, max: 100 },
});

const RecipientAnswer = z.object({
  id: Id,
  tenant_id: Id,
  delivery_id: Id.describe("The whole delivery's id, never a leg's"),
  delivery_code: z.int(),
  delivery_status: z.enum(deliveryStatuses),
  wanted_day: z.string().nullable().describe("The office agrees to it by the outcome `postponed`"),
  note: z.string().nullable().describe("For the driver"),
  latitude: z.number().nullable().describe("Where the door is; the address is that of the order"),
  longitude: z.number().nullable(),
  answered_at: Timestamp,
  times: z.int().describe("How often the answer changed, at most 20"),
}).meta({ id: "RecipientAnswer" });

export const RecipientAnswersResponse = listResponse(RecipientAnswer);
