/** Packages in warehouses: sorted, transferred, sent on waybills, scanned. */
import { sql } from "../../../support/db.ts";
import {
  newPackage,
  newStaff,
  newStagedPackage,
  newYard,
  type Yard,
} from "../../../support/packages.ts";
import { newPerson } from "../../../support/people.ts";
import { waybillSteps } from "../../../support/waybills.ts";
import type { Call, Calls, World } from "../call.ts";

const yards = new WeakMap<object, Promise<Yard>>();

/** Two warehouses of the world's tenant, once. */
function yardOf({ tenant }: World): Promise<Yard> {
  const known = yards.get(tenant) ?? newYard(tenant);
  yards.set(tenant, known);
  return known;
}

/** A parcel in the first warehouse. */
const parcel: Pick<Call, "before"> = {
  before: async (world) => {
    const yard = await yardOf(world);
    const { id, barcode } = await newPackage(yard);
    return {
      things: { delivery: id, barcode, warehouse: yard.warehouse, other_warehouse: yard.there },
    };
  },
};

/** A waybill with a parcel: written, or on the road. */
const waybill = (
  is: "draft" | "sealed" | "on the road" | "received" | "missing",
): Pick<Call, "before"> => ({
  before: async (world) => {
    const { tenant } = world;
    const yard = await yardOf(world);
    const steps = waybillSteps(tenant, yard);
    const { id: delivery } = is === "missing"
      ? (await newStagedPackage(yard)).parent
      : await newPackage(yard);
    const things: Record<string, string> = { delivery, driver: tenant.driver.id };
    if (is === "draft" || is === "sealed") {
      things.waybill = (await steps.draft(delivery)).id;
      if (is === "sealed") await steps.step(things.waybill!, "seal", { seal_number: "S-1001" });
      return { things };
    }
    things.waybill = await steps.onTheRoad(delivery);
    if (is === "received") {
      await steps.step(things.waybill, "receive", { received_delivery_ids: [delivery] });
    } else if (is === "missing") {
      const answer = await steps.step(things.waybill, "receive", {
        missing_delivery_ids: [delivery],
      });
      things.discrepancy = answer.body.waybill.discrepancies[0].id;
    }
    return { things };
  },
});

/** A session of sorting with a cage, and a parcel for it. */
const sorting: Pick<Call, "before"> = {
  before: async (world) => {
    const { tenant } = world;
    const yard = await yardOf(world);
    const user = await newPerson(tenant.id, "staff", "warehouse_staff");
    const staff = await newStaff(tenant, yard.warehouse, user.id, "E-17");
    const { id } = await newPackage(yard);
    const [{ barcode }] = await sql`select barcode from delivery.deliveries where id = ${id}`;
    const answer = await tenant.warehouse.post("/warehousing/sorting-sessions", {
      warehouse_id: yard.warehouse,
      assignments: [{ staff_id: staff, destination_type: "city", destination_value: "Baghdad" }],
    });
    const { session } = answer.body;
    return {
      things: {
        warehouse: yard.warehouse,
        staff,
        barcode,
        sorting_session: session.id,
        assignment: session.assignments[0].id,
      },
    };
  },
};

export const packages: Calls = {
  "POST /warehousing/sorting-sessions": {
    ...sorting,
    body: ({ warehouse, staff }) => ({
      warehouse_id: warehouse,
      assignments: [{
        staff_id: staff,
        destination_type: "city",
        destination_value: "Erbil",
        capacity: 40,
      }],
    }),
  },
  "PUT /warehousing/sorting-sessions/:session_id": sorting,
  "POST /warehousing/sorting-sessions/:session_id/assignments": {
    ...sorting,
    body: ({ staff }) => ({
      assignments: [{ staff_id: staff, destination_type: "city", destination_value: "Erbil" }],
    }),
  },
  "POST /warehousing/sorting-sessions/:session_id/scan": {
    ...sorting,
    body: ({ barcode }) => ({ delivery_barcode: barcode }),
  },
  "PUT /warehousing/sorting-sessions/:session_id/assignments/:assignment_id": {
    ...sorting,
    body: () => ({ capacity: 50 }),
  },
  "DELETE /warehousing/sorting-sessions/:session_id/assignments/:assignment_id": sorting,
  "POST /warehousing/package-transfers": {
    ...parcel,
    body: ({ warehouse, other_warehouse, barcode }) => ({
      mode: "system_only",
      source_warehouse_id: warehouse,
      destination_warehouse_id: other_warehouse,
      package_barcodes: [barcode],
    }),
  },
  "POST /warehousing/package-transfers/validate": {
    ...parcel,
    body: ({ warehouse, other_warehouse, delivery }) => ({
      mode: "system_only",
      source_warehouse_id: warehouse,
      destination_warehouse_id: other_warehouse,
      delivery_ids: [delivery],
    }),
  },
  "POST /warehousing/waybills": {
    ...parcel,
    body: ({ warehouse, other_warehouse, delivery }) => ({
      source_warehouse_id: warehouse,
      destination_warehouse_id: other_warehouse,
      delivery_ids: [delivery],
      notes: "Night truck",
    }),
  },
  "POST /warehousing/waybills/:waybill_id/seal": {
    ...waybill("draft"),
    body: () => ({ seal_number: "S-1001" }),
  },
  "POST /warehousing/waybills/:waybill_id/cancel": waybill("draft"),
  "POST /warehousing/waybills/:waybill_id/driver-handover": {
    ...waybill("sealed"),
    body: ({ driver }) => ({ driver_id: driver }),
  },
  "POST /warehousing/waybills/:waybill_id/receive": {
    ...waybill("on the road"),
    body: ({ delivery }) => ({ received_delivery_ids: [delivery] }),
  },
  "POST /warehousing/waybills/:waybill_id/close": waybill("received"),
  "POST /warehousing/waybills/:waybill_id/discrepancies/:discrepancy_id/resolve": {
    ...waybill("missing"),
    body: () => ({ resolution: "found", notes: "Under the seat" }),
  },
  "GET /warehousing/package-scan/:delivery_barcode": {
    ...parcel,
  },
  "POST /warehousing/package-scan": {
    ...parcel,
    body: ({ barcode }) => ({ barcodes: [barcode] }),
  },
};
