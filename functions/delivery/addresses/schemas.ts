import { z } from "zod";
import { defineList, equal, id } from "../../../shared/api/list.ts";
import { Address, AddressFields, needBoth } from "../../../shared/schemas/address.ts";
import { Id, Pagination } from "../../../shared/schemas/schemas.ts";

const Fields = AddressFields.extend({
  zone_id: Id.nullish().describe("Wins over the zone of the coordinates"),
});

const asPlace = (
  { latitude, longitude }: { latitude?: number | null; longitude?: number | null },
  context: z.core.$RefinementCtx,
) => needBoth(latitude, longitude, context);

export const CreateAddress = Fields.superRefine(asPlace);
export const UpdateAddress = Fields.partial().superRefine(asPlace).meta({ id: "UpdateAddress" });

export const AddressResponse = z.object({ data: Address });
export const AddressesResponse = z.object({ data: z.array(Address), pagination: Pagination });

export const addressBook = defineList({
  view: "delivery.own_addresses_list",
  search: [
    "full_address",
    "city",
    "title ->> 'en'",
    "title ->> 'ar'",
    "title ->> 'ku'",
    "contact_info ->> 'name'",
    "contact_info ->> 'phone'",
  ],
  sort: ["created_at", "updated_at", "city", "full_address"],
  params: { zone_id: id("zone_id"), city: equal("city") },
  limit: { default: 20, max: 100 },
});
