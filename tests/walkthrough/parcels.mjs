// Parcels in a warehouse: sorted into cages, sent to Erbil on a waybill, one missing on arrival and found again.
// node tests/walkthrough/parcels.mjs
import { randomUUID } from "node:crypto";
import { call, check, expectError, say, show, signIn, stop } from "./barid.mjs";

const ops = await signIn("ops@demo.test");
const manager = await signIn("warehouse@demo.test");
const picker = await signIn("staff@demo.test");
const driver1 = await signIn("driver1@demo.test");

const { warehouses } = await call(manager, "GET", "warehousing/warehouses");
const [main, erbil] = ["WH-MAIN", "WH-EBL"].map((code) => warehouses.find((w) => w.code === code));

say("What waits in the main warehouse to be sent out");
const { data: waiting } = await call(
  ops,
  "GET",
  `delivery/deliveries?delivery_flow=pnd_outbound&status=pending&limit=100&current_warehouse_id=${main.id}`,
);
const northward = waiting.filter(({ dropoff_address }) => dropoff_address.city === "Erbil").slice(
  0,
  3,
);
if (northward.length < 3) stop("Too few parcels wait: npm start -- --reset brings them back.");
show(`${waiting.length} parcels, ${northward[0].barcode} among them`);

say("A sorting session: a trolley for a zone, cages for cities, each somebody's");
const { session } = await call(picker, "POST", "warehousing/sorting-sessions", {
  warehouse_id: main.id,
  assignments: [
    { staff_id: picker.id, destination_type: "zone", destination_value: "Karrada", capacity: 50 },
    { staff_id: picker.id, destination_type: "city", destination_value: "Baghdad", capacity: 50 },
    { staff_id: manager.id, destination_type: "city", destination_value: "Erbil", capacity: 50 },
  ],
});
const sorting = `warehousing/sorting-sessions/${session.id}`;
const cages = {};
for (const { barcode } of waiting) {
  const { put_to } = await call(picker, "POST", `${sorting}/scan`, { delivery_barcode: barcode });
  const place = `${put_to.destination_value}, ${put_to.location_type}`;
  cages[place] = (cages[place] ?? 0) + 1;
}
for (const [place, count] of Object.entries(cages)) show(`${place}: ${count}`);
check("every one has its place", Object.values(cages).reduce((a, b) => a + b), waiting.length);
const [{ barcode }] = northward;
const again = await call(picker, "POST", `${sorting}/scan`, { delivery_barcode: barcode });
check("scanned again, it stays", [again.already_sorted, again.put_to.destination_value], [
  true,
  "Erbil",
]);
await call(picker, "PUT", sorting, { status: "completed" });

say("What to do with a parcel, by its barcode");
const scan = await call(picker, "GET", `warehousing/package-scan/${barcode}`);
check("the scanner opens", scan.action, "open_delivery");
show(scan.message);

say("Three go to Erbil on a waybill: drafted, sealed, handed to a driver");
const made = await call(manager, "POST", "warehousing/waybills", {
  source_warehouse_id: main.id,
  destination_warehouse_id: erbil.id,
  delivery_ids: northward.map(({ id }) => id),
}, { "idempotency-key": randomUUID() });
const waybill = `warehousing/waybills/${made.waybill_id}`;
await call(manager, "POST", `${waybill}/seal`, { seal_number: "EBL-0042" });
await call(manager, "POST", `${waybill}/driver-handover`, { driver_id: driver1.id });
const road = (await call(manager, "GET", waybill)).waybill;
show(`${road.waybill_number}, seal ${road.seal_number}`);
check("on the road", [road.status, road.delivery_count], ["in_transit", 3]);

say("In Erbil two are counted and one is missing; it may not be closed until that is cleared");
const [lost, ...found] = road.deliveries.map(({ id }) => id);
const { waybill: arrived } = await call(manager, "POST", `${waybill}/receive`, {
  received_delivery_ids: found,
  missing_delivery_ids: [lost],
});
check("received, open", [arrived.status, arrived.open_discrepancy_count], ["received", 1]);
const early = await expectError(manager, "POST", `${waybill}/close`);
check("closed at once", early.code, "waybill_has_open_discrepancies");
await call(manager, "POST", `${waybill}/discrepancies/${arrived.discrepancies[0].id}/resolve`, {
  resolution: "found",
  notes: "Under the other boxes",
});
const { waybill: closed } = await call(manager, "POST", `${waybill}/close`);
check("closed", closed.status, "closed");
check(
  "all in Erbil",
  closed.deliveries.every((one) => one.current_warehouse_id === erbil.id),
  true,
);
