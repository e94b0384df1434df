// Cash on delivery: ten deliveries under the three cash rules, three settlements, three receipts, one that is taken back; one that a carrier brings; and cash of the desk that goes to the bank.
// node tests/walkthrough/cash.mjs
import { createHmac, randomUUID } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, check, expectError, money, say, show, signIn, waitFor } from "./barid.mjs";

const ops = await signIn("ops@demo.test");
const admin = await signIn("admin@demo.test");
const dispatcher = await signIn("dispatcher@demo.test");
const driver1 = await signIn("driver1@demo.test");
const customer = await signIn("customer@demo.test");

const { deliveryServices } = await call(ops, "GET", "delivery/services");
const standard = deliveryServices.find(({ code }) => code === "STD");
const { data: places } = await call(ops, "GET", "delivery/addresses?limit=100");
const place = (name) => places.find(({ title }) => title.en === name).id;

say("Ten deliveries, three or four under each cash rule");
const rules = [
  { rule: "the sender pays the fee at pickup", payer_type: "sender", cod_amount: 0 },
  { rule: "the receiver pays the fee at the door", payer_type: "receiver", cod_amount: 0 },
  { rule: "the receiver pays fee and COD", payer_type: "receiver", cod_amount: 40_000 },
];
/** A delivery from Mansour to Doura that is paid in cash. */
async function order(terms) {
  const { delivery } = await call(ops, "POST", "delivery/deliveries", {
    ...terms,
    customer_id: customer.id,
    delivery_service_id: standard.id,
    pickup_address_id: place("Mansour"),
    dropoff_address_id: place("Doura"),
    payment_method: "cash",
    unit_size: 1,
    recipient: { name: "كرار عباس", phone: "+9647712345679" },
  });
  return delivery;
}

const deliveries = [];
for (const { rule, ...terms } of [...rules, ...rules, ...rules, rules[2]]) {
  deliveries.push({ ...await order(terms), rule });
}
const bulk = await call(ops, "POST", "delivery/assignments/bulk", {
  driver_id: driver1.id,
  delivery_ids: deliveries.map(({ id }) => id),
});
await call(driver1, "PUT", `delivery/assignments/bulk/${bulk.bulk_assignment_id}`, {
  status: "accepted",
});

say("Driver 1 delivers them; what they say they took must be what is due");
for (const { id, price, cod_amount, rule } of deliveries) {
  const path = `delivery/deliveries/${id}`;
  const atPickup = rule === rules[0].rule;
  const fee = { cod: 0, delivery_fee: price };
  await call(driver1, "POST", `${path}/pickup`, atPickup ? { cash_collected: fee } : {});
  await call(driver1, "POST", `${path}/depart`, {});
  await call(driver1, "POST", `${path}/complete`, {
    cash_collected: atPickup
      ? { cod: 0, delivery_fee: 0 }
      : { cod: cod_amount, delivery_fee: price },
  });
}
const taken = [];
for (const { id, rule } of deliveries) {
  const { delivery } = await call(driver1, "GET", `delivery/deliveries/${id}`);
  taken.push(delivery.collections[0]);
  if (taken.length <= 3) {
    show(
      `${rule}: ${money(delivery.collections[0].amount)} at ${
        delivery.collections[0].collection_stage
      }`,
    );
  }
}
check("rows of cash", taken.length, 10);
const { summary } = await call(driver1, "GET", "delivery/cod-summary");
show(
  `the driver holds ${money(summary.total_unremitted)}, ${summary.pending_collections_count} rows`,
);

say("Three are remitted to the dispatcher, and once more with the same Idempotency-Key");
const ids = taken.map(({ id }) => id);
const remit = {
  scope: "selected",
  cod_collection_ids: ids.slice(0, 3),
  remitted_to_user_id: dispatcher.id,
};
const first = await settle("remit?language=ar", remit);
show(
  `${money(first.total_cash_remitted)} handed in: COD ${money(first.total_cod_remitted)}, ` +
    `fees ${money(first.total_delivery_fee_remitted)}`,
);

