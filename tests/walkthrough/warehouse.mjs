// A warehouse's day: stock comes in, orders are picked, some of it is lost and some comes back, stock moves between houses, the dashboard
// shows it.
// node tests/walkthrough/warehouse.mjs
import { call, check, expectError, say, show, signIn } from "./barid.mjs";

const ops = await signIn("ops@demo.test");
const manager = await signIn("warehouse@demo.test");
const picker = await signIn("staff@demo.test");

const { warehouses } = await call(manager, "GET", "warehousing/warehouses");
const [main, erbil] = ["WH-MAIN", "WH-EBL"].map((code) => warehouses.find((w) => w.code === code));
const shelf = await bin(main, "A-01");
const dock = await bin(main, "R-01");
const erbilShelf = await bin(erbil, "A-01");
const { data: [honey] } = await call(
  manager,
  "GET",
  "warehousing/inventory-items?sku=HON-500",
);
show(`${main.name} and ${erbil.name}; ${honey.name} (${honey.sku})`);
const before = await units(main);

say("Receive 30 jars on the shelf and 2 broken ones at the dock");
const receipt = await call(manager, "POST", "warehousing/inventory/receipts", {
  warehouse_id: main.id,
  notes: "Lorry 12, دهوك",
  items: [
    { item_id: honey.id, bin_id: shelf, quantity: 30 },
    { item_id: honey.id, bin_id: dock, quantity: 2, status: "damaged" },
  ],
});
for (const { transaction_type, quantity, to_bin } of receipt.transactions) {
  show(`${transaction_type} ${quantity} into ${to_bin.code}`);
}
const received = await units(main);
check("available", received.available - before.available, 30);
check("damaged", received.damaged - before.damaged, 2);

say("Pick 4 of them: created, begun (reserved), completed, handed off (out of the house)");
const { order } = await call(ops, "POST", "warehousing/picking-orders", {
  warehouse_id: main.id,
  order_type: "individual",
  status: "pending",
  assigned_to: picker.id,
  priority: 5,
  item_details: [{ item_id: honey.id, bin_id: shelf, quantity: 4 }],
});
show(`${order.reference_number} for ${order.assigned_to_user.full_name}`);
const path = `warehousing/picking-orders/${order.id}`;
check("pending, reserved", (await units(main)).reserved - received.reserved, 0);
await call(ops, "PUT", path, { status: "in_progress" });
check("in progress, reserved", (await units(main)).reserved - received.reserved, 4);
await call(ops, "PUT", path, {
  item_details: [{
    item_id: honey.id,
    bin_id: shelf,
    quantity: 4,
    picked_quantity: 4,
    status: "picked",
  }],
  status: "completed",
});
const done = await call(ops, "PUT", path, { status: "handed_off" });
check("the order", done.order.status, "handed_off");
const picked = await units(main);
check("units in the house", picked.total - received.total, -4);
const again = await expectError(ops, "PUT", path, { status: "completed" });
check("backwards", again.code, "invalid_status_transition");

say(
  "Pick 5 more: the picker reports how far the order has come, and finds one jar less than the books say",
);
const { order: pick } = await call(ops, "POST", "warehousing/picking-orders", {
  warehouse_id: main.id,
  order_type: "individual",
  status: "pending",
  assigned_to: picker.id,
  item_details: [{ item_id: honey.id, bin_id: shelf, quantity: 5 }],
});
const report = (status, picked_quantity) =>
  call(picker, "POST", `warehousing/picking-orders/${pick.id}/progress`, {
    status,
    items: [{ item_id: honey.id, bin_id: shelf, picked_quantity }],
  });
const begun = await report("in_progress", 2);
check("so far", begun.order.item_details[0].picked_quantity, 2);
const over = await report("completed", 4);
check("ended as", [over.order.status, over.order.item_details[0].status], ["completed", "short"]);
const tooLate = await expectError(
  picker,
  "POST",
  `warehousing/picking-orders/${pick.id}/progress`,
  {
    status: "in_progress",
    items: [],
  },
);
show(`reported again: ${tooLate.code}`);
await call(ops, "PUT", `warehousing/picking-orders/${pick.id}`, { status: "handed_off" });
const left = await units(main);
check("handed off, units in the house", left.total - picked.total, -4);
check("still reserved", left.reserved, picked.reserved);

