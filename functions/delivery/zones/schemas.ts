import { z } from "zod";
import { defineList } from "../../../shared/api/list.ts";
import {
  Id,
  Latitude,
  Longitude,
  Pagination,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { maxText } from "../../../shared/schemas/sizes.ts";
import { areaOf, crossesItself } from "./outline.ts";

const maxPositions = 2_000;

/** [longitude, latitude]; a third number, the height, is accepted and dropped. */
const Position = z.union([
  z.tuple([Longitude, Latitude]).meta({ items: { type: "number" } }),
  z.tuple([Longitude, Latitude, z.number()]).meta({ items: { type: "number" } }),
]).transform(([longitude, latitude]) => [longitude, latitude]);

const Ring = z.array(Position).min(4).max(maxPositions).refine((ring) => {
  const [first, last] = [ring[0], ring[ring.length - 1]];
  return first?.[0] === last?.[0] && first?.[1] === last?.[1];
}, { error: "not closed", abort: true })
  .refine((ring) => areaOf(ring) > 0, {
    error: "no area",
    params: { reason_key: "reason_no_area" },
    abort: true,
  })
  .refine((ring) => !crossesItself(ring), {
    error: "crosses itself",
    params: { reason_key: "reason_crosses_itself" },
  });

/** A GeoJSON Polygon: the outer ring, then holes; each ends where it began. */
const Polygon = z.object({
  type: z.literal("Polygon"),
  coordinates: z.array(Ring).min(1).max(100).refine(
    (rings) => rings.reduce((total, ring) => total + ring.length, 0) <= maxPositions,
    { error: "too many positions", abort: true },
  ).refine(
    ([outer = [], ...holes]) =>
      holes.reduce((left, hole) => left - areaOf(hole), areaOf(outer)) > 0,
    { error: "no area", params: { reason_key: "reason_no_area" } },
  ),
}).meta({ id: "Polygon" });

const TagIds = z.array(Id).max(20);

export const CreateZone = z.object({
  name: Text,
  polygon: Polygon,
  tag_ids: TagIds.optional(),
}).meta({ id: "CreateZone" });
export const UpdateZone = CreateZone.partial().extend({ is_active: z.boolean().optional() }).meta({
  id: "UpdateZone",
});
export const CreateTag = z.object({ name: maxText(100).min(1) }).meta({ id: "CreateZoneTag" });

const Tag = z.object({ id: Id, name: z.string() }).meta({ id: "ZoneTag" });
const Zone = z.object({
  id: Id,
  name: z.string(),
  polygon: z.object({
    type: z.literal("Polygon"),
    coordinates: z.array(z.array(z.array(z.number()))),
  }),
  tags: z.array(Tag),
  is_active: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Zone" });
const TagRow = Tag.extend({ created_at: Timestamp }).meta({ id: "ZoneTagSummary" });

export const ZoneResponse = z.object({ data: Zone });
export const ZonesResponse = z.object({
  data: z.array(Zone.omit({ polygon: true })),
  pagination: Pagination,
});
export const TagResponse = z.object({ data: TagRow });
export const TagRemoved = z.object({ data: z.object({ id: Id }) });
export const TagsResponse = z.object({ data: z.array(TagRow), pagination: Pagination });

export const zoneList = defineList({
  view: "delivery.zones_list",
  hidden: ["polygon"],
  search: ["name"],
  sort: ["created_at", "name", "updated_at"],
  limit: { default: 20, max: 100 },
});

export const tagList = defineList({
  view: "delivery.zone_tags_list",
  search: ["name"],
  sort: ["created_at", "name"],
  limit: { default: 20, max: 100 },
});
