/** The inbox of this machine as a page. */
import { html } from "hono/html";
import type { Mail } from "./mails.ts";

export function inboxPage(mails: readonly Mail[], to = "") {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Mail of this machine</title>
    <style>
      body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 50rem; padding: 0 1rem }
      article { border-top: 1px solid #ccc; padding: 1rem 0 }
      code { font-size: 1.2em; letter-spacing: 0.1em }
      input, button { font: inherit; padding: 0.25rem 0.75rem }
      small { color: #555 }
    </style>
  </head>
  <body>
    <h1>Mail of this machine</h1>
    <form><input name="to" type="search" value="${to}" placeholder="Address" aria-label="Address"> <button>Show</button></form>
    ${
    mails.length === 0
      ? html`<p>No mail was sent${to ? html` to ${to}` : ""} since the stack started.</p>`
      : ""
  }
    ${
    mails.map((mail) =>
      html`<article>
      <strong>${mail.subject}</strong><br>
      <small>to ${mail.to}, <time>${mail.sent_at}</time></small>
      <p>Code <code>${mail.token}</code> · <a href="${mail.link}">Open the link</a></p>
    </article>`
    )
  }
    <p><small>Nothing leaves this machine.</small></p>
  </body>
</html>`;
}