say("Three are settled by wallet, which was filled at the office first, and once more");
const { wallet } = await call(driver1, "GET", "delivery/wallets/me");
const filled = await call(admin, "POST", `delivery/wallets/${wallet.id}/adjust`, {
  amount: 50_000,
  direction: "credit",
  reason: "Paid in at the office",
}, { "idempotency-key": randomUUID() });
const second = await settle("settle-by-wallet?language=ku", {
  scope: "selected",
  cod_collection_ids: ids.slice(3, 6),
});
check(
  "the wallet is less by what the driver keeps in cash",
  filled.wallet.balance - second.wallet_balance_after,
  second.total_cash_settled,
);
const spent = await expectError(driver1, "POST", "delivery/cod-collections/remit", remit);
check("what is settled cannot be settled again", spent.code, "cod_collections_not_pending");

say("The last three by the dispatcher at the desk");
const third = await settle("remit", {
  scope: "selected",
  cod_collection_ids: ids.slice(6, 9),
  driver_id: driver1.id,
  remitted_to_user_id: dispatcher.id,
}, dispatcher);

say("One more is entered for the wrong desk: the dispatcher takes it back and enters it again");
const last = { scope: "selected", cod_collection_ids: ids.slice(9) };
const wrong = await settle("remit", { ...last, remitted_to_user_id: admin.id }, dispatcher);
const { data: undone } = await call(
  dispatcher,
  "POST",
  `delivery/cod-settlements/${wrong.settlement_payment_id}/reverse`,
  { reason: "It lies on my desk" },
);
show(`${money(undone.total)} are in the driver's hands again: ${undone.reversal_reason}`);
await settle("remit", last, dispatcher);
const settlements = await call(
  dispatcher,
  "GET",
  `delivery/cod-settlements?driver_id=${driver1.id}`,
);
check(
  "the driver's last two settlements",
  settlements.data.slice(0, 2).map((
    { receiver, reversed_at },
  ) => [receiver.id, reversed_at !== null]),
  [[dispatcher.id, false], [admin.id, true]],
);

say("Receipts: each in the language of who settled");
const folder = mkdtempSync(join(tmpdir(), "barid-receipts-"));
for (
  const [language, { settlement_payment_id }] of [["ar", first], ["ku", second], ["en", third]]
) {
  const path = `delivery/cod-settlements/${settlement_payment_id}/receipt`;
  const link = await waitFor(`receipt in ${language}`, async () => {
    return (await call(driver1, "GET", path)).url;
  });
  const bytes = Buffer.from(await (await fetch(link)).arrayBuffer());
  const file = join(folder, `receipt-${language}.pdf`);
  writeFileSync(file, bytes);
  check(
    `${file}, ${Math.round(bytes.length / 1024)} KB, begins with`,
    String(bytes.subarray(0, 5)),
    "%PDF-",
  );
}

say("One goes with an external carrier, which collects at its door and owes it");
await call(admin, "PATCH", "carriers/tenant/simulated", { is_enabled: true });
const { webhook } = await call(admin, "POST", "carriers/tenant/simulated/rotate-secret", {});
const parcel = await order({
  ...rules[2],
  carrier_type: "external",
  carrier_code: "simulated",
});
const { shipment } = await call(ops, "POST", `carriers/shipments/${parcel.id}`, {
  carrier_code: "simulated",
});
check("what it is told to collect", shipment.cash_due, parcel.price + parcel.cod_amount);
for (const status of ["picked_up", "delivered"]) {
  check(
    `its report, ${status}`,
    (await report(shipment.tracking_number, status)).outcome,
    "applied",
  );
}
const cash = "carriers/tenant/simulated";
const owed = await call(dispatcher, "GET", `${cash}/collections?delivery_id=${parcel.id}`);
check("what it collected", owed.data[0].amount, shipment.cash_due);
show(`it owes ${money(owed.summary.owed[0].amount)} of this parcel`);

