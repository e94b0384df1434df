/** The warehouse: stock in and out of the shelves, returned parcels taken in, staged parcels sorted and sent on. */
import { DemoFailure, done } from "./barid.ts";
import type { Count } from "./count.ts";
import { type Job, nothing } from "./drivers.ts";
import type { World } from "./people.ts";
import type { Plan } from "./plan.ts";
import { each, type Progress } from "./progress.ts";
import type { Parcel } from "./scans.ts";

/** The stock on the shelf before the day begins. */
export async function stockUp(world: World, plan: Plan, count: Count): Promise<void> {
  await done(world.manager.barid.POST("/warehousing/inventory/receipts", {
    body: {
      warehouse_id: world.main.id,
      transaction_type: "initial_stock",
      items: plan.goods.map(({ stock }, n) => ({
        item_id: world.goods[n],
        bin_id: world.main.shelf,
        quantity: stock,
      })),
    },
  }));
  for (const { stock } of plan.goods) count.stock.main.available += stock;
}

export const movementsOf = ({ stock }: Plan): number =>
  stock.receipts.length + stock.picks.length + stock.transfers.length + stock.corrections.length;

/** Receipts, picks, transfers to the other warehouse, corrections. */
export async function moveStock(
  world: World,
  { stock }: Plan,
  count: Count,
  progress: Progress,
): Promise<void> {
  const { main, second } = count.stock;
  const { barid } = world.manager;
  const warehouse_id = world.main.id;
  const bin_id = world.main.shelf;

  await each(stock.receipts, async ({ goods, sound, damaged }) => {
    const item_id = world.goods[goods];
    await done(barid.POST("/warehousing/inventory/receipts", {
      body: {
        warehouse_id,
        notes: "Lorry, دهوك",
        items: [
          { item_id, bin_id, quantity: sound },
          ...(damaged ? [{ item_id, bin_id, quantity: damaged, status: "damaged" }] : []),
        ],
      },
    }));
    main.available += sound;
    main.damaged += damaged;
    progress.step();
  });
  await each(stock.picks, async ({ goods, quantity, cancelled }) => {
    await pick(world, world.goods[goods], quantity, cancelled);
    if (!cancelled) main.available -= quantity;
    progress.step();
  });
  await each(stock.transfers, async ({ goods, quantity }) => {
    await done(barid.POST("/warehousing/inventory-transfers", {
      body: {
        source_warehouse_id: warehouse_id,
        destination_warehouse_id: world.second.id,
        items: [{
          item_id: world.goods[goods],
          quantity,
          source_bin_id: bin_id,
          destination_bin_id: world.second.shelf,
        }],
      },
    }));
    main.available -= quantity;
    second.available += quantity;
    progress.step();
  });
  await each(stock.corrections, async ({ goods, delta }) => {
    await done(barid.POST("/warehousing/inventory/adjustments", {
      body: { warehouse_id, bin_id, item_id: world.goods[goods], delta, reason: "Counted anew" },
    }));
    main.available += delta;
    progress.step();
  });
}

/** A picking order from its creation to its end: handed off, or given up with the goods back on the shelf. */
async function pick(
  world: World,
  item_id: string,
  quantity: number,
  cancelled: boolean,
): Promise<void> {
  const { barid } = world.admin;
  const { order } = await done(barid.POST("/warehousing/picking-orders", {
    body: {
      warehouse_id: world.main.id,
      order_type: "individual",
      status: "pending",
      assigned_to: world.manager.id,
      item_details: [{ item_id, bin_id: world.main.shelf, quantity }],
    },
  }));
  for (
    const status of ["in_progress", ...(cancelled ? ["cancelled"] : ["completed", "handed_off"])]
  ) {
    await done(barid.PUT("/warehousing/picking-orders/{picking_order_id}", {
      params: { path: { picking_order_id: order.id } },
      body: { status: status as "in_progress" | "completed" | "handed_off" | "cancelled" },
    }));
  }
}

