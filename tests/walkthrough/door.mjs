// A parcel changes on its way: its amount, decided by the office or requested by the driver, and its address, priced anew. At the door a part of
// another one is kept, a third is exchanged, a fourth is postponed, refused, and delivered by mistake, which is undone.
// node tests/walkthrough/door.mjs
import { call, check, expectError, money, say, show, signIn } from "./barid.mjs";

const ops = await signIn("ops@demo.test");
const driver = await signIn("driver1@demo.test");
const customer = await signIn("customer@demo.test");

const { deliveryServices } = await call(ops, "GET", "delivery/services");
const standard = deliveryServices.find(({ code }) => code === "STD");
const { data: places } = await call(ops, "GET", "delivery/addresses?limit=100");
const place = (name) => places.find(({ title }) => title?.en === name);
const [mansour, karrada, doura] = ["Mansour", "Karrada", "Doura"].map(place);

say("A parcel is ordered: 30,000 to collect, the fee paid by its receiver");
const { delivery: parcel } = await call(ops, "POST", "delivery/deliveries", {
  customer_id: customer.id,
  delivery_service_id: standard.id,
  pickup_address_id: mansour.id,
  dropoff_address_id: karrada.id,
  payer_type: "receiver",
  payment_method: "cash",
  cod_amount: 30_000,
  unit_size: 1,
  recipient: { name: "زهراء محمود", phone: "+9647712345678" },
});
const path = `delivery/deliveries/${parcel.id}`;
show(`${parcel.delivery_code}: fee ${money(parcel.price)}`);

say("Its owner gives a discount before it is picked up");
const lowered = await call(customer, "POST", `${path}/amount-changes`, {
  cod_amount: 28_000,
  reason: "Discount",
});
check("decided at once", lowered.data.amount_change.status, "approved");
check("due now", lowered.data.delivery.cod_amount, 28_000);
check("as it was ordered", lowered.data.delivery.ordered_cod_amount, 30_000);

say("The receiver is at her brother's: the office looks what that costs, and redirects it");
const asked = {
  dropoff_address_id: doura.id,
  recipient: { name: "علي محمود", phone: "+9647712345679" },
};
const foreseen = await call(ops, "POST", `${path}/redirect`, { ...asked, dry_run: true });
const { price } = foreseen.data;
show(`from ${money(price.before)} to ${money(price.after)}, charged: ${price.charged}`);
check("a dry run changes nothing", (await read()).price, parcel.price);
const redirected = await call(ops, "POST", `${path}/redirect`, asked);
check("priced as foreseen", redirected.data.price, price);
check("its fee", (await read()).price, price.after);

say("A driver takes it along; at the door the receiver wants to pay less");
await call(ops, "POST", "delivery/assignments/bulk", {
  driver_id: driver.id,
  delivery_ids: [parcel.id],
}).then(({ bulk_assignment_id }) =>
  call(driver, "PUT", `delivery/assignments/bulk/${bulk_assignment_id}`, { status: "accepted" })
);
for (const step of ["pickup", "depart"]) await call(driver, "POST", `${path}/${step}`, {});
const wish = { cod_amount: 25_000, reason: "A scratch on the box" };
const request = (await call(driver, "POST", `${path}/amount-changes`, wish)).data.amount_change;
check("a driver's change is", request.status, "pending");
check("until then she owes", (await read()).cod_amount, 28_000);
const second = await expectError(driver, "POST", `${path}/amount-changes`, wish);
check("a second one", [second.status, second.code], [409, "amount_change_pending"]);
const higher = await expectError(customer, "POST", `${path}/amount-changes`, {
  cod_amount: 40_000,
  reason: "More",
});
check("and after pickup its owner only lowers", higher.code, "amount_may_only_fall");

say("Its owner approves, and that is what is collected");
await call(customer, "POST", `${path}/amount-changes/${request.id}/approve`, {});
const done = await call(driver, "POST", `${path}/complete`, {});
check("collected", done.cash.collected, {
  cod: 25_000,
  delivery_fee: price.after,
  currency: "IQD",
});
const { data: history } = await call(ops, "GET", `${path}/amount-changes`);
check(
  "the history, newest first",
  history.map(({ new_cod_amount, status }) => [new_cod_amount, status]),
  [[25_000, "approved"], [28_000, "approved"]],
);
const late = await expectError(ops, "POST", `${path}/redirect`, asked);
check("what is delivered goes nowhere else", late.code, "delivery_ended");

