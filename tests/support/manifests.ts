/** Manifests in any state, straight in the database; what the calls would leave there. */
import { sql } from "./db.ts";
import { newBranch } from "./make.ts";
import type { Tenant } from "./people.ts";

export type ManifestStatus =
  | "draft"
  | "picked_up"
  | "in_transit"
  | "awaiting_receipt"
  | "receiving"
  | "received"
  | "received_with_exceptions"
  | "processing"
  | "completed"
  | "cancelled";

export type ItemStatus =
  | "picked_up"
  | "in_transit"
  | "received"
  | "scanned"
  | "processing"
  | "order_created"
  | "void";

export interface ItemOptions {
  /** The default item of such a manifest. */
  status?: ItemStatus;
  barcode?: string;
  /** Reason of an open exception. */
  exception?: string;
  destinationBranch?: string;
  destinationAddress?: string;
  packageDetails?: Record<string, unknown>;
}

export interface ManifestOptions {
  /** `awaiting_receipt` unless said. */
  status?: ManifestStatus;
  /** How many, or what each one is; two unless said. */
  items?: number | ItemOptions[];
  /** Photo and signature of both stages; those a manifest of this status has passed unless said. */
  proof?: boolean | { pickup?: ("photo" | "signature")[]; delivery?: ("photo" | "signature")[] };
  /** False: the driver's arrival is missing although the status comes after it. */
  arrived?: boolean;
  /** False: received_at, received_by and received_count are missing although the status comes after them. */
  receipt?: boolean;
  /** False: the receiver is missing although receiving has begun. */
  receiver?: boolean;
  branch?: string;
  point?: string;
  institution?: string;
  /** Null: nobody drives it. */
  driver?: string | null;
}

export interface MadeManifest {
  id: string;
  number: string;
  branch: string;
  point: string;
  items: { id: string; barcode: string }[];
  /** Ids of the items, in scan order. */
  itemIds: string[];
  barcodes: string[];
}

const order: ManifestStatus[] = [
  "draft",
  "picked_up",
  "in_transit",
  "awaiting_receipt",
  "receiving",
  "received",
  "received_with_exceptions",
  "processing",
  "completed",
];

let serial = Math.floor(Math.random() * 900_000_000);

/** A valid 14-character barcode: DM, nine digits, check digit (MOD 11), IQ. */
export function newBarcode(number: number = ++serial % 1_000_000_000): string {
  const digits = String(number).padStart(9, "0");
  const sum = [10, 8, 6, 4, 2, 3, 5, 9, 7].reduce((s, w, i) => s + w * Number(digits[i]), 0);
  const rest = 11 - sum % 11;
  return `DM${digits}${rest === 10 ? 0 : rest === 11 ? 5 : rest}IQ`;
}

/** A manifest with its items, proofs and exceptions, as if it had come to this status by itself. */
export async function newManifest(
  tenant: Tenant,
  options: ManifestOptions = {},
): Promise<MadeManifest> {
  const { status = "awaiting_receipt", items = 2, receiver = true } = options;
  const reached = (other: ManifestStatus) => order.indexOf(status) >= order.indexOf(other);
  const institution = options.institution ?? tenant.institution.id;
  const branch = options.branch ?? await newBranch(tenant, { institution, point: options.point });
  const at = (passed: boolean) => (passed ? new Date() : null);
  const received = reached("received") && (options.receipt ?? true);
  const wanted = typeof items === "number" ? ordinaryItems(items, status) : items;
  const rows = wanted.map((item, index) => itemRow(tenant, item, index, status));
  return await sql.begin(async (tx) => {
    const [manifest] = await tx`
      insert into delivery.transfer_manifests (tenant_id, manifest_number, status, institution_user_id,
        source_branch_id, source_address_id, source_snapshot, processing_point_id, driver_id, creation_source,
        picked_up_at, departed_at, driver_arrived_at, receiving_started_at, receiver_id, received_at, received_by,
        received_count, processing_started_at, completed_at, cancelled_at, cancel_reason, created_by)
      select b.tenant_id, 'TM-' || ${
      String(900_000_000 + ++serial)
    }::text, ${status}, ${institution}, b.id, a.id,
        jsonb_build_object(
          'branch', jsonb_build_object('id', b.id, 'name', b.name, 'code', b.code, 'contact_info', b.contact_info),
          'address', to_jsonb(a) - '{tenant_id,owner_user_id,zone_chosen,in_address_book}'::text[],
          'institution', jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone)),
        coalesce(${options.point ?? null}, b.default_processing_point_id), ${
      options.driver === undefined ? tenant.driver.id : options.driver
    }, 'form', ${at(reached("picked_up"))}, ${at(reached("in_transit"))},
        ${at(options.arrived ?? reached("awaiting_receipt"))}, ${at(reached("receiving"))},
        ${reached("receiving") && receiver ? tenant.dispatcher.id : null},
        ${at(received)}, ${received ? tenant.dispatcher.id : null},
        ${received ? rows.filter((row) => row.received_at).length : null},
        ${at(status === "processing" || status === "completed")}, ${at(status === "completed")},
        ${at(status === "cancelled")}, ${
      status === "cancelled" ? "changed plans" : null
    }, ${tenant.dispatcher.id}
      from delivery.institution_branches b
      join delivery.addresses a on a.tenant_id = b.tenant_id and a.id = b.address_id
      join tenancy.profiles p on p.id = ${institution}
      where b.tenant_id = ${tenant.id} and b.id = ${branch}
      returning id, manifest_number, processing_point_id`;
    const made = rows.length === 0
      ? []
      : await tx`insert into delivery.transfer_manifest_items ${
        tx(rows.map((row) => ({ ...row, manifest_id: manifest.id })))
      } returning id, barcode_value, position`;
    const inOrder = [...made].sort((a, b) => a.position - b.position);
    const open = wanted.flatMap((item, index) =>
      item.exception
        ? [{
          tenant_id: tenant.id,
          manifest_id: manifest.id,
          manifest_item_id: inOrder[index].id,
          reason: item.exception,
          previous_item_status: rows[index].status,
          created_by: tenant.dispatcher.id,
        }]
        : []
    );
    if (open.length) await tx`insert into delivery.transfer_manifest_exceptions ${tx(open)}`;
    const proofs = proofRows(tenant, manifest.id, options.proof, reached);
    if (proofs.length) await tx`insert into delivery.transfer_manifest_proofs ${tx(proofs)}`;
    return {
      id: manifest.id,
      number: manifest.manifest_number,
      branch,
      point: manifest.processing_point_id,
      items: inOrder.map((item) => ({ id: item.id, barcode: item.barcode_value })),
      itemIds: inOrder.map((item) => item.id),
      barcodes: inOrder.map((item) => item.barcode_value),
    };
  });
}

