import { open } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { supabaseUrl } from "../../../shared/runtime/env.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { operationsOrOrderer, staffOrDeliveryPeople } from "../access.ts";
import {
  AnswerByLink,
  AnswerByLinkResponse,
  recipientAnswers,
  RecipientAnswersResponse,
} from "./answer-schemas.ts";
import {
  LinkEnded,
  MakeLinks,
  type TrackingLink,
  TrackingLinksResponse,
  TrackingResponse,
  TrackingToken,
} from "./schemas.ts";

/** Links by which recipients follow parcels whose service says `tracking`. */
export const tracking: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/tracking-links",
    summary: "Make the addresses by which recipients follow these deliveries, or give them again",
    access: operationsOrOrderer,
    body: MakeLinks,
    response: TrackingLinksResponse,
    confidential: true,
    errors: ["delivery_not_found", "tracking_not_offered"],
    async run({ db, body }) {
      const links = await db.call<Omit<TrackingLink, "url">[]>(
        "delivery.tracking_links_make",
        body,
      );
      return { data: links.map((link) => ({ ...link, url: addressOf(link.token) })) };
    },
  }),
  endpoint({
    method: "delete",
    path: "/tracking-links/:delivery_id",
    summary: "End the address of a delivery; the next one that is made is another",
    access: operationsOrOrderer,
    params: ids("delivery_id"),
    response: LinkEnded,
    errors: ["tracking_not_found"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.tracking_link_end", { id: params.delivery_id }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/public/tracking/:token",
    summary: "Where a parcel is, and what is due at the door, for its recipient",
    access: open(),
    tenant: "none",
    params: TrackingToken,
    response: TrackingResponse,
    errors: ["tracking_not_found"],
    run: async ({ db, params }) => ({ data: await db.call("delivery.tracking_read", params) }),
  }),
  endpoint({
    method: "post",
    path: "/public/tracking/:token/answer",
    summary:
      "What the recipient wants of the parcel: another day, a word to the driver, where the door is",
    access: open(),
    tenant: "none",
    params: TrackingToken,
    body: AnswerByLink,
    response: AnswerByLinkResponse,
    message: "recipient_answered",
    errors: [
      "tracking_not_found",
      "tracking_answers_closed",
      "tracking_answers_used_up",
      "invalid_wanted_day",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.tracking_answer", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/recipient-answers",
    summary:
      "List what recipients answered, newest first; drivers, customers and institutions see those of their deliveries",
    access: staffOrDeliveryPeople,
    query: recipientAnswers.query,
    response: RecipientAnswersResponse,
    run: ({ db, query }) => recipientAnswers.answer(db, query),
  }),
];

const addressOf = (token: string) =>
  `${supabaseUrl}/functions/v1/delivery/public/tracking/${token}`;
