// Five deliveries of each kind, from their price to their end, as operations and two drivers do it, and one whose van breaks down.
// node tests/walkthrough/deliveries.mjs
import { call, check, expectError, money, say, show, signIn } from "./barid.mjs";

const ops = await signIn("ops@demo.test");
const driver1 = await signIn("driver1@demo.test");
const driver2 = await signIn("driver2@demo.test");
const customer = await signIn("customer@demo.test");

const { deliveryServices } = await call(ops, "GET", "delivery/services");
const standard = deliveryServices.find(({ code }) => code === "STD");
const { data: places } = await call(ops, "GET", "delivery/addresses?limit=100");
const place = (name) => places.find(({ title }) => title.en === name);
const [mansour, karrada] = [place("Mansour"), place("Karrada")];

say("Price first: what will be charged");
const parcel = {
  items: [{ name: "Kleicha", quantity: 1, weight: 4, length: 40, width: 30, height: 20 }],
};
const quote = await call(ops, "POST", "delivery/price", {
  delivery_service_id: standard.id,
  package: parcel,
  pickup_location: { latitude: mansour.latitude, longitude: mansour.longitude },
  delivery_location: { latitude: karrada.latitude, longitude: karrada.longitude },
});
show(`${quote.unit_size} unit(s) from ${quote.unit_size_source}: ${money(quote.price)}`);

say("Five standard deliveries, from door to door; the first begins as a draft");
const order = {
  customer_id: customer.id,
  delivery_service_id: standard.id,
  pickup_address_id: mansour.id,
  dropoff_address_id: karrada.id,
  payer_type: "receiver",
  payment_method: "cash",
  cod_amount: 20_000,
  package: parcel,
  recipient: { name: "زهراء محمود", phone: "+9647712345678" },
};
const doors = [];
for (let n = 0; n < 5; n++) {
  const status = n === 0 ? "draft" : "pending";
  doors.push((await call(ops, "POST", "delivery/deliveries", { ...order, status })).delivery);
}
check("price as foretold", doors.every(({ price }) => price === quote.price), true);
const changed = await call(ops, "PATCH", `delivery/deliveries/${doors[0].id}`, {
  cod_amount: 25_000,
});
check("the draft changed", changed.delivery.cod_amount, 25_000);
const ordered = await call(ops, "POST", `delivery/deliveries/${doors[0].id}/submit`);
check("and was ordered", ordered.delivery.status, "pending");

say("Bulk-assign them to driver 1: first asked, then done, then accepted by the driver");
const wish = { driver_id: driver1.id, delivery_ids: doors.map(({ id }) => id) };
const foreseen = await call(ops, "POST", "delivery/assignments/bulk", { ...wish, dry_run: true });
check("would pass", foreseen.ok, true);
await assign(driver1, doors);
await drives(driver1, doors[0], "pickup", "depart", "complete");
await drives(driver1, doors[1], "pickup", "depart", "complete");
await drives(driver1, doors[2], "pickup", "depart", ["fail", { reason: "recipient_absent" }]);
check("the third failed", await statusOf(doors[2]), "failed");
await drives(driver1, doors[2], "retry", "complete");
await drives(driver1, doors[3], "pickup", "depart", ["fail", { reason: "refused" }], [
  "return",
  { reason: "refused" },
]);
await drives(ops, doors[4], ["cancel", { reason: "The customer called it off" }]);
check("they ended as", await statusesOf(doors), [
  "delivered",
  "delivered",
  "delivered",
  "returned",
  "cancelled",
]);
const late = await expectError(ops, "POST", `delivery/deliveries/${doors[4].id}/complete`, {});
check("nobody completes what is cancelled", late.code, "invalid_status_transition");

say("Ten staged ones: leg A brings them into the main warehouse, leg B takes them out");
const staged = [];
for (let n = 0; n < 10; n++) {
  staged.push(
    (await call(ops, "POST", "delivery/deliveries", { ...order, staged: true })).delivery,
  );
}
// Assigning the parcel assigns the leg that is due.
await assign(driver1, staged);
for (const { legs: [a] } of staged) await drives(driver1, a, "pickup", "depart", "complete");
check("between two legs a parcel is", await statusOf(staged[0]), "in_transit");

say("Five of them go out: picked for driver 2 (Execute), taken over by a handoff, delivered");
const out = staged.slice(0, 5);
for (const { legs: [, b] } of out) {
  const { picking_order } = await call(ops, "POST", `delivery/deliveries/${b.id}/execute`);
  show(`${picking_order.reference_number} ${picking_order.status}`);
}
await assign(driver2, out);
for (const { legs: [, b] } of out) {
  await takesOver(driver2, b);
  await drives(driver2, b, "depart", "complete");
}
check("they ended as", await statusesOf(out), Array(5).fill("delivered"));