say("It pays by bank transfer; the administrator enters it, and finds it again");
const reference = `TRX-${parcel.delivery_code}`;
const { remittance } = await call(admin, "POST", `${cash}/remittances`, {
  amount: shipment.cash_due,
  currency: "IQD",
  reference,
  delivery_ids: [parcel.id],
});
show(`${money(remittance.amount)} entered, it still owes ${money(remittance.still_owed)}`);
const paid = await call(dispatcher, "GET", `${cash}/remittances?search=${reference}`);
check(
  "payments found by its reference",
  paid.data.map(({ id, remitted_count }) => [id, remitted_count]),
  [[remittance.id, 1]],
);
const whole = await call(dispatcher, "GET", `${cash}/remittances/${remittance.id}`);
check("the parcel it paid", whole.remittance.remitted_collections[0].delivery_id, parcel.id);

say("The dispatcher's desk: some to the bank, some to the administrator, which is taken back");
const desk = async () => {
  const { data } = await call(dispatcher, "GET", `delivery/cash-desks?user_id=${dispatcher.id}`);
  return data[0].balance;
};
const onDesk = await desk();
const move = (body) =>
  call(dispatcher, "POST", "delivery/cash-desks/transfers", body, {
    "idempotency-key": randomUUID(),
  });
const { data: deposit } = await move({ kind: "bank_deposit", amount: 1000, reference: "Slip 1" });
show(`${money(deposit.amount)} brought to the bank by ${deposit.from_user.full_name}`);
const { data: handover } = await move({
  kind: "handover",
  to_user_id: admin.id,
  amount: 500,
});
await call(
  dispatcher,
  "POST",
  `delivery/cash-desks/transfers/${handover.id}/reverse`,
  { reason: "Meant for the bank" },
  { "idempotency-key": randomUUID() },
);
check("left on the desk", await desk(), onDesk - 1000);

say("The reconciliation: rows, sums of drivers, carriers and desks, and the ledger say the same");
const proof = await call(dispatcher, "GET", "delivery/cod-reconciliation");
for (const driver of proof.drivers) {
  show(
    `${driver.driver_name}: collected ${money(driver.collected)}, remitted ${
      money(driver.remitted)
    }, ` +
      `by wallet ${money(driver.settled_by_wallet)}, in hand ${money(driver.in_hand)}, ledger ${
        money(driver.ledger)
      }`,
  );
}
for (const carrier of proof.carriers) {
  show(
    `${carrier.carrier_code}: collected ${money(carrier.collected)}, remitted ${
      money(carrier.remitted)
    }, owed ${money(carrier.owed)}, ledger ${money(carrier.ledger)}`,
  );
}
for (const { user_name, remitted, transferred_out, in_hand, ledger } of proof.desks) {
  show(
    `${user_name ?? "the till"}: remitted ${money(remitted)}, away ${money(transferred_out)}, ` +
      `in hand ${money(in_hand)}, ledger ${money(ledger)}`,
  );
}
check("reconciled", proof.reconciled, true);
check("differences", proof.differences, []);

/** A settlement sent twice: the answer of the first time comes again, and nothing happens twice. */
async function settle(action, body, person = driver1) {
  const path = `delivery/cod-collections/${action}`;
  const header = { "idempotency-key": randomUUID() };
  const { data } = await call(person, "POST", path, body, header);
  const again = await call(person, "POST", path, body, header);
  check(
    "replayed, same settlement",
    again.data.settlement_payment_id === data.settlement_payment_id,
    true,
  );
  return data;
}

/** Sends the carrier's signed report of a parcel. */
async function report(tracking_number, status) {
  const body = JSON.stringify({ event_id: randomUUID(), tracking_number, status });
  const signature = createHmac("sha256", webhook.secret).update(body).digest("hex");
  const headers = { "content-type": "application/json", "x-carrier-signature": signature };
  return await (await fetch(webhook.url, { method: "POST", headers, body })).json();
}
