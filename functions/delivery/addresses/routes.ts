import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { importEndpoint } from "../../../shared/api/csv/import.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import {
  addressBook,
  AddressesResponse,
  AddressResponse,
  CreateAddress,
  UpdateAddress,
} from "./schemas.ts";

/** People who keep an address book of their own. */
const owners = role("driver", "institution", "customer");

/** Addresses: staff keep the tenant's, everybody else their own. */
export const addresses: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/addresses",
    summary: "Add an address; its zone follows from the coordinates",
    access: anyOf(permission("manage:operations:tenant"), owners),
    body: CreateAddress,
    response: AddressResponse,
    status: 201,
    errors: ["zone_not_found"],
    run: async ({ db, body }) => ({ data: await db.call("delivery.address_create", body) }),
  }),
  importEndpoint({
    path: "/addresses/import",
    summary: "Add the addresses of a CSV file",
    access: anyOf(permission("manage:operations:tenant"), owners),
    line: CreateAddress,
    maxLines: 5_000,
    core: "delivery.address_import",
    lineErrors: ["zone_not_found"],
  }),
  endpoint({
    method: "get",
    path: "/addresses",
    summary: "List addresses",
    access: anyOf(permission("view:tenant"), owners),
    query: addressBook.query,
    response: AddressesResponse,
    run: ({ db, query }) => addressBook.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/addresses/:address_id",
    version: versionedBy("delivery.addresses", "address_id"),
    summary: "Read an address",
    access: anyOf(permission("view:tenant"), owners),
    params: ids("address_id"),
    response: AddressResponse,
    errors: ["address_not_found"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.address_get", { id: params.address_id }),
    }),
  }),
  endpoint({
    method: "patch",
    path: "/addresses/:address_id",
    version: versionedBy("delivery.addresses", "address_id"),
    summary: "Change an address",
    access: anyOf(permission("manage:operations:tenant"), owners),
    params: ids("address_id"),
    body: UpdateAddress,
    response: AddressResponse,
    errors: ["address_not_found", "zone_not_found"],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.address_update", { ...body, id: params.address_id }),
    }),
  }),
];
