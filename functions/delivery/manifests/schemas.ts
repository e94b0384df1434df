import { z } from "zod";
import { numberText } from "../../../shared/schemas/digits.ts";
import {
  containing,
  defineList,
  type Filter,
  id,
  since,
  someOf,
  until,
} from "../../../shared/api/list.ts";
import {
  Id,
  JsonObject,
  Latitude,
  Longitude,
  LongText,
  NamedRef,
  Pagination,
  PersonRef,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { Address } from "../../../shared/schemas/address.ts";
import {
  maxBytes,
  maxDocumentBytes,
  maxMetadataBytes,
  maxPackageLines,
} from "../../../shared/schemas/sizes.ts";
import { kinds, PhotoUrls, ProofUrl, stages } from "../proofs/schemas.ts";
import { itemStatuses, manifestStatuses } from "../statuses.ts";

/** An item that its manifest waits for; of many the first twenty are named. */
export const WaitingItem = z.object({ item_id: Id, barcode_value: z.string() }).meta({
  id: "WaitingManifestItem",
});

/** Items of one call. */
export const maxItems = 500;

/** A number or a numeric text, as a price is asked with; an empty text is none. */
const numeric = (number: z.ZodNumber) =>
  z.union([
    number,
    z.string().overwrite(numberText).regex(/^(\d{1,12}(\.\d{1,20})?)?$/)
      .transform((text) => text === "" ? null : Number(text)).pipe(number.nullable()),
  ]).nullish();
const measurement = numeric(z.number().min(0).max(1_000_000));

/** The contents of a parcel, with measurements as numbers that the price can use; the rest is kept as it is sent. */
const PackageDetails = maxBytes(
  maxDocumentBytes,
  z.looseObject({
    items: z.array(z.looseObject({
      name: z.string().max(200).nullish(),
      quantity: numeric(z.int().min(1).max(100_000)),
      weight: measurement,
      length: measurement,
      width: measurement,
      height: measurement,
    })).max(maxPackageLines).optional(),
  }),
);

const destination = {
  destination_branch_id: Id.optional(),
  destination_address_id: Id.optional(),
};
const oneDestination = {
  check: (value: { destination_branch_id?: string; destination_address_id?: string }) =>
    !(value.destination_branch_id && value.destination_address_id),
  error: { path: ["destination_address_id"], error: "a branch or an address, not both" },
};

export const NewItem = z.object({
  barcode_value: z.string().trim().min(1).max(64),
  ...destination,
  package_details: PackageDetails.optional(),
  metadata: maxBytes(maxMetadataBytes, JsonObject).optional(),
}).refine(oneDestination.check, oneDestination.error).meta({ id: "NewManifestItem" });

export const AddItems = z.object({
  items: z.array(NewItem).min(1).max(maxItems).describe("A manifest has at most 5,000 items"),
}).meta({ id: "AddManifestItems" });

export const CreateManifest = z.object({
  institution_user_id: Id,
  source_branch_id: Id,
  processing_point_id: Id.optional(),
  driver_id: Id.optional(),
  ...destination,
  source_address_id: Id.optional(),
  notes: LongText.optional(),
  creation_source: z.enum(["form", "institution_qr", "item_scan"]),
  items: z.array(NewItem).max(maxItems).optional(),
}).refine(oneDestination.check, oneDestination.error).meta({ id: "CreateManifest" });

const proof = {
  photo_urls: PhotoUrls.optional(),
  signature_url: ProofUrl.nullish(),
  signed_by: z.string().trim().max(200).nullish(),
};
const location = { latitude: Latitude.optional(), longitude: Longitude.optional() };
const wholeLocation = {
  check: (value: { latitude?: number; longitude?: number }) =>
    (value.latitude === undefined) === (value.longitude === undefined),
  error: { path: ["longitude"], error: "both coordinates or none" },
};

/** Pickup and arrival: where, and what proves it. */
export const StepWithProof = z.object({ proof: z.object(proof).optional(), ...location })
  .refine(wholeLocation.check, wholeLocation.error).meta({ id: "StepWithProof" });

export const AddProofs = z.object({ stage: z.enum(stages), ...proof }).refine(
  (value) => value.photo_urls?.length || value.signature_url,
  { path: ["photo_urls"], error: "a photo or a signature" },
).meta({ id: "AddManifestProofs" });

export const StartReceiving = z.object({ receive_all: z.boolean().optional() }).meta({
  id: "StartManifestReceiving",
});
export const ReceiveItems = z.object({ item_ids: z.array(Id).min(1).max(maxItems) }).meta({
  id: "ReceiveManifestItems",
});
export const CompleteReceiving = z.object({ missing: z.literal("exception").optional() }).meta({
  id: "CompleteManifestReceiving",
});
export const Cancel = z.object({ reason: Text }).meta({ id: "CancelManifest" });
export const MoveManifest = z.object({
  destination_processing_point_id: Id.optional(),
  driver_id: Id.optional(),
}).refine(
  (value) => value.destination_processing_point_id || value.driver_id,
  { path: ["destination_processing_point_id"], params: { reason_key: "reason_required" } },
).meta({ id: "MoveManifest" });
/** The parts a detail includes when asked: `events`, `proof_links`, or both with a comma. */
export const DetailQuery = z.object({
  include: z.string().regex(/^(events|proof_links)(,(events|proof_links))*$/).optional(),
});

const Institution = PersonRef.extend({ phone: z.string().nullable() }).meta({
  id: "ManifestInstitution",
});

export const ManifestRow = z.object({
  id: Id,
  manifest_number: z.string(),
  status: z.enum(manifestStatuses),
  creation_source: CreateManifest.shape.creation_source,
  institution_user_id: Id,
  driver_id: Id.nullable(),
  processing_point_id: Id,
  institution: Institution,
  source_branch: NamedRef,
  processing_point: NamedRef,
  driver: PersonRef.nullable(),
  source_address_id: Id,
  destination_branch_id: Id.nullable(),
  destination_address_id: Id.nullable(),
  notes: z.string().nullable(),
  items_count: z.int(),
  received_count: z.int(),
  open_exceptions_count: z.int(),
  picked_up_at: Timestamp.nullable(),
  departed_at: Timestamp.nullable(),
  driver_arrived_at: Timestamp.nullable(),
  receiving_started_at: Timestamp.nullable(),
  receiver_id: Id.nullable(),
  received_at: Timestamp.nullable(),
  received_by: Id.nullable(),
  processing_started_at: Timestamp.nullable(),
  completed_at: Timestamp.nullable(),
  cancelled_at: Timestamp.nullable(),
  cancel_reason: z.string().nullable(),
  created_by: Id.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Manifest" });

export const ItemRow = z.object({
  id: Id,
  position: z.int(),
  barcode_value: z.string(),
  status: z.enum(itemStatuses),
  destination_branch_id: Id.nullable(),
  destination_address_id: Id.nullable(),
  delivery_id: Id.nullable(),
  already_has_order: z.boolean(),
  received_at: Timestamp.nullable(),
  received_by: Id.nullable(),
  package_details: JsonObject.nullable(),
  metadata: JsonObject,
  open_exception: z.object({
    id: Id,
    reason: z.string(),
    notes: z.string().nullable(),
    created_at: Timestamp,
  }).nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "ManifestItem" });

const ProofRow = z.object({
  id: Id,
  stage: z.enum(stages),
  kind: z.enum(kinds),
  url: z.string(),
  signed_by: z.string().nullable(),
  created_by: Id.nullable(),
  created_at: Timestamp,
}).meta({ id: "ManifestProof" });
const EventRow = z.object({
  id: z.int(),
  event_type: z.string(),
  manifest_item_id: Id.nullable(),
  actor: PersonRef.nullable(),
  payload: JsonObject,
  created_at: Timestamp,
}).meta({ id: "ManifestEvent" });
const counted = ["total", ...itemStatuses, "open_exceptions", "remaining"];
const Required = z.object({ photo_required: z.boolean(), signature_required: z.boolean() });

export const ManifestDetail = ManifestRow.extend({
  source_snapshot: z.object({
    branch: NamedRef.extend({ contact_info: JsonObject }),
    address: Address,
    institution: Institution,
  }),
  items: z.array(ItemRow),
  counts: z.object(Object.fromEntries(counted.map((name) => [name, z.int()]))),
  proofs: z.array(ProofRow.extend({
    link: z.string().nullable().optional().describe("The picture for five minutes; null: gone"),
  })),
  proofRequirements: z.object({ pickup: Required, delivery: Required }),
  events: z.array(EventRow).optional(),
}).meta({ id: "ManifestDetail" });

export const ManifestResponse = z.object({ data: ManifestRow });
export const ManifestDetailResponse = z.object({ data: ManifestDetail });
export const ManifestsResponse = z.object({ data: z.array(ManifestRow), pagination: Pagination });
export const EventsResponse = z.object({ data: z.array(EventRow) });
export const ItemsAdded = z.object({
  data: z.object({ manifest_id: Id, items_count: z.int(), items: z.array(ItemRow) }),
});
export const ItemRemoved = z.object({
  data: z.object({ id: Id, manifest_id: Id, items_count: z.int() }),
});
export const ItemsReceived = z.object({
  data: z.object({
    manifest: ManifestRow,
    received_item_ids: z.array(Id),
    already_received_item_ids: z.array(Id),
    remaining_count: z.int(),
  }),
});
export const ProofsAdded = z.object({
  data: z.object({ manifest_id: Id, complete: z.boolean(), proofs: z.array(ProofRow) }),
});
/** A part of number, institution, branch or driver, or the whole barcode of an item. */
const search: Filter = {
  schema: z.string().trim().max(200),
  condition: (value) => {
    const text = `(${value} #>> '{}')`;
    const matches = (column: string) => containing(column, text);
    return [
      matches("r.manifest_number"),
      matches("(r.institution ->> 'full_name')"),
      matches("(r.source_branch ->> 'name')"),
      matches("(r.source_branch ->> 'code')"),
      matches("(r.driver ->> 'full_name')"),
      `r.id in (select i.manifest_id from delivery.transfer_manifest_items i
        where i.barcode_value = delivery.barcode_normalise(${text}))`,
    ].join(" or ");
  },
};

export const manifestsList = defineList({
  view: "delivery.manifests_list",
  sort: ["created_at", "manifest_number", "status", "updated_at"],
  params: {
    search,
    status: someOf("status", manifestStatuses),
    driver_id: id("driver_id"),
    institution_user_id: id("institution_user_id"),
    processing_point_id: id("processing_point_id"),
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  limit: { default: 20, max: 100 },
});
