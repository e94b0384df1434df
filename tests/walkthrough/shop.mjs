// A merchant's web shop: an API key of the merchant's own orders a delivery and a webhook of the merchant's own reports each step.
// node tests/walkthrough/shop.mjs
import { Webhook } from "standardwebhooks";
import {
  anonymousClient,
  call,
  check,
  demoPassword,
  expectError,
  listen,
  say,
  show,
  signIn,
  waitFor,
} from "./barid.mjs";

const operator = await signIn("system@barid.test");
const admin = await signIn("admin@demo.test");
const ops = await signIn("ops@demo.test");
const driver = await signIn("driver1@demo.test");
const { memberships: [{ tenant_id: tenant }] } = await call(admin, "GET", "tenants/me");

say("A merchant makes a key for the web shop; it is shown once");
const email = `shop.${Date.now().toString(36)}@demo.test`;
await call(operator, "POST", `tenants/${tenant}/members`, {
  email,
  password: demoPassword,
  full_name: "متجر دجلة",
  tenant_user_type: "institution",
  roles: ["institution"],
});
const merchant = await signIn(email);
const made = await call(merchant, "POST", "tenants/me/api-keys", {
  name: "Web shop",
  scopes: ["own:institution"],
  expires_at: new Date(Date.now() + 180 * 86_400_000).toISOString(),
});
const program = anonymousClient();
/** A call of the shop's program. */
const byKey = (method, path, body, headers) =>
  call(program, method, path, body, { "x-api-key": made.key, ...headers });
const mine = await byKey("GET", "tenants/me/api-key");
check("it may", mine.api_key.effective_scopes, ["own:institution"]);
check("it is of", mine.api_key.created_by.full_name, "متجر دجلة");

say("The shop subscribes to what becomes of its parcels");
const heard = [];
const shop = await listen(heard);
const { subscriptions: [{ module }] } = await byKey("GET", "webhooks/own/subscriptions");
const { subscription, secret } = await byKey("POST", "webhooks/own/subscriptions", {
  module_id: module.id,
  url: shop.url,
  event_types: ["delivery.*", "merchant_statement.*"],
});
/** The event in a request, whose signature is that of the subscription. */
const genuine = ({ raw, headers }) => new Webhook(secret).verify(raw, headers);
await byKey("POST", `webhooks/own/subscriptions/${subscription.id}/test`);
await waitFor("the test event", () => heard[0]);
check("the test event", genuine(heard[0]).type, "webhook.test");
const { data: types } = await byKey("GET", "webhooks/own/event-types");
show(`${types.length} types of events that a merchant may hear`);

say("A customer buys: the shop orders the delivery, and once more, since the answer was lost");
const { deliveryServices } = await byKey("GET", "delivery/services");
const place = async (full_address, latitude, longitude) => {
  const address = { full_address, city: "بغداد", country: "IQ", latitude, longitude };
  return (await byKey("POST", "delivery/addresses", address)).data.id;
};
const reference = `WEB-${Date.now().toString(36)}`;
const order = {
  delivery_service_id: deliveryServices.find(({ code }) => code === "STD").id,
  pickup_address_id: await place("المنصور، شارع ١٤ رمضان", 33.315, 44.343),
  dropoff_address_id: await place("الكرادة داخل، محلة ٩٠٥", 33.299, 44.427),
  payer_type: "receiver",
  payment_method: "cash",
  cod_amount: 35_000,
  external_reference_id: reference,
  unit_size: 1,
  recipient: { name: "زينب كاظم", phone: "+9647712345000" },
};
const once = { "idempotency-key": reference };
const { delivery } = await byKey("POST", "delivery/deliveries", order, once);
const again = await byKey("POST", "delivery/deliveries", order, once);
check("it is one delivery", again.delivery.id === delivery.id, true);

say("The shop sends its customer a link, who has no account and follows the parcel");
const { data: [link] } = await byKey("POST", "delivery/tracking-links", {
  delivery_ids: [delivery.id],
});
/** The parcel as the link shows it. */
const followed = async () =>
  (await call(anonymousClient(), "GET", `delivery/public/tracking/${link.token}`)).data;
const waiting = await followed();
check("it is", waiting.status, "pending");
check("to have ready at the door", waiting.cash_due.amount > 35_000, true);
check("it names the street", JSON.stringify(waiting).includes("محلة ٩٠٥"), false);

say("The customer is away today, and says so by the link");
const day = waiting.wanted_days.first;
const said = await call(
  anonymousClient(),
  "POST",
  `delivery/public/tracking/${link.token}/answer`,
  { wanted_day: day, note: "الباب الأزرق" },
);
check("the company has it", said.data.answer.wanted_day, day);
const { data: [wish] } = await call(
  ops,
  "GET",
  `delivery/recipient-answers?delivery_id=${delivery.id}`,
);
check("with the note for the courier", wish.note, "الباب الأزرق");

say("The courier brings it");
const { bulk_assignment_id } = await call(ops, "POST", "delivery/assignments/bulk", {
  driver_id: driver.id,
  delivery_ids: [delivery.id],
});
await call(driver, "PUT", `delivery/assignments/bulk/${bulk_assignment_id}`, {
  status: "accepted",
});
for (const step of ["pickup", "depart", "complete"]) {
  await call(driver, "POST", `delivery/deliveries/${delivery.id}/${step}`, {});
}
const arrived = await waitFor("the delivery's end", () => {
  const events = heard.map(genuine);
  return events.some(({ type }) => type === "delivery.delivered") ? events : undefined;
});
const steps = arrived.filter(({ data }) => data.external_reference_id === reference);
for (const { type, data } of steps) show(`${data.external_reference_id}: ${type}`);
check("the last says", steps.at(-1).data.status, "delivered");
check("it names one of the courier's people", "actor_id" in steps.at(-1).data, false);
check("the customer's link says so, too", (await followed()).history.at(-1).status, "delivered");

say("Money and other people's parcels stay out of the shop's reach");
const key = { "x-api-key": made.key };
const wallet = await byKey("GET", "delivery/wallets/me");
const topUp = `delivery/wallets/${wallet.wallet.id}/top-ups`;
check(
  "a top-up",
  (await expectError(program, "POST", topUp, {}, key)).code,
  "api_key_not_a_person",
);
const log = await byKey("GET", `webhooks/own/events/${subscription.id}`);
show(`the log keeps ${log.total} deliveries of events`);
const companys = await expectError(program, "GET", "webhooks/subscriptions", undefined, key);
check("the company's subscriptions", companys.code, "forbidden");

say("The merchant's accountant gets a key that only reads");
const reading = await call(merchant, "POST", "tenants/me/api-keys", {
  name: "Accounts",
  scopes: ["own:institution:view"],
  expires_at: new Date(Date.now() + 180 * 86_400_000).toISOString(),
});
const reader = { "x-api-key": reading.key };
const found = `delivery/deliveries?search=${reference}`;
const parcels = await call(program, "GET", found, undefined, reader);
check("it finds", parcels.data[0].external_reference_id, reference);
const ordering = await expectError(program, "POST", "delivery/deliveries", order, reader);
check("an order with it", ordering.code, "forbidden");
await call(merchant, "DELETE", `tenants/me/api-keys/${reading.api_key.id}`);
await call(merchant, "DELETE", `tenants/me/api-keys/${made.api_key.id}`);
const ended = await expectError(program, "GET", "delivery/deliveries", undefined, key);
check("after the merchant ended the key", ended.code, "api_key_revoked");
shop.close();