say(
  "A van breaks down: driver 2 has a staged parcel in it, for which COD is still to be collected",
);
const { delivery: stranded } = await call(ops, "POST", "delivery/deliveries", {
  ...order,
  payer_type: "sender",
  staged: true,
});
const [toWarehouse, toReceiver] = stranded.legs;
await assign(driver2, [stranded]);
await drives(driver2, toWarehouse, "pickup", "depart", "complete");
await call(ops, "POST", `delivery/deliveries/${toReceiver.id}/execute`);
await assign(driver2, [stranded]);
await takesOver(driver2, toReceiver);
await drives(driver2, toReceiver, "depart");
const rescue = await call(ops, "POST", `delivery/assignments/driver/${driver2.id}/hand-over`, {
  to_driver_id: driver1.id,
  delivery_ids: [toReceiver.id],
});
check("handed over, for driver 1 to confirm", rescue.to_confirm, 1);
const unconfirmed = await expectError(
  driver1,
  "POST",
  `delivery/deliveries/${toReceiver.id}/complete`,
);
check("before that, nobody completes it", unconfirmed.code, "assignment_not_accepted");
await call(driver1, "PUT", `delivery/assignments/bulk/${rescue.bulk_assignment_id}`, {
  status: "accepted",
});
const { cash } = await call(driver1, "POST", `delivery/deliveries/${toReceiver.id}/complete`, {
  cash_collected: { cod: 20_000, delivery_fee: 0 },
});
check("COD that driver 1 took at the door", cash.collected.cod, 20_000);
const { delivery: rescued } = await call(ops, "GET", `delivery/deliveries/${stranded.id}`);
check("the parcel ended as", [rescued.status, rescued.attempts_used], ["delivered", 0]);
check(
  "the sender's fee stays with driver 2, the COD is with driver 1",
  rescued.collections.map(({ driver_id, amount }) => [driver_id, amount]),
  [[driver2.id, stranded.price], [driver1.id, 20_000]],
);

say("The other five go back to their sender: operational returns, free of charge");
const back = [];
for (const { legs: [, b] } of staged.slice(5)) {
  const made = await call(ops, "POST", `delivery/deliveries/${b.id}/operational-return`, {
    reason: "The receiver moved away",
  });
  back.push(made.delivery);
  await call(ops, "POST", `delivery/deliveries/${made.id}/execute`);
}
check("price", back[0].price, 0);
check("until they are back, their originals are", await statusesOf(staged.slice(5)), [
  ...Array(5).fill("in_transit"),
]);
const elsewhere = await expectError(ops, "POST", "delivery/assignments", {
  delivery_id: staged[5].id,
  driver_id: driver2.id,
});
check("and go nowhere else", elsewhere.code, "return_under_way");
await assign(driver1, back);
for (const one of back) {
  await takesOver(driver1, one);
  await drives(driver1, one, "depart", "complete");
}
check("they ended as", await statusesOf(back), Array(5).fill("delivered"));
check("their originals", await statusesOf(staged.slice(5)), Array(5).fill("returned"));

say("Five customer returns: what was delivered is fetched again, people and places swapped");
const returns = [];
for (const { id } of [...doors.slice(0, 3), ...out.slice(0, 2)]) {
  const made = await call(customer, "POST", "delivery/deliveries", {
    delivery_flow: "customer_return",
    original_delivery_id: id,
    delivery_service_id: standard.id,
    payer_type: "sender",
    payment_method: "wallet",
  });
  returns.push(made.delivery);
}
const twice = await expectError(customer, "POST", "delivery/deliveries", {
  delivery_flow: "customer_return",
  original_delivery_id: doors[0].id,
  delivery_service_id: standard.id,
  payer_type: "sender",
  payment_method: "wallet",
});
check("a second return of the first", twice.code, "return_already_exists");
await assign(driver1, returns);
for (const one of returns.slice(0, 4)) await drives(driver1, one, "pickup", "depart", "complete");
const { refunded } = await call(ops, "POST", `delivery/deliveries/${returns[4].id}/cancel`, {
  reason: "The customer keeps it",
});
show(`the fifth was cancelled, its fee ${refunded ? "given back" : "kept"}`);
check("they ended as", await statusesOf(returns), [...Array(4).fill("delivered"), "cancelled"]);

say("What the drivers achieved");
await call(ops, "POST", "delivery/driver-performance/rebuild", {});
for (const driver of [driver1, driver2]) {
  const { data: [row] } = await call(
    ops,
    "GET",
    `delivery/driver-performance?driver_id=${driver.id}`,
  );
  show(
    `${row.driver_name}: ${row.total_deliveries} ended, ${row.successful_deliveries} delivered, ` +
      `${row.success_rate} % success, ${row.total_distance_km} km, ${
        money(row.total_delivery_value)
      }`,
  );
  check("every one counted", row.successful_deliveries >= 5, true);
}

async function assign(driver, deliveries) {
  const made = await call(ops, "POST", "delivery/assignments/bulk", {
    driver_id: driver.id,
    delivery_ids: deliveries.map(({ id }) => id),
  });
  const path = `delivery/assignments/bulk/${made.bulk_assignment_id}`;
  const { updated_count } = await call(driver, "PUT", path, { status: "accepted" });
  show(
    `${updated_count} accepted by ${driver.email}, ${made.driver_capacity_used} units in the van`,
  );
}

/** Steps such as "depart", or ["fail", {reason}], one after the other. */
async function drives(person, { id }, ...steps) {
  for (const step of steps) {
    const [name, body] = typeof step === "string" ? [step, {}] : step;
    await call(person, "POST", `delivery/deliveries/${id}/${name}`, body);
  }
}

/** Out of a warehouse a driver gets a parcel by its handoff: stock leaves the house in the same moment. */
async function takesOver(driver, { id }) {
  const waiting = await call(
    driver,
    "GET",
    `delivery/handoffs?delivery_id=${id}&status=pending`,
  );
  await call(driver, "POST", `delivery/handoffs/${waiting.data[0].id}/pickup`, {});
}

async function statusOf({ id }) {
  return (await call(ops, "GET", `delivery/deliveries/${id}`)).delivery.status;
}

async function statusesOf(deliveries) {
  return await Promise.all(deliveries.map(statusOf));
}
