import { z } from "zod";
import { pageParameters } from "../../../shared/api/list.ts";
import {
  DayOrInstant,
  ExactInstant,
  Id,
  Latitude,
  Longitude,
  Pagination,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { Driver } from "../fleet/schemas.ts";

export const ChangeDuty = z.object({
  on_duty: z.boolean(),
  keep_parcels: z.boolean().optional(),
  driver_id: Id.optional().describe(
    "The driver whose duty the office changes; the caller when missing",
  ),
}).meta({ id: "ChangeDuty" });
export const DutyResponse = z.object({ data: z.object({ driver: Driver }) });

const point = {
  latitude: Latitude,
  longitude: Longitude,
  accuracy_m: z.number().min(0).max(1_000_000),
  speed_kmh: z.number().min(0).max(2_000),
  heading: z.number().min(0).max(360).describe("Degrees clockwise from north"),
  battery_percent: z.number().min(0).max(100),
};

const SentPosition = z.object({
  latitude: point.latitude,
  longitude: point.longitude,
  recorded_at: ExactInstant.describe("By the device's clock"),
  accuracy_m: point.accuracy_m.nullish(),
  speed_kmh: point.speed_kmh.nullish(),
  heading: point.heading.nullish().describe("Degrees clockwise from north"),
  battery_percent: point.battery_percent.nullish(),
}).meta({ id: "SentPosition" });
export const SendPositions = z.object({ positions: z.array(SentPosition).min(1).max(200) })
  .meta({ id: "SendPositions" });
export const PositionsTaken = z.object({
  data: z.object({
    accepted: z.int(),
    ignored: z.int().describe(
      "Older than 24 hours, more than 2 minutes ahead, an instant sent before, or sent while off duty",
    ),
    ahead: z.int().describe(
      "Of those ignored, more than 2 minutes ahead of the server: the device's clock is wrong",
    ),
    next_in_seconds: z.int().describe("When the app should report again"),
  }),
});

export const pageSize = { default: 500, max: 2_000 };
export const PositionsQuery = z.object({
  from: DayOrInstant.optional().describe(
    "24 hours before `to` when missing; a day is that of the company's",
  ),
  to: DayOrInstant.optional().describe(
    "24 hours after `from` when missing, or its end if that is a day; now without both. At most 24 hours after `from`",
  ),
  ...pageParameters(pageSize),
});
const Position = z.object({
  recorded_at: Timestamp,
  latitude: z.number(),
  longitude: z.number(),
  accuracy_m: z.number().nullable(),
  speed_kmh: z.number().nullable(),
  heading: z.number().nullable().describe("Degrees clockwise from north"),
  battery_percent: z.number().nullable(),
  received_at: Timestamp,
}).meta({ id: "DriverPosition" });
export const PositionsResponse = z.object({ data: z.array(Position), pagination: Pagination });
