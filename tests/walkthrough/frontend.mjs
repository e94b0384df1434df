// A frontend, beside calling functions: hears of assignments, sends a photo, reads a file, confirms an address by mail.
// node tests/walkthrough/frontend.mjs
import {
  anonymousClient,
  call,
  check,
  demoPassword,
  say,
  show,
  signIn,
  stop,
  url,
  waitFor,
} from "./barid.mjs";

const ops = await signIn("ops@demo.test");
const supabase = await signIn("driver2@demo.test");
const userId = supabase.id;

say("A driver's app hears of assignments");
const heard = [];
const showAssignment = (row) => heard.push(row);
let loads = 0;
// A minute before what is shown was read: changes that were not committed then are older than that.
const changesSince = new Date(Date.now() - 60_000).toISOString();
let cursor;
const loadChanges = async () => {
  const changed = [];
  for (let more = true; more;) {
    const from = cursor ? { cursor } : { updated_since: changesSince };
    const { data, error } = await supabase.functions.invoke(
      `delivery/assignments?${new URLSearchParams({ ...from, limit: "100" })}`,
      { method: "GET" },
    );
    if (error) throw error;
    changed.push(...data.assignments);
    cursor = data.next_cursor ?? cursor;
    more = data.has_more;
  }
  loads++;
  return changed;
};

const channel = supabase
  .channel("my-assignments")
  .on(
    "postgres_changes",
    {
      event: "*",
      schema: "public",
      table: "delivery_realtime_assignments",
      filter: `driver_id=eq.${userId}`,
    },
    ({ new: row }) => showAssignment(row),
  )
  .on("system", {}, ({ status }) => status === "ok" && loadChanges())
  .subscribe();

await waitFor("the subscription", () => loads > 0 ? true : undefined, 20);
const { delivery, path } = await orderAndAssign();
const row = await waitFor("the assignment", () => heard.find(({ is_bulk }) => is_bulk), 20);
check("asks for an answer", row.requires_driver_response, true);
await call(supabase, "PUT", path, { status: "accepted" });
await waitFor(
  "its new status",
  () => heard.find(({ assignment_status }) => assignment_status === "accepted"),
  20,
);
show("accepted, and heard of on every device of the driver");
const missed = await loadChanges();
check(
  "what was missed is read",
  missed.some(({ delivery_id }) => delivery_id === delivery.id),
  true,
);
await supabase.removeChannel(channel);

say("The office listens to its board");
await watchTheBoard(ops);

say("The driver takes a photo at the pickup");
const deliveryId = delivery.id;
const photo = new Blob([new Uint8Array([255, 216, 255, 224])], { type: "image/jpeg" });

const { data: place } = await supabase.functions.invoke(
  `delivery/deliveries/${deliveryId}/proof-uploads`,
  { method: "POST", body: { stage: "pickup", kind: "photo", content_type: photo.type } },
);
const { error: notSent } = await supabase.storage
  .from("proofs")
  .uploadToSignedUrl(place.data.path, place.data.token, photo, { contentType: photo.type });
if (notSent) throw notSent;
await supabase.functions.invoke(`delivery/deliveries/${deliveryId}/pickup`, {
  method: "POST",
  body: { proof: { photo_urls: [place.data.path] } },
});

const { delivery: shown } = await call(
  ops,
  "GET",
  `delivery/deliveries/${deliveryId}?include=proof_links`,
);
const picture = await fetch(shown.proofs[0].link);
check("the office sees it", [picture.status, picture.headers.get("content-type")], [
  200,
  "image/jpeg",
]);
await call(supabase, "POST", `delivery/deliveries/${deliveryId}/complete`, {});
const followed = await loadChanges();
check(
  "what comes next follows from the cursor",
  followed.find(({ delivery_id }) => delivery_id === deliveryId)?.status,
  "completed",
);

say("A person forgets the password");
const email = `frontend-${Date.now()}@example.test`;
const app = anonymousClient();
const signedUp = await app.auth.signUp({ email, password: demoPassword });
if (signedUp.error) stop(signedUp.error.message);
check("no session before the address is confirmed", signedUp.data.session, null);
await app.auth.verifyOtp({ email, token: await codeIn(email), type: "email" });

