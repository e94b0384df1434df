// A merchant's money: COD that is held until its cash is in, stated, printed, paid in cash, reversed, paid by bank and confirmed; and what the
// merchant sees of it.
// node tests/walkthrough/merchant.mjs
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, check, demoPassword, expectError, money, say, show, signIn } from "./barid.mjs";

const admin = await signIn("admin@demo.test");
const ops = await signIn("ops@demo.test");
const dispatcher = await signIn("dispatcher@demo.test");
const driver = await signIn("driver1@demo.test");
const operator = await signIn("system@barid.test");

const { memberships: [{ tenant_id: tenant }] } = await call(admin, "GET", "tenants/me");
const { deliveryServices } = await call(ops, "GET", "delivery/services");
const standard = deliveryServices.find(({ code }) => code === "STD");
const { data: places } = await call(ops, "GET", "delivery/addresses?limit=100");
const place = (name) => places.find(({ title }) => title?.en === name).id;
const statements = "delivery/merchant-statements";

say("A new merchant, and COD that is released when its cash is in");
const email = `merchant.${Date.now().toString(36)}@demo.test`;
await call(operator, "POST", `tenants/${tenant}/members`, {
  email,
  password: demoPassword,
  full_name: "متجر بغداد للأزياء",
  tenant_user_type: "customer",
  roles: ["customer"],
});
const merchant = await signIn(email);
await call(admin, "PUT", `tenants/${tenant}/settings`, {
  delivery: { payouts: { settings: { release: "on_remit" } } },
});

say("Three parcels are ordered; the driver delivers them and has the cash");
const cods = [40_000, 25_000, 12_000];
const orders = [];
for (const [index, cod_amount] of cods.entries()) {
  const { delivery } = await call(ops, "POST", "delivery/deliveries", {
    customer_id: merchant.id,
    delivery_service_id: standard.id,
    pickup_address_id: place("Mansour"),
    dropoff_address_id: place("Karrada"),
    payer_type: "receiver",
    payment_method: "cash",
    cod_amount,
    external_reference_id: `فاتورة ${index + 1}`,
    unit_size: 1,
    recipient: { name: "زهراء محمود", phone: "+9647712345678" },
  });
  orders.push(delivery);
}
const bulk = await call(ops, "POST", "delivery/assignments/bulk", {
  driver_id: driver.id,
  delivery_ids: orders.map(({ id }) => id),
});
await call(driver, "PUT", `delivery/assignments/bulk/${bulk.bulk_assignment_id}`, {
  status: "accepted",
});
const cash = [];
for (const { id } of orders) {
  for (const step of ["pickup", "depart", "complete"]) {
    await call(driver, "POST", `delivery/deliveries/${id}/${step}`, {});
  }
  const { delivery } = await call(driver, "GET", `delivery/deliveries/${id}`);
  cash.push(delivery.collections[0].id);
}
await wallet("all of it is held", { balance: 77_000, held: 77_000, stated: 0, available: 0 });
const early = await expectError(ops, "POST", statements, { owner_user_id: merchant.id });
check("nothing to state yet", [early.status, early.code], [409, "statement_below_minimum"]);

say("The driver hands in the cash of two: that releases their COD");
await remit(cash.slice(0, 2));
await wallet("released", { balance: 77_000, held: 12_000, stated: 0, available: 65_000 });

say("The office states what is due");
const { data: { statement } } = await call(ops, "POST", statements, { owner_user_id: merchant.id });
const path = `${statements}/${statement.id}`;
show(`${statement.number}: ${statement.count} lines, net ${money(statement.net)}`);
check("its net", statement.net, 65_000);
await wallet("stated", { balance: 77_000, held: 12_000, stated: 65_000, available: 0 });

