// What a dispatcher's screen does, with the real client, against a running `npm start`.
// node tests/walkthrough/bulk-scan.mjs
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createClient } from "@supabase/supabase-js";
import WebSocket from "ws";

const running = status();
const client = () =>
  createClient(running.url, running.publishable_key, {
    auth: { persistSession: false },
    realtime: { transport: WebSocket },
  });

const dispatcher = await signIn("dispatcher@demo.test");

say("Search while scanning: the newest items");
const newest = await call(dispatcher, "GET", "transfer-manifest-items/search?limit=100");
const manifest = newest.data.find((item) => item.manifest_status === "awaiting_receipt")
  ?.manifest_number;
if (!manifest) stop("No items are waiting any more: npm start -- --reset brings them back.");
const waiting = newest.data.filter((item) => item.manifest_number === manifest);
show(`${waiting.length} items of ${manifest}, the first is ${waiting[0].barcode_value}`);

say("Validate: an id, a barcode, a wrong check digit, nonsense");
const good = waiting[1].barcode_value;
const wrong = good.slice(0, 11) + ((Number(good[11]) + 1) % 10) + good.slice(12);
const checked = await call(dispatcher, "POST", "transfer-manifest-items/bulk/validate", {
  identifiers: [{ value: waiting[0].manifest_item_id }, { value: good }, { value: wrong }, {
    value: "hello",
  }],
});
for (const row of checked.data.results) {
  show(`${row.input}  ${row.valid ? "valid" : row.error_message}`);
}

say("The same in Arabic");
const arabic = await call(dispatcher, "POST", "transfer-manifest-items/bulk/validate?language=ar", {
  barcodes: [wrong],
});
show(arabic.data.results[0].error_message);

say("Set destination: receive and order, in shuffled order");
const ids = waiting.map((item) => item.manifest_item_id).sort(() => Math.random() - 0.5);
const places = await call(dispatcher, "GET", "addresses?search=Erbil");
const request = { item_ids: ids, destination_address_id: places.data[0].id };
const made = await call(
  dispatcher,
  "POST",
  "transfer-manifest-items/bulk/set-destination",
  request,
);
const codes = made.data.created.map((order) => order.delivery.delivery_code);
show(
  `${made.data.created_count} orders, codes ${codes[0]} to ${
    codes.at(-1)
  }, ${made.data.failed_count} failed`,
);
show(`in the order scanned: ${made.data.created.every((order, i) => order.item_id === ids[i])}`);

say("Once more: nothing happens twice");
const again = await call(
  dispatcher,
  "POST",
  "transfer-manifest-items/bulk/set-destination",
  request,
);
show(`same orders: ${JSON.stringify(again.data.created) === JSON.stringify(made.data.created)}`);

say("Labels, one page an order, in that order");
const { data: pdf, error } = await dispatcher.functions.invoke(
  "delivery/shipment-labels?language=ku",
  {
    body: { delivery_codes: codes },
  },
);
if (error) stop(String(error));
const bytes = Buffer.from(await new Response(pdf).arrayBuffer());
mkdirSync(".barid", { recursive: true });
writeFileSync(".barid/labels.pdf", bytes);
show(`.barid/labels.pdf, ${Math.round(bytes.length / 1024)} KB`);

say("Another tenant's dispatcher sees none of it");
const stranger = await signIn("dispatcher@other.test");
const theirs = await call(
  stranger,
  "GET",
  `transfer-manifest-items/search?q=${waiting[0].manifest_item_id}`,
);
show(`found: ${theirs.data.length}`);
const foreign = await stranger.functions.invoke("delivery/shipment-labels", {
  body: { delivery_codes: [codes[0]] },
});
show(`labels: ${foreign.error ? (await foreign.error.context.json()).message : "printed?!"}`);

async function signIn(email) {
  const supabase = client();
  const { error } = await supabase.auth.signInWithPassword({ email, password: "Barid-demo-1" });
  if (error) stop(`${email}: ${error.message}. Is npm start running, with its demo data?`);
  return supabase;
}

async function call(supabase, method, path, body) {
  const { data, error } = await supabase.functions.invoke(`delivery/${path}`, { method, body });
  if (error) {
    stop(`${path}: ${error.context ? (await error.context.json()).message : error.message}`);
  }
  return data;
}

function status() {
  try {
    const printed = execFileSync("npm", ["run", "--silent", "status", "--", "--json"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return JSON.parse(printed);
  } catch {
    return stop("Barid is not running here: start it with npm start, in another terminal.");
  }
}

function say(step) {
  console.log(`\n${step}`);
}

function show(line) {
  console.log(`  ${line}`);
}

function stop(message) {
  console.error(message);
  process.exit(1);
}
