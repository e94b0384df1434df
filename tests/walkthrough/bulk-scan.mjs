// The calls of a dispatcher's screen, with the real client, against a running `npm start`.
// node tests/walkthrough/bulk-scan.mjs
import { mkdirSync, writeFileSync } from "node:fs";
import { call, check, expectError, say, show, signIn, stop } from "./barid.mjs";

const items = "delivery/transfer-manifest-items";
const dispatcher = await signIn("dispatcher@demo.test");

say("Search while scanning: the newest items");
const newest = await call(dispatcher, "GET", `${items}/search?limit=100`);
const manifest = newest.data.find((item) => item.manifest_status === "awaiting_receipt")
  ?.manifest_number;
if (!manifest) stop("No items are waiting any more: npm start -- --reset brings them back.");
const waiting = newest.data.filter((item) => item.manifest_number === manifest);
show(`${waiting.length} items of ${manifest}, the first is ${waiting[0].barcode_value}`);

say("Validate: an id, a barcode, a wrong check digit, nonsense");
const good = waiting[1].barcode_value;
const wrong = good.slice(0, 11) + ((Number(good[11]) + 1) % 10) + good.slice(12);
const checked = await call(dispatcher, "POST", `${items}/bulk/validate`, {
  identifiers: [{ value: waiting[0].manifest_item_id }, { value: good }, { value: wrong }, {
    value: "hello",
  }],
});
for (const row of checked.data.results) {
  show(`${row.input}  ${row.valid ? "valid" : row.error_message}`);
}

say("The same in Arabic");
const arabic = await call(dispatcher, "POST", `${items}/bulk/validate?language=ar`, {
  barcodes: [wrong],
});
show(arabic.data.results[0].error_message);

say("Set destination: receive and order, in shuffled order");
const ids = waiting.map((item) => item.manifest_item_id).sort(() => Math.random() - 0.5);
const places = await call(dispatcher, "GET", "delivery/addresses?search=Erbil");
const request = { item_ids: ids, destination_address_id: places.data[0].id };
const made = await call(dispatcher, "POST", `${items}/bulk/set-destination`, request);
const codes = made.data.created.map((order) => order.delivery.delivery_code);
show(
  `${made.data.created_count} orders, codes ${codes[0]} to ${
    codes.at(-1)
  }, ${made.data.failed_count} failed`,
);
check(
  "in the order scanned",
  made.data.created.map(({ item_id }) => item_id).join() === ids.join(),
  true,
);

say("Once more: nothing happens twice");
const again = await call(dispatcher, "POST", `${items}/bulk/set-destination`, request);
check(
  "same orders",
  JSON.stringify(again.data.created) === JSON.stringify(made.data.created),
  true,
);

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

say("A wrong destination is put right, and the label printed again");
const all = await call(dispatcher, "GET", "delivery/addresses?limit=100");
const elsewhere = all.data.find(({ id }) => id !== request.destination_address_id);
const corrected = { item_ids: ids.slice(0, 2), destination_address_id: elsewhere.id };
const refusal = await call(dispatcher, "POST", `${items}/bulk/set-destination`, corrected);
show(refusal.data.failed[0].error_message);
const dry = await call(dispatcher, "POST", `${items}/bulk/change-destination`, {
  ...corrected,
  dry_run: true,
});
const changed = await call(dispatcher, "POST", `${items}/bulk/change-destination`, corrected);
check(
  "what the dry run said",
  JSON.stringify(changed.data) === JSON.stringify(dry.data),
  true,
);
const scanned = () =>
  call(
    dispatcher,
    "GET",
    `warehousing/package-scan/${
      waiting.find(
        (item) => item.manifest_item_id === ids[0],
      ).barcode_value
    }`,
  );
check("label outdated", (await scanned()).delivery.label_outdated, true);
await dispatcher.functions.invoke("delivery/shipment-labels", {
  body: { delivery_codes: [codes[0]] },
});
check("printed again", (await scanned()).delivery.label_outdated, false);

say("A cancelled order gives its item back, and another one is made of it");
const [{ item_id, delivery }] = changed.data.changed;
await call(dispatcher, "POST", `delivery/deliveries/${delivery.id}/cancel`, { reason: "mistake" });
const anew = await call(dispatcher, "POST", `${items}/bulk/set-destination`, {
  ...corrected,
  item_ids: [item_id],
});
check("ordered again", anew.data.created_count, 1);

say("Another tenant's dispatcher sees none of it");
const stranger = await signIn("dispatcher@other.test");
const theirs = await call(stranger, "GET", `${items}/search?q=${waiting[0].manifest_item_id}`);
check("found", theirs.data.length, 0);
const foreign = await expectError(stranger, "POST", "delivery/shipment-labels", {
  delivery_codes: [codes[0]],
});
check("labels", [foreign.status, foreign.code], [404, "delivery_not_found"]);
