import { type DemoAccount, demoPassword } from "../demo-accounts.ts";
import { escaped } from "./escaped.ts";

/** The page of all calls. `start.js` draws the reference below the bar and signs in as the account that is chosen there. */
export function referencePage(publishableKey: string, accounts: readonly DemoAccount[]): string {
  const options = accounts.map(({ email, label }) =>
    `<option value="${escaped(email)}">${escaped(label)} (${escaped(email)})</option>`
  );
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Barid API</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="/docs/docs.css">
</head>
<body class="reference">
  <header class="bar" data-key="${escaped(publishableKey)}" data-password="${
    escaped(demoPassword)
  }">
    <strong>Barid API</strong>
    <label>Sign in as
      <select id="account">
        <option value="">nobody</option>
        ${options.join("\n        ")}
      </select>
    </label>
    <output id="signed-in" for="account"></output>
    <nav><a href="/docs/codes">Codes</a> <a href="/docs/openapi.json">OpenAPI</a></nav>
  </header>
  <main id="api"><p class="loading">Drawing the reference …</p></main>
  <script src="/docs/reference.js"></script>
  <script src="/docs/start.js"></script>
</body>
</html>
`;
}
