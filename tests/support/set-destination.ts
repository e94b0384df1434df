/** Helpers for set-destination: its prerequisites, and reads of its outcome. */
import { sql } from "./db.ts";
import { newBranch } from "./make.ts";
import { newManifest } from "./manifests.ts";
import { fundWallet, newService } from "./money.ts";
import { newTenant, type Tenant } from "./people.ts";

export const setDestination = "/delivery/transfer-manifest-items/bulk/set-destination";

export interface Destination {
  tenant: Tenant;
  service: string;
  branch: string;
  /** Of the institution, which pays. */
  wallet: string;
}

/** A tenant of its own with what a scan needs, and so much in the institution's wallet. */
export async function newDestination(balance = 1_000_000): Promise<Destination> {
  const tenant = await newTenant();
  const service = await newService(tenant);
  const branch = await newBranch(tenant);
  const wallet = await fundWallet(tenant, "institution", tenant.institution.id, balance);
  return { tenant, service, branch, wallet };
}

/** Makes requests that send items to a destination. */
export const requestTo = ({ branch, service }: Destination) =>
(
  item_ids: string[],
  more: Record<string, unknown> = {},
) => ({
  item_ids,
  destination_branch_id: branch,
  delivery_service_id: service,
  ...more,
});

export const shuffled = <T>(list: T[]) =>
  list.map((value) => ({ value, at: Math.random() })).sort((a, b) => a.at - b.at).map(({ value }) =>
    value
  );

export async function statusOf(manifestId: string): Promise<string> {
  const [row] = await sql`select status from delivery.transfer_manifests where id = ${manifestId}`;
  return row.status;
}

/** How many events of each type a manifest had. */
export async function eventsOf(manifestId: string): Promise<Record<string, number>> {
  const rows =
    await sql`select event_type, count(*)::int as n from delivery.transfer_manifest_events
    where manifest_id = ${manifestId} group by 1`;
  return Object.fromEntries(rows.map((row) => [row.event_type, row.n]));
}

export const changeDestination = "/delivery/transfer-manifest-items/bulk/change-destination";

/** A manifest whose items all have their orders to this destination. */
export async function ordered(made: Destination, items: number) {
  const { id, itemIds, barcodes } = await newManifest(made.tenant, { items });
  const { body } = await made.tenant.dispatcher.post(setDestination, requestTo(made)(itemIds));
  const orders: { id: string; delivery_code: number; status: string }[] = body.data.created
    .map((row: { delivery: unknown }) => row.delivery);
  return { manifest: id, itemIds, barcodes, orders };
}

export type Change = Awaited<ReturnType<typeof newChange>>;

/** A destination, another branch, and the call that sends items there instead. */
export async function newChange() {
  const made = await newDestination();
  const { tenant } = made;
  const other = await newBranch(tenant);
  const change = (item_ids: string[], more: Record<string, unknown> = {}, key?: string) =>
    tenant.dispatcher.post(
      changeDestination,
      { item_ids, destination_branch_id: other, ...more },
      key ? { headers: { "idempotency-key": key } } : {},
    );
  return { made, tenant, other, change };
}
