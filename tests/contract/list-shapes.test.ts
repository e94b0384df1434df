/** Every list answers its rows as `data` beside `pagination`, but for those whose shape an interface document fixes. */
import { expect, test } from "vitest";
import { jsonSchemaOf } from "../../shared/schemas/json-schema.ts";
import { operations } from "./functions.ts";

/** Lists whose shape the interface documents fix. */
const documented = [
  "GET /carriers/tenant",
  "GET /delivery/assignments",
  "GET /delivery/assignments/:driverId/sequence",
  "GET /delivery/cod-collections",
  "GET /delivery/driver-performance",
  "GET /delivery/services",
  "GET /delivery/transfer-manifest-items/search",
  "GET /delivery/transfer-manifests/:manifest_id/events",
  "GET /storefront/orders",
  "GET /storefront/payment-methods",
  "GET /system/events",
  "GET /tenants",
  "GET /warehousing/inventory-transfers",
  "GET /warehousing/package-transfers",
  "GET /warehousing/picking-orders",
  "GET /warehousing/sorting-sessions",
  "GET /warehousing/sorting-sessions/:session_id/assignments",
  "GET /warehousing/warehouses",
  "GET /webhooks/events/:subscriptionId",
  "GET /webhooks/own/events/:subscriptionId",
  "GET /webhooks/own/subscriptions",
  "GET /webhooks/subscriptions",
];

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
}

const answers = operations
  .filter(({ endpoint }) => endpoint.method === "get" && typeof endpoint.response !== "string")
  .map(({ name, endpoint }) => ({
    name,
    answer: jsonSchemaOf(endpoint.response as never, "output") as Schema,
    query: endpoint.query ? jsonSchemaOf(endpoint.query, "input") as Schema : {},
  }));

/** Fields beside the rows of a list. */
const beside = ["total", "page", "limit", "pagination"];

/** A list is asked for page by page, or answers an array and nothing else. */
const lists = answers.filter(({ answer: { properties = {} }, query }) => {
  const [rows, ...others] = Object.entries(properties).filter(([name]) => !beside.includes(name));
  return query.properties?.limit || query.properties?.page_size ||
    (rows?.[1].type === "array" && others.length === 0);
});

const inOneShape = ({ properties: { data, pagination } = {} }: Schema): boolean =>
  data?.type === "array" &&
  Object.keys(pagination?.properties ?? {}).join() === "page,limit,total,total_pages" &&
  pagination?.required?.length === 4;

test("every list that no document fixes has one shape", () => {
  const odd = lists.filter(({ answer }) => !inOneShape(answer)).map(({ name }) => name);
  expect(odd.sort()).toEqual(documented);
  expect(lists.length).toBeGreaterThan(60);
});

test("a list of one shape says nothing about its pages beside `pagination`", () => {
  const twice = lists.filter(({ answer }) => inOneShape(answer))
    .filter(({ answer }) => beside.slice(0, 3).some((name) => answer.properties?.[name]));
  expect(twice.map(({ name }) => name)).toEqual([]);
});