say("Three more parcels: two shirts and a cap with their prices, a telephone, and a book");
const onTheWay = async (more) => {
  const { delivery } = await call(ops, "POST", "delivery/deliveries", {
    customer_id: customer.id,
    delivery_service_id: standard.id,
    pickup_address_id: mansour.id,
    dropoff_address_id: karrada.id,
    payer_type: "receiver",
    payment_method: "cash",
    unit_size: 1,
    recipient: { name: "زهراء محمود", phone: "+9647712345678" },
    ...more,
  });
  const { bulk_assignment_id } = await call(ops, "POST", "delivery/assignments/bulk", {
    driver_id: driver.id,
    delivery_ids: [delivery.id],
  });
  await call(driver, "PUT", `delivery/assignments/bulk/${bulk_assignment_id}`, {
    status: "accepted",
  });
  for (const step of ["pickup", "depart"]) {
    await call(driver, "POST", `delivery/deliveries/${delivery.id}/${step}`, {});
  }
  return { id: delivery.id, path: `delivery/deliveries/${delivery.id}`, fee: delivery.price };
};
const shirts = await onTheWay({
  cod_amount: 40_000,
  package: {
    items: [
      { name: "Shirt", quantity: 2, unit_price: 15_000 },
      { name: "Cap", quantity: 1, unit_price: 10_000 },
    ],
  },
});
const telephone = await onTheWay({ cod_amount: 90_000 });
const book = await onTheWay({ cod_amount: 12_000 });

say("One shirt is too small: the receiver keeps the other one and the cap");
const { items } = (await call(driver, "GET", shirts.path)).delivery;
const part = await call(driver, "POST", `${shirts.path}/outcome`, {
  result: "partial",
  items: items.map(({ id }) => ({ delivery_item_id: id, quantity: 1 })),
});
check("collected for what is kept", part.data.cash.collected, {
  cod: 25_000,
  delivery_fee: shirts.fee,
  currency: "IQD",
});
const [rest] = part.data.returns;
check("the rest is in the van", [rest.status, rest.delivery_flow, rest.price], [
  "picked_up",
  "operational_return",
  0,
]);
const unproven = await expectError(driver, "POST", `delivery/deliveries/${rest.id}/complete`, {});
check("and back with a photo alone", unproven.code, "delivery_proof_required");
const upload = await call(driver, "POST", `delivery/deliveries/${rest.id}/proof-uploads`, {
  stage: "delivery",
  kind: "photo",
  content_type: "image/jpeg",
});
await call(driver, "POST", `delivery/deliveries/${rest.id}/complete`, {
  proof: { photo_urls: [upload.data.path] },
});

say("The telephone replaces an old one, which the driver takes along");
const exchange = await call(driver, "POST", `${telephone.path}/outcome`, {
  result: "exchanged",
  taken_back: [{ name: "Old telephone", quantity: 1 }],
});
check(
  "given back",
  exchange.data.returns.map(({ delivery_flow, status }) => [
    delivery_flow,
    status,
  ]),
  [["customer_return", "picked_up"]],
);
await call(driver, "POST", `delivery/deliveries/${exchange.data.returns[0].id}/complete`, {});

say("The book is wanted in three days");
const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
const later = await call(driver, "POST", `${book.path}/outcome`, {
  result: "postponed",
  reason_code: "postponed",
  postponed_to: day,
});
check("postponed, without an attempt", [
  later.data.delivery.postponed_to,
  later.data.delivery.attempts_used,
], [day, 0]);
const { data: waiting } = await call(ops, "GET", "delivery/deliveries?postponed=true&limit=100");
check("seen by the office", waiting.some(({ id }) => id === book.id), true);

say("She called: the driver goes today after all, and taps `delivered` at the wrong door");
await call(driver, "POST", `${book.path}/retry`, {});
const before = await balance();
const wrong = await call(driver, "POST", `${book.path}/complete`, {});
check("her money is booked", wrong.cash.collected.cod, 12_000);
check("on her seller's wallet", (await balance()) - before, 12_000);
const undone = await call(driver, "POST", `${book.path}/outcome/undo`, { reason: "Wrong door" });
check("undone, it is on its way again", undone.data.delivery.status, "in_transit");
check("its cash counts as not taken", undone.data.cash.cod, 12_000);
check("and is on no wallet", (await balance()) - before, 0);
const again = await expectError(driver, "POST", `${book.path}/outcome/undo`, { reason: "Again" });
check("once", again.code, "outcome_already_undone");

say("At the right door it is refused, which the office undoes: she meant another parcel");
const refused = await call(driver, "POST", `${book.path}/outcome`, {
  result: "refused",
  reason_code: "refused",
});
check("refused", refused.data.delivery.status, "failed");
await call(ops, "POST", `${book.path}/outcome/undo`, { reason: "She meant another parcel" });
await call(driver, "POST", `${book.path}/complete`, {});
const last = (await call(ops, "GET", book.path)).delivery;
check("it is delivered, at its first attempt", [last.status, last.attempts_used], ["delivered", 0]);
const gone = await expectError(ops, "POST", `${telephone.path}/outcome/undo`, { reason: "Late" });
check("what moved on is not undone", gone.code, "outcome_went_on");

/** The balance of the seller's wallet. */
async function balance() {
  return (await call(customer, "GET", "delivery/wallets/me")).wallet.balance;
}

async function read() {
  return (await call(ops, "GET", path)).delivery;
}
