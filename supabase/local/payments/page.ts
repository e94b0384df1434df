/** The page where whoever sits at this machine pays or declines. */
import type { Payment } from "./till.ts";

const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The name of a currency where it is known: gateways say some by a number of ISO 4217. */
function nameOf(currency: string): string {
  return { "368": "IQD", "840": "USD" }[currency] ?? currency;
}

export function page(payment: Payment): string {
  const buttons = `<form method="post">
        <button name="decision" value="pay">Pay</button>
        <button name="decision" value="decline">Decline</button>
      </form>`;
  const end = `<p>The payment was ${payment.state === "paid" ? "made" : "declined"}.</p>
      <p>The customer goes back to <code>${escaped(payment.backRef)}</code></p>`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Payment gateway of this machine</title>
    <style>
      body { font: 16px/1.5 system-ui, sans-serif; margin: 4rem auto; max-width: 30rem; padding: 0 1rem }
      button { font: inherit; margin-right: 1rem; padding: 0.5rem 2rem }
    </style>
  </head>
  <body>
    <h1>${payment.gateway}</h1>
    <p>${escaped(payment.description)}: <strong>${escaped(payment.amount)} ${
    escaped(nameOf(payment.currency))
  }</strong>${payment.gateway === "razorpay" ? " (minor units)" : ""}</p>
    ${payment.state === "open" ? "" : end}
    ${payment.state === "paid" ? "" : buttons}
    <p><small>No money moves here.</small></p>
  </body>
</html>
`;
}
