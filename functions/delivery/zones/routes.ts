import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import {
  CreateTag,
  CreateZone,
  tagList,
  TagRemoved,
  TagResponse,
  TagsResponse,
  UpdateZone,
  zoneList,
  ZoneResponse,
  ZonesResponse,
} from "./schemas.ts";

const staff = permission("manage:operations:tenant");
const readers = anyOf(permission("view:tenant"), role("driver"));

/** The core takes the rings; that they are a Polygon is the schema's business. */
function zoneInput({ polygon, ...rest }: { polygon?: { coordinates: unknown } }) {
  return polygon ? { ...rest, polygon: polygon.coordinates } : rest;
}

/** Zones of the map and the tags that group them. */
export const zones: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/zones",
    summary: "Add a zone; the addresses inside get it",
    access: staff,
    body: CreateZone,
    response: ZoneResponse,
    status: 201,
    errors: ["zone_name_exists", "zone_tag_not_found"],
    run: async ({ db, body }) => ({ data: await db.call("delivery.zone_create", zoneInput(body)) }),
  }),
  endpoint({
    method: "get",
    path: "/zones",
    summary: "List zones, without their polygons",
    access: readers,
    query: zoneList.query,
    response: ZonesResponse,
    run: ({ db, query }) => zoneList.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/zones/:zone_id",
    summary: "Get a zone with its polygon",
    access: readers,
    params: ids("zone_id"),
    response: ZoneResponse,
    errors: ["zone_not_found"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.zone_get", { id: params.zone_id }),
    }),
  }),
  endpoint({
    method: "patch",
    path: "/zones/:zone_id",
    summary: "Change a zone; addresses around it find their zones again",
    access: staff,
    params: ids("zone_id"),
    body: UpdateZone,
    response: ZoneResponse,
    errors: ["zone_not_found", "zone_name_exists", "zone_tag_not_found"],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.zone_update", { ...zoneInput(body), id: params.zone_id }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/zone-tags",
    summary: "Add a zone tag",
    access: staff,
    body: CreateTag,
    response: TagResponse,
    status: 201,
    errors: ["zone_tag_name_exists"],
    run: async ({ db, body }) => ({ data: await db.call("delivery.zone_tag_create", body) }),
  }),
  endpoint({
    method: "delete",
    path: "/zone-tags/:tag_id",
    summary: "Remove a zone tag that no delivery service chooses by",
    access: staff,
    params: ids("tag_id"),
    response: TagRemoved,
    errors: ["zone_tag_not_found", "zone_tag_in_use"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.zone_tag_remove", { id: params.tag_id }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/zone-tags",
    summary: "List zone tags",
    access: readers,
    query: tagList.query,
    response: TagsResponse,
    run: ({ db, query }) => tagList.answer(db, query),
  }),
];
