import { z } from "zod";
import { defineList, flag, id } from "../../../shared/api/list.ts";
import {
  Flag,
  Id,
  JsonObject,
  NamedRef,
  Pagination,
  PersonRef,
  Phone,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { Address } from "../../../shared/schemas/address.ts";
import { maxBytes, maxContactBytes, maxMetadataBytes } from "../../../shared/schemas/sizes.ts";
import { Code } from "../processing-points/schemas.ts";

/** A phone that is empty or null is one that was not given. */
const ContactInfo = maxBytes(
  maxContactBytes,
  z.looseObject({
    phone: z.union([Phone, z.string().trim().max(0)]).nullish(),
  }),
).transform(({ phone, ...others }) => phone ? { phone, ...others } : others);

export const CreateBranch = z.object({
  name: Text,
  code: Code,
  address_id: Id,
  default_processing_point_id: Id.nullish(),
  contact_info: ContactInfo.optional(),
  metadata: maxBytes(maxMetadataBytes, JsonObject).optional(),
}).meta({ id: "CreateBranch" });

export const UpdateBranch = z.object({
  name: Text.optional(),
  default_processing_point_id: Id.nullish().describe("null takes the default away"),
  contact_info: ContactInfo.optional(),
  metadata: maxBytes(maxMetadataBytes, JsonObject).optional(),
  is_active: z.boolean().optional().meta({
    description: "False does what the deactivate call does; true takes the branch back into use",
  }),
}).meta({ id: "UpdateBranch" });

export const ByCode = z.object({ branch_code: Code });
export const ByCodeQuery = z.object({ include_inactive: Flag.optional() });

const Branch = z.object({
  id: Id,
  institution_user_id: Id,
  name: z.string(),
  code: z.string(),
  address_id: Id,
  default_processing_point_id: Id.nullable(),
  contact_info: JsonObject,
  metadata: JsonObject,
  is_active: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
  address: Address,
  default_processing_point: NamedRef.nullable(),
  institution_user: PersonRef.extend({ phone: z.string().nullable() }),
}).meta({ id: "Branch" });

export const BranchCreated = z.object({
  data: z.object({ id: Id, institution_user_id: Id, name: z.string(), code: z.string() }),
});
export const BranchResponse = z.object({ data: Branch });
export const BranchesResponse = z.object({ data: z.array(Branch), pagination: Pagination });
export const BranchDeactivated = z.object({
  data: z.object({ id: Id, is_active: z.literal(false) }),
});

export const branchList = defineList({
  view: "delivery.branches_list",
  search: ["name", "code"],
  sort: ["created_at", "name", "code", "updated_at"],
  params: { is_active: flag("is_active"), institution_user_id: id("institution_user_id") },
  limit: { default: 20, max: 100 },
});