/** Parcels that came back from the door. */
export async function takeIn(
  world: World,
  receipts: string[],
  count: Count,
  progress: Progress,
): Promise<void> {
  await each(receipts, async (order) => {
    await done(world.manager.barid.PUT("/warehousing/receiving-orders/{receiving_order_id}", {
      params: { path: { receiving_order_id: order } },
      body: { status: "received" },
    }));
    count.numbers.received++;
    // Until it leaves, it is a unit of stock.
    count.stock.main.available++;
    progress.step();
  });
}

/** Parcels that were refused are sent back to their merchant by the next driver; answers what that driver has to do. */
export async function sendBack(world: World, refused: Job[], count: Count): Promise<Job[]> {
  return await each(refused, async ({ parcel, driver, evening }): Promise<Job> => {
    const { delivery } = await done(
      world.dispatcher.barid.POST("/delivery/deliveries/{delivery_id}/operational-return", {
        params: { path: { delivery_id: parcel } },
        body: { reason: "Refused at the door" },
      }),
    );
    await done(world.admin.barid.POST("/delivery/deliveries/{delivery_id}/execute", {
      params: { path: { delivery_id: delivery.id } },
      body: {},
    }));
    count.numbers.orders++;
    count.stock.main.available--;
    const carried = { driver: (driver + 1) % world.drivers.length, evening, handoff: true };
    const cash = { pickup: nothing, door: nothing };
    return {
      ...carried,
      cash,
      outcome: "delivered",
      delivery: delivery.id,
      parcel: delivery.id,
      backOf: driver,
    };
  });
}

/** Staged parcels are put into a cage by their barcodes. */
export async function sort(
  world: World,
  parcels: Parcel[],
  count: Count,
  progress: Progress,
): Promise<void> {
  const { barid, id: staff_id } = world.manager;
  const { session } = await done(barid.POST("/warehousing/sorting-sessions", {
    body: {
      warehouse_id: world.main.id,
      assignments: [{
        staff_id,
        destination_type: "city",
        destination_value: "Baghdad",
        capacity: parcels.length,
      }],
    },
  }));
  const at = { params: { path: { session_id: session.id } } };
  await each(parcels, async ({ barcode }) => {
    const { put_to } = await done(barid.POST("/warehousing/sorting-sessions/{session_id}/scan", {
      ...at,
      body: { delivery_barcode: barcode },
    }));
    if (put_to.destination_value !== "Baghdad") throw new DemoFailure(`${barcode} has no cage`);
    count.numbers.sorted++;
    progress.step();
  });
  await done(barid.PUT("/warehousing/sorting-sessions/{session_id}", {
    ...at,
    body: { status: "completed" },
  }));
}

/** Some continue to the other warehouse, on one waybill: drafted, sealed, driven, received, closed. */
export async function sendOn(world: World, parcels: Parcel[], count: Count): Promise<void> {
  const { barid } = world.manager;
  const { waybill_id } = await done(barid.POST("/warehousing/waybills", {
    params: { header: { "Idempotency-Key": world.system.nextKey() } },
    body: {
      source_warehouse_id: world.main.id,
      destination_warehouse_id: world.second.id,
      delivery_ids: parcels.map(({ legs: [, out] }) => out),
    },
  }));
  const at = { params: { path: { waybill_id } } };
  await done(barid.POST("/warehousing/waybills/{waybill_id}/seal", {
    ...at,
    body: { seal_number: "0042" },
  }));
  await done(barid.POST("/warehousing/waybills/{waybill_id}/driver-handover", {
    ...at,
    body: { driver_id: world.drivers[0].id },
  }));
  await done(barid.POST("/warehousing/waybills/{waybill_id}/receive", { ...at, body: {} }));
  await done(barid.POST("/warehousing/waybills/{waybill_id}/close", at));
  count.numbers.waybills++;
  // A parcel that waits is a unit of stock.
  count.stock.second.available += parcels.length;
}

/** The others are picked for the driver who takes them out. */
export async function pickOut(world: World, parcels: Parcel[], progress: Progress): Promise<void> {
  await each(parcels, async ({ legs: [, out] }) => {
    await done(world.admin.barid.POST("/delivery/deliveries/{delivery_id}/execute", {
      params: { path: { delivery_id: out } },
      body: {},
    }));
    progress.step();
  });
}
