/** An event counts for whom its signature proves: every other sender is turned away, and leaves nothing. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { placeOrder, type Shop, standing } from "../../support/orders.ts";
import {
  due,
  eventFor,
  newCardShop,
  numberOf,
  received,
  report,
  sign,
  webhookSecret,
} from "../../support/payments.ts";

let shop: Shop;
let other: Shop;
beforeAll(async () => {
  [shop, other] = await Promise.all([newCardShop(), newCardShop()]);
});

const attacks: [string, (body: string) => [string, string | null]][] = [
  ["nobody", (body) => [body, null]],
  ["an empty signature", (body) => [body, ""]],
  ["another secret", (body) => [body, sign(body, "guessed")]],
  ["an empty secret", (body) => [body, sign(body, "")]],
  ["one byte changed", (body) => [body.replace('"captured"', '"Captured"'), sign(body)]],
  ["a space added", (body) => [body + " ", sign(body)]],
  ["the amount changed", (body) => [body.replace('"amount":6000', '"amount":6001'), sign(body)]],
  ["upper case", (body) => [body, sign(body).toUpperCase()]],
  ["its last digit changed", (body) => {
    const signature = sign(body);
    return [body, signature.slice(0, -1) + (signature.endsWith("0") ? "1" : "0")];
  }],
  ["its first digit changed", (body) => {
    const signature = sign(body);
    return [body, (signature.startsWith("0") ? "1" : "0") + signature.slice(1)];
  }],
  ["cut short", (body) => [body, sign(body).slice(0, 63)]],
  ["too long", (body) => [body, sign(body) + "0"]],
  ["another account", (body) => {
    const forged = body.replace(shop.account, "acc_00000000000000");
    return [forged, sign(forged)];
  }],
  ["an account that hides in front", (body) => {
    const forged = body.replace("{", `{"note":"\\"account_id\\":\\"${"x"}\\"",`);
    return [forged, sign(forged, "guessed")];
  }],
];
test.each(attacks)("%s: refused with nothing written", async (_name, attack) => {
  const placed = await placeOrder(shop, "razorpay");
  const count = async () =>
    (await sql`select count(*)::int as n from money.payment_webhook_events
      where tenant_id = ${shop.tenant.id}`)[0].n;
  const before = await count();
  const [body, signature] = attack(JSON.stringify(eventFor(shop, numberOf(placed), due)));
  const answer = await report(body, signature);
  expect(answer.status).toBe(401);
  expect(answer.body).toEqual({
    success: false,
    code: "invalid_signature",
    message: "The signature is not valid.",
  });
  expect(await count()).toBe(before);
  expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
});

test("Razorpay's own header carries the signature as well", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const event = JSON.stringify(eventFor(shop, numberOf(placed), due));
  const own = (signature: string) => report(event, signature, "razorpay", "x-razorpay-signature");
  expect(await own(sign(event, "guessed"))).toMatchObject({
    status: 401,
    body: { code: "invalid_signature" },
  });
  expect(await own(sign(event))).toMatchObject(received);
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
});

test("a secret of one shop pays no order of another", async () => {
  const victim = await placeOrder(shop, "razorpay");
  await other.tenant.admin.put("/payment/gateways/razorpay", {
    secrets: { webhook_secret: "theirs" },
  });
  // Their account, their secret, our order.
  const stolen = JSON.stringify(eventFor(other, numberOf(victim), due));
  expect(await report(stolen, sign(stolen, "theirs"))).toEqual(received);
  // Our account, their secret.
  const forged = JSON.stringify(eventFor(shop, numberOf(victim), due));
  expect((await report(forged, sign(forged, "theirs"))).status).toBe(401);
  expect(await standing(victim.id)).toMatchObject({ payment_status: "pending", paid: 0 });
  const [event] = await sql`select outcome, reason, tenant_id from money.payment_webhook_events
    where raw_body = ${stolen}`;
  expect(event).toEqual({
    outcome: "unmatched",
    reason: "payment_unknown",
    tenant_id: other.tenant.id,
  });
});

test("an unknown gateway, and gatewayone's own path, have no signed events", async () => {
  const event = eventFor(shop, "123456789012", due);
  for (const code of ["nothing", "constructor", "__proto__", "gatewayone%2F"]) {
    expect((await report(event, undefined, code)).body.code).toBe("gateway_not_found");
  }
  expect((await report(event, undefined, "gatewayone")).body.code).toBe("validation_failed");
});

test("after an exchange the secret before still counts, until it is to be forgotten", async () => {
  const rotating = await newCardShop();
  const put = (body: object) => rotating.tenant.admin.put("/payment/gateways/razorpay", body);
  const works = async (secret: string) => {
    const placed = await placeOrder(rotating, "razorpay");
    const body = JSON.stringify(eventFor(rotating, numberOf(placed), due));
    return (await report(body, sign(body, secret))).status;
  };
  const changed = await put({ secrets: { webhook_secret: "second" } });
  expect(changed.body.data.has_previous_webhook_secret).toBe(true);
  expect([await works(webhookSecret), await works("second")]).toEqual([200, 200]);
  await put({ secrets: { webhook_secret: "second" } });
  expect(await works(webhookSecret)).toBe(200);
  await put({ forget_previous_secret: true });
  expect([await works(webhookSecret), await works("second")]).toEqual([401, 200]);
  // One that others have seen is exchanged and forgotten in one call.
  await put({ secrets: { webhook_secret: "third" }, forget_previous_secret: true });
  expect([await works("second"), await works("third")]).toEqual([401, 200]);
});