say("The jar that nobody found is written off, and so are the two broken ones");
const { write_off_id } = await call(ops, "POST", "warehousing/inventory/write-offs", {
  warehouse_id: main.id,
  reason: "Lost and broken, found while picking",
  items: [
    { item_id: honey.id, bin_id: shelf, quantity: 1 },
    { item_id: honey.id, bin_id: dock, quantity: 2, status: "damaged", note: "Lorry 12" },
  ],
});
const { write_off } = await call(
  manager,
  "GET",
  `warehousing/inventory/write-offs/${write_off_id}`,
);
for (const { quantity, item, bin, status, note } of write_off.items) {
  show(`${quantity} ${status} ${item.name} from ${bin.code}${note ? `: ${note}` : ""}`);
}
const { data: [latest] } = await call(
  manager,
  "GET",
  `warehousing/inventory/write-offs?warehouse_id=${main.id}&item_id=${honey.id}`,
);
check("the latest write-off", [latest.id, latest.units], [write_off_id, 3]);
const written = await units(main);
check("units in the house", written.total - left.total, -3);

say("A customer brings 2 jars back without a delivery: one can be sold again, one is put aside");
const returned = await call(manager, "POST", "warehousing/inventory/returns", {
  warehouse_id: main.id,
  reason: "Customer return at the counter",
  items: [
    { item_id: honey.id, bin_id: shelf, quantity: 1 },
    { item_id: honey.id, bin_id: dock, quantity: 1, status: "damaged" },
  ],
});
check("movements", returned.transactions.map(({ transaction_type }) => transaction_type), [
  "return",
  "return",
]);
const stocked = await units(main);
check("available", stocked.available - written.available, 1);
check("damaged", stocked.damaged - written.damaged, 1);

say("More than lies there is refused, and nothing moves");
const greedy = await expectError(ops, "POST", "warehousing/picking-orders", {
  warehouse_id: main.id,
  order_type: "individual",
  status: "pending",
  item_details: [{ item_id: honey.id, bin_id: shelf, quantity: 1_000_000 }],
});
check("refused", [greedy.code, greedy.field], ["insufficient_stock", "item_details.0.quantity"]);

say("Transfer 10 to Erbil: out of one shelf and into another in one step");
const erbilBefore = await units(erbil);
const { inventory_transfer } = await call(manager, "POST", "warehousing/inventory-transfers", {
  source_warehouse_id: main.id,
  destination_warehouse_id: erbil.id,
  items: [{
    item_id: honey.id,
    quantity: 10,
    source_bin_id: shelf,
    destination_bin_id: erbilShelf,
  }],
});
show(
  `${inventory_transfer.reference_number}: ${
    inventory_transfer.transactions.map(({ transaction_type, quantity }) =>
      `${transaction_type} ${quantity}`
    ).join(", ")
  }`,
);
check("main", (await units(main)).available - stocked.available, -10);
check("Erbil", (await units(erbil)).available - erbilBefore.available, 10);

say("The dashboard, for those who work there; its words are Kurdish here");
const { recent_activity } = await call(
  picker,
  "GET",
  `warehousing/dashboard?warehouse_id=${main.id}&language=ku`,
);
for (const { label, quantity, item } of recent_activity.slice(0, 4)) {
  show(`${label} · ${quantity} · ${item.name}`);
}
check("the last movement", recent_activity[0].type, "inventory_transferred_out");
const elsewhere = await expectError(
  picker,
  "GET",
  `warehousing/dashboard?warehouse_id=${erbil.id}`,
);
check("the picker in Erbil", elsewhere.code, "warehouse_assignment_required");

say("Another tenant's manager sees none of it");
const stranger = await signIn("warehouse@other.test");
const theirs = await expectError(stranger, "GET", `warehousing/warehouses/${main.id}`);
check("the warehouse", [theirs.status, theirs.code], [404, "warehouse_not_found"]);
const stolen = await expectError(stranger, "GET", path);
check("the order", [stolen.status, stolen.code], [404, "picking_order_not_found"]);

async function bin(warehouse, code) {
  const { data: bins } = await call(
    manager,
    "GET",
    `warehousing/warehouses/${warehouse.id}/bins?limit=100`,
  );
  return bins.find((one) => one.code === code).id;
}

/** Units in a house by what can be done with them. */
async function units(warehouse) {
  const { status } = await call(
    manager,
    "GET",
    `warehousing/dashboard?warehouse_id=${warehouse.id}`,
  );
  return {
    available: status.available_units,
    reserved: status.reserved_units,
    damaged: status.damaged_units,
    total: status.total_units,
  };
}
