// A live hour: two drivers on duty, an order that finds its driver by itself, one who says no, a phone without a network, the board.
// node tests/walkthrough/live.mjs
import { call, check, say, show, signIn, waitFor } from "./barid.mjs";

const admin = await signIn("admin@demo.test");
const dispatcher = await signIn("dispatcher@demo.test");
const drivers = [await signIn("driver1@demo.test"), await signIn("driver2@demo.test")];
const customer = await signIn("customer@demo.test");
const { active_tenant_id: tenant } = await call(admin, "GET", "tenants/me");

const { deliveryServices } = await call(dispatcher, "GET", "delivery/services");
const { data: places } = await call(dispatcher, "GET", "delivery/addresses?limit=100");
const place = (name) => places.find(({ title }) => title.en === name);
const [mansour, karrada] = [place("Mansour"), place("Karrada")];

say(
  "The company lets orders find their drivers: those online, the one with the fewest stops first",
);
await automatic({ enabled: true, max_retry_attempts: 5, retry_after_minutes: 1 });

try {
  say("Two drivers go on duty and say where they are");
  for (const [n, driver] of drivers.entries()) {
    const { data } = await call(driver, "POST", "delivery/drivers/me/duty", { on_duty: true });
    check(`${driver.email} is online`, data.driver.is_online, true);
    await here(driver, [{ latitude: mansour.latitude + n / 100, longitude: mansour.longitude }]);
  }

  say("The dispatcher's board hears of everything at once");
  const heard = [];
  const board = dispatcher.channel(`tenant:${tenant}:board`, { config: { private: true } });
  await new Promise((resolve, reject) =>
    board.on("broadcast", { event: "*" }, ({ event, payload }) => heard.push({ event, payload }))
      .subscribe((status, error) => status === "SUBSCRIBED" ? resolve() : error && reject(error))
  );

  say("A customer orders, and nobody assigns it");
  const made = await order();
  const first = await offer(made.id);
  show(`offered to ${first.email}`);

  say("That driver says no: it goes to the other one, and never back");
  await answer(first, made.id, "rejected");
  const second = drivers.find((driver) => driver !== first);
  await offer(made.id, second);
  await answer(second, made.id, "accepted");
  const { delivery } = await call(dispatcher, "GET", `delivery/deliveries/${made.id}`);
  check("the search has ended", delivery.auto_assignment.status, "assigned");

  say("Picked up; then the phone has no network for three minutes");
  await step(second, made.id, "pickup", mansour);
  await step(second, made.id, "depart", mansour);
  const silence = Date.now() - 180_000;
  const way = Array.from({ length: 6 }, (_, n) => ({
    latitude: mansour.latitude + ((karrada.latitude - mansour.latitude) * n) / 6,
    longitude: mansour.longitude + ((karrada.longitude - mansour.longitude) * n) / 6,
    recorded_at: new Date(silence + n * 30_000).toISOString(),
  }));
  const kept = await here(second, way);
  check("every point of the silence arrives late, and is kept", kept.accepted, way.length);
  check("sent once more it changes nothing", (await here(second, way)).accepted, 0);
  await step(second, made.id, "complete", karrada, new Date(silence + 170_000).toISOString());
  const { delivery: done } = await call(dispatcher, "GET", `delivery/deliveries/${made.id}`);
  const ended = done.history.at(-1);
  check("delivered", ended.to_status, "delivered");
  check("at the door", ended.place.distance_m, 0);
  check("when the driver was there", Date.parse(ended.occurred_at), silence + 170_000);

  say("The board knows");
  const statuses = () =>
    heard.filter(({ event }) => event === "delivery.status")
      .flatMap(({ payload }) => payload.deliveries).filter(({ id }) => id === made.id);
  await waitFor(
    "the last status",
    () => statuses().find(({ status }) => status === "delivered"),
    20,
  );
  const { data } = await call(dispatcher, "GET", "delivery/board");
  show(
    `${data.drivers.filter(({ is_online }) => is_online).length} online, ${data.late.total} late`,
  );
  await dispatcher.removeChannel(board);
} finally {
  await automatic({ enabled: false });
  for (const driver of drivers) {
    await call(driver, "POST", "delivery/drivers/me/duty", { on_duty: false, keep_parcels: true });
  }
}
process.exit(0);

async function automatic(setting) {
  const on_demand_auto_assignment = { priority_checks: { driver_online: true }, ...setting };
  await call(admin, "PUT", `tenants/${tenant}/settings`, {
    general: { delivery: { settings: { on_demand_auto_assignment } } },
  });
}

async function here(driver, points) {
  const positions = points.map((point) => ({ recorded_at: new Date().toISOString(), ...point }));
  return (await call(driver, "POST", "delivery/drivers/me/positions", { positions })).data;
}

async function order() {
  const body = {
    delivery_service_id: deliveryServices.find(({ code }) => code === "STD").id,
    pickup_address_id: mansour.id,
    dropoff_address_id: karrada.id,
    payer_type: "receiver",
    payment_method: "cash",
    unit_size: 1,
    recipient: { name: "Zahra Mahmud", phone: "+9647712345678" },
  };
  const made = await call(dispatcher, "POST", "delivery/deliveries", {
    ...body,
    customer_id: customer.id,
  });
  return made.delivery;
}

/** The driver to whom a delivery is offered now; waits for `expected` when it is given. */
async function offer(id, expected) {
  return await waitFor("an offer", async () => {
    const { delivery } = await call(dispatcher, "GET", `delivery/deliveries/${id}`);
    const asked = drivers.find((driver) => driver.id === delivery.assignment?.driver_id);
    const pending = delivery.assignment?.status === "pending";
    return pending && (!expected || asked === expected) ? asked : undefined;
  }, 30);
}

async function answer(driver, id, status) {
  const { delivery } = await call(dispatcher, "GET", `delivery/deliveries/${id}`);
  await call(driver, "PUT", `delivery/assignments/${delivery.assignment.id}`, { status });
}

async function step(driver, id, name, { latitude, longitude }, occurred_at) {
  const at = { latitude, longitude, ...(occurred_at ? { occurred_at } : {}) };
  await call(driver, "POST", `delivery/deliveries/${id}/${name}`, at);
}