const { error: notMailed } = await app.auth.resetPasswordForEmail(email);
if (notMailed) throw notMailed;
const token = await codeIn(email);
const { data: recovered, error: wrongCode } = await app.auth.verifyOtp({
  email,
  token,
  type: "recovery",
});
if (wrongCode) throw wrongCode;
const { error: notChanged } = await app.auth.updateUser({ password: "another-Secret-7" });
if (notChanged) throw notChanged;

check("signed in by the mail", recovered.user.email, email);
const again = await app.auth.signInWithPassword({ email, password: "another-Secret-7" });
check("and with the new password", again.error, null);
process.exit(0);

/** A screen of the office: it reads the board, and hears of duty, positions and statuses at once. */
async function watchTheBoard(supabase) {
  const tenantId = (await call(supabase, "GET", "tenants/me")).active_tenant_id;
  const places = [];
  const moveDrivers = (positions) => places.push(...positions);
  const statuses = [];
  const showStatus = (deliveries) => statuses.push(...deliveries);
  let drawn;
  const drawBoard = (data) => drawn = data;

  const loadBoard = async () => {
    const { data } = await supabase.functions.invoke("delivery/board", { method: "GET" });
    drawBoard(data.data);
  };
  const board = supabase.channel(`tenant:${tenantId}:board`, { config: { private: true } });
  board
    .on("broadcast", { event: "driver.positions" }, ({ payload }) => moveDrivers(payload.positions))
    .on("broadcast", { event: "delivery.status" }, ({ payload }) => showStatus(payload.deliveries))
    .subscribe((status) => status === "SUBSCRIBED" && loadBoard());

  await waitFor("the board", () => drawn, 20);
  const driver = await signIn("driver2@demo.test");
  await call(driver, "POST", "delivery/drivers/me/duty", { on_duty: true });
  const here = { latitude: 33.31, longitude: 44.37, recorded_at: new Date().toISOString() };
  await call(driver, "POST", "delivery/drivers/me/positions", { positions: [here] });
  const { latitude } = await waitFor(
    "the driver's place",
    () => places.find(({ driver_id }) => driver_id === driver.id),
    20,
  );
  check("where the driver is", latitude, here.latitude);
  const { delivery } = await orderAndAssign();
  await waitFor("the new delivery", () => statuses.find(({ id }) => id === delivery.id), 20);
  show("every change was heard of, without asking");
  await call(driver, "POST", "delivery/drivers/me/duty", { on_duty: false, keep_parcels: true });
  await supabase.removeChannel(board);
}

/** An order for this driver, who is asked whether to take it; `path` is where that is answered. */
async function orderAndAssign() {
  const { deliveryServices } = await call(ops, "GET", "delivery/services");
  const { data: places } = await call(ops, "GET", "delivery/addresses?limit=100");
  const at = (name) => places.find(({ title }) => title.en === name).id;
  const made = await call(ops, "POST", "delivery/deliveries", {
    customer_id: (await signIn("customer@demo.test")).id,
    delivery_service_id: deliveryServices.find(({ code }) => code === "STD").id,
    pickup_address_id: at("Mansour"),
    dropoff_address_id: at("Karrada"),
    payer_type: "receiver",
    payment_method: "cash",
    package: { items: [{ name: "Book", quantity: 1, weight: 1 }] },
  });
  const assigned = await call(ops, "POST", "delivery/assignments/bulk", {
    driver_id: userId,
    delivery_ids: [made.delivery.id],
  });
  return {
    delivery: made.delivery,
    path: `delivery/assignments/bulk/${assigned.bulk_assignment_id}`,
  };
}

/** The code in the newest mail to an address; locally mails are kept at /mail. */
async function codeIn(address) {
  const inbox = await fetch(`${url}/mail/messages?to=${encodeURIComponent(address)}`);
  const { messages } = await inbox.json();
  return messages[0].token;
}