function ordinaryItems(count: number, status: ManifestStatus): ItemOptions[] {
  return Array.from(
    { length: count },
    (_, index) =>
      status === "received_with_exceptions" && index === 0
        ? { status: "in_transit", exception: "missing_on_receive" }
        : {},
  );
}

function itemRow(tenant: Tenant, item: ItemOptions, index: number, manifest: ManifestStatus) {
  const status = item.status ?? ordinaryStatus(manifest);
  const received = ["received", "scanned", "processing"].includes(status);
  return {
    tenant_id: tenant.id,
    barcode_value: item.barcode ?? newBarcode(),
    status,
    position: index + 1,
    received_at: received ? new Date() : null,
    received_by: received ? tenant.dispatcher.id : null,
    destination_branch_id: item.destinationBranch ?? null,
    destination_address_id: item.destinationAddress ?? null,
    package_details: item.packageDetails ? sql.json(item.packageDetails as never) : null,
  };
}

function ordinaryStatus(manifest: ManifestStatus): ItemStatus {
  if (manifest === "draft" || manifest === "picked_up") return "picked_up";
  if (["in_transit", "awaiting_receipt", "receiving"].includes(manifest)) return "in_transit";
  // Orders need deliveries, which are made elsewhere.
  return manifest === "cancelled" || manifest === "completed" ? "void" : "received";
}

function proofRows(
  tenant: Tenant,
  manifestId: string,
  proof: ManifestOptions["proof"],
  reached: (status: ManifestStatus) => boolean,
) {
  const both = ["photo", "signature"] as const;
  const asked = typeof proof === "object" ? proof : {
    pickup: proof ?? reached("picked_up") ? both : [],
    delivery: proof ?? reached("awaiting_receipt") ? both : [],
  };
  return (["pickup", "delivery"] as const).flatMap((stage) =>
    (asked[stage] ?? []).map((kind) => ({
      tenant_id: tenant.id,
      manifest_id: manifestId,
      stage,
      kind,
      url: `${tenant.id}/${manifestId}/${stage}-${kind}.jpg`,
      signed_by: kind === "signature" ? "Ali" : null,
      created_by: tenant.driver.id,
    }))
  );
}

/** The fields that creating a manifest of the tenant's institution from a form needs. */
export const manifestRequest = (
  tenant: Tenant,
  branch: string,
  more: Record<string, unknown> = {},
) => ({
  institution_user_id: tenant.institution.id,
  source_branch_id: branch,
  creation_source: "form",
  ...more,
});

/** How many manifests a tenant has ever had. */
export async function countManifests(tenant: { id: string }): Promise<number> {
  const [{ n }] =
    await sql`select count(*)::int as n from delivery.transfer_manifests where tenant_id = ${tenant.id}`;
  return n;
}
