/** Parcels with several items, of which a part is kept. */
import type { Body } from "./api.ts";
import { path } from "./deliveries.ts";
import type { Tenant } from "./people.ts";

/** Two shirts at 8,000 and a cap at 4,000: 20,000. */
export const items = [
  { name: "Shirt", quantity: 2, unit_price: 8000 },
  { name: "Cap", quantity: 1, unit_price: 4000 },
];

/** A parcel with these prices. */
export const priced = { cod_amount: 20_000, package: { items } };

/** The same parcel, with one amount for all. */
export const unpriced = {
  cod_amount: 20_000,
  package: { items: items.map(({ name, quantity }) => ({ name, quantity })) },
};

/** The items of a delivery, as the office reads them. */
export const itemsOf = async (tenant: Tenant, id: string): Promise<Body[]> =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.items;

/** Kept quantities by name, as a report names them. */
export async function kept(tenant: Tenant, id: string, quantities: Record<string, number>) {
  const all = await itemsOf(tenant, id);
  return Object.entries(quantities).map(([name, quantity]) => ({
    delivery_item_id: all.find((item) => item.name === name)!.id,
    quantity,
  }));
}

/** A report that the receiver kept these. */
export const partial = async (
  tenant: Tenant,
  id: string,
  quantities: Record<string, number>,
  more = {},
) => ({
  result: "partial",
  items: await kept(tenant, id, quantities),
  ...more,
});

/** Quantities by name. */
export const contents = (rows: Body[]) =>
  Object.fromEntries(rows.map(({ name, quantity }) => [name, quantity]));
