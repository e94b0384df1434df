// A parcel changes on its way: its amount, decided by the office or requested by the driver, and its address, priced anew.
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

async function read() {
  return (await call(ops, "GET", path)).delivery;
}
