import { z } from "zod";
import { Id, Timestamp } from "../../../shared/schemas/schemas.ts";

/** How a search stands that somebody looks for; the others are over. */
export const searchStatuses = ["searching", "offered", "failed"] as const;

export const AutoAssignment = z.object({
  status: z.enum(["off", ...searchStatuses, "assigned"]).describe(
    "off: the office's or a driver's own affair; offered: a driver has been asked; failed: nobody was found",
  ),
  attempts: z.int().describe("Offers, and tries that found nobody"),
  next_attempt_at: Timestamp.nullable().describe(
    "When it is tried again; while offered, until when the driver may answer",
  ),
  passed_over: z.object({
    offline: z.int().describe("Off duty, or not heard of"),
    capacity: z.int().describe("Without room for it, or without enough left"),
    zone: z.int().describe("Not allowed in its zones, or others were given the pickup's by name"),
    away: z.int().describe("Last seen outside the pickup's zone, or too long ago"),
    declined: z.int().describe("Rejected it in this search, or did not answer in time"),
  }).describe("How many drivers the last try passed over, each for the first reason"),
}).meta({ id: "AutoAssignment" });

export const AutoAssign = z.object({
  dry_run: z.boolean().nullish().describe("Changes nothing and answers the ranking of drivers"),
}).meta({ id: "AutoAssignDelivery" });

const Started = z.object({ data: z.object({ auto_assignment: AutoAssignment }) });
const Ranking = z.object({
  data: z.object({
    candidates: z.array(z.object({
      driver_id: Id,
      full_name: z.string(),
      live_stops: z.int().describe("Deliveries that the driver has not finished"),
      distance_km: z.number().nullable().describe(
        "From the last position to the pickup, as the crow flies",
      ),
      eligible: z.boolean().describe("Whether the driver may be asked"),
      reasons: z.array(z.string()).describe(
        "Why the driver is not asked: zone, capacity, declined, offline, away, or the code that assigning by hand fails with",
      ),
    })).describe("The next one to ask first"),
  }),
});
export const AutoAssignResponse = z.union([Started, Ranking]);