say("On paper, in three languages, and as a file for the accountant");
const folder = mkdtempSync(join(tmpdir(), "barid-statements-"));
for (const language of ["en", "ar", "ku"]) {
  const document = await call(ops, "GET", `${path}/document?language=${language}`);
  const bytes = Buffer.from(await document.arrayBuffer());
  const file = join(folder, `statement-${language}.pdf`);
  writeFileSync(file, bytes);
  check(
    `${file}, ${Math.round(bytes.length / 1024)} KB, begins with`,
    String(bytes.subarray(0, 5)),
    "%PDF-",
  );
}
const [header, ...rows] = (await call(ops, "GET", `${path}?format=csv`)).trim().split("\r\n")
  .map((row) => row.split(","));
const net = header.indexOf("net");
check("net of each delivery", rows.map((row) => Number(row[net])), [40_000, 25_000]);
const { valid } = await call(ops, "GET", `${statements}/verify?hash=${"0".repeat(32)}`);
check("an invented print is", valid, false);

say("The dispatcher pays in cash, and it leaves their desk");
const before = await desk();
const inCash = await call(dispatcher, "POST", `${path}/pay`, { method: "cash" });
check("its status", inCash.data.statement.status, "paid");
check("less on the desk", before - (await desk()), 65_000);
await wallet("paid out", { balance: 12_000, held: 12_000, stated: 0, available: 0 });
const again = await expectError(ops, "POST", `${path}/pay`, { method: "bank" });
check("paid once", [again.status, again.code], [409, "statement_already_paid"]);

say("The merchant did not come for it: the payout is reversed, and the statement is open again");
const reversed = await call(dispatcher, "POST", `${path}/reverse`, { reason: "Nobody came" });
check("its status", reversed.data.statement.status, "open");
check("back on the desk", await desk(), before);

say("Operations pay by bank, and the merchant confirms");
await call(ops, "POST", `${path}/pay`, { method: "bank", reference: "Transfer 2291" });
const { data: { statement: confirmed } } = await call(merchant, "POST", `${path}/confirm`, {});
check("confirmed", confirmed.confirmed_at !== null, true);
const late = await expectError(ops, "POST", `${path}/reverse`, { reason: "Too late" });
check("then administrators alone reverse it", [late.status, late.code], [403, "forbidden"]);

say("The last cash comes in; it is stated too early, and that statement is void");
await remit(cash.slice(2));
const next = await call(ops, "POST", statements, { owner_user_id: merchant.id });
await call(ops, "POST", `${statements}/${next.data.statement.id}/void`, { reason: "Too early" });

say("The merchant's own view");
const { data: own } = await call(merchant, "GET", statements);
check("their statements, newest first", own.map(({ status, net }) => [status, net]), [
  ["void", 12_000],
  ["paid", 65_000],
]);
check("paid with", own[1].payout.reference, "Transfer 2291");
const { data: { statement: { lines } } } = await call(merchant, "GET", path);
check(
  "its lines",
  lines.map(({ kind, amount, delivery }) => [kind, amount, delivery.external_reference_id]),
  [["cod", 40_000, "فاتورة 1"], ["cod", 25_000, "فاتورة 2"]],
);
await wallet("what is left", { balance: 12_000, held: 0, stated: 0, available: 12_000 });
const stranger = await signIn("customer@demo.test");
const foreign = await expectError(stranger, "GET", path);
check("nobody else's", [foreign.status, foreign.code], [404, "statement_not_found"]);
const proof = await call(dispatcher, "GET", "delivery/cod-reconciliation");
check("differences", proof.differences, []);

async function wallet(what, expected) {
  const { wallet: found } = await call(merchant, "GET", "delivery/wallets/me");
  check(what, {
    balance: found.balance,
    held: found.held_balance,
    stated: found.stated_balance,
    available: found.available_balance,
  }, expected);
}

async function desk() {
  const { data } = await call(dispatcher, "GET", `delivery/cash-desks?user_id=${dispatcher.id}`);
  return data[0].balance;
}

async function remit(ids) {
  await call(dispatcher, "POST", "delivery/cod-collections/remit", {
    scope: "selected",
    cod_collection_ids: ids,
    driver_id: driver.id,
    remitted_to_user_id: dispatcher.id,
  });
}
