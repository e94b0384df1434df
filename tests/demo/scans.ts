/** The dispatcher's screen: scan, validate, one destination for all; and the merchant's own orders beside them. */
import { DemoFailure, done } from "./barid.ts";
import type { Count } from "./count.ts";
import type { Arrived } from "./manifests.ts";
import { fund, type World } from "./people.ts";
import type { Item, Order, Plan } from "./plan.ts";
import { each, type Progress } from "./progress.ts";

/** A parcel that can be carried. */
export interface Parcel {
  id: string;
  plan: Item | Order;
  /** Of a staged one: into the warehouse, and out of it. */
  legs: string[];
  barcode: string;
}

/** Turns the items of every manifest into paid delivery orders. */
export async function scan(
  world: World,
  arrived: Arrived[],
  count: Count,
  progress: Progress,
): Promise<Parcel[]> {
  const { dispatcher: { barid } } = world;
  // The institution pays for its parcels by wallet. What is enough is enough: the fees are counted from the answers.
  const items = arrived.reduce((sum, { items }) => sum + items.length, 0);
  await fund(world, world.institution, 50_000 * items);
  count.wallets.institution += 50_000 * items;

  const parcels = await each(arrived, async ({ items, plan }) => {
    const { data: found } = await done(
      barid.GET("/delivery/transfer-manifest-items/search", {
        params: { query: { q: items[0].barcode } },
      }),
    );
    if (found[0]?.manifest_item_id !== items[0].id) {
      throw new DemoFailure(`search does not find ${items[0].barcode}`);
    }
    const { data: validated } = await done(
      barid.POST("/delivery/transfer-manifest-items/bulk/validate", {
        body: { barcodes: [...items.map(({ barcode }) => barcode), "no barcode"] },
      }),
    );
    if (validated.total_valid !== items.length || validated.total_failed !== 1) {
      throw new DemoFailure(`validate: ${validated.total_valid} of ${items.length} are valid`);
    }
    const { data: made } = await done(
      barid.POST("/delivery/transfer-manifest-items/bulk/set-destination", {
        body: {
          item_ids: items.map(({ id }) => id),
          destination_address_id: world.places[plan.place],
          delivery_service_id: world.service,
        },
      }),
    );
    if (made.failed_count) {
      throw new DemoFailure(`set-destination: ${made.failed[0].error_message}`);
    }
    count.numbers.scanned += made.created_count;
    const orders = new Map(made.created.map(({ item_id, delivery }) => [item_id, delivery.id]));
    progress.step();
    return items.map((item): Parcel => {
      const id = orders.get(item.id)!;
      count.ordered(id);
      return { id, plan: item.plan, legs: [], barcode: item.barcode };
    });
  });
  return parcels.flat();
}

/** The merchant's orders, from door to door or through the main warehouse. */
export async function order(
  world: World,
  plan: Plan,
  count: Count,
  progress: Progress,
): Promise<Parcel[]> {
  const { merchant } = world;
  const prepaid = plan.orders.filter(({ terms }) => terms.payment_method === "wallet").length;
  if (prepaid) await fund(world, merchant, 50_000 * prepaid);
  count.wallets.merchant += 50_000 * prepaid;
  return await each(plan.orders, async (order): Promise<Parcel> => {
    const { delivery } = await done(merchant.barid.POST("/delivery/deliveries", {
      body: {
        ...order.terms,
        delivery_service_id: world.service,
        pickup_address_id: world.merchantPlaces[1],
        dropoff_address_id: world.merchantPlaces[order.place],
        unit_size: 1,
        recipient: { name: "كرار عباس", phone: "+9647712345679" },
        // Two of a kind, of which the receiver may keep one.
        ...(order.outcome === "partial"
          ? {
            package: {
              items: [{ name: "قميص", quantity: 2, unit_price: order.terms.cod_amount / 2 }],
            },
          }
          : {}),
        ...(order.kind === "staged" ? { staged: true, warehouse_id: world.main.id } : {}),
      },
    }));
    count.ordered(delivery.id);
    count.numbers.orders++;
    if (order.terms.payment_method === "wallet") count.wallets.merchant -= delivery.price;
    progress.step();
    return {
      id: delivery.id,
      plan: order,
      legs: delivery.legs.map(({ id }) => id),
      barcode: delivery.barcode,
    };
  });
}
