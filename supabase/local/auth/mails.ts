import { Hono } from "hono";
import { inboxPage } from "./inbox-page.ts";

/** The purpose of a mail, as `verifyOtp` names it. */
export type MailType = "invite" | "signup" | "recovery" | "magiclink";

/** A mail that the hosted service would send. */
export interface Mail {
  to: string;
  subject: string;
  type: MailType;
  /** For `verifyOtp({ token_hash, type })`, as links of mails carry it. */
  token_hash: string;
  /** For `verifyOtp({ email, token, type })`. */
  token: string;
  /** Where the link of the mail goes: it confirms, and comes back to the application with a session. */
  link: string;
  sent_at: string;
}

const subjects: Record<MailType, string> = {
  invite: "You have been invited",
  signup: "Confirm your signup",
  recovery: "Reset your password",
  magiclink: "Your link to sign in",
};
const maxKept = 500;

/** The mails that Auth sent since the stack started, the newest first: nothing leaves this machine. */
export class Mails {
  #sent: Mail[] = [];

  send(mail: Omit<Mail, "sent_at" | "subject">): void {
    const sent = { ...mail, subject: subjects[mail.type], sent_at: new Date().toISOString() };
    this.#sent = [sent, ...this.#sent].slice(0, maxKept);
  }

  to(address?: string): Mail[] {
    return this.#sent.filter(({ to }) => !address || to === address.toLowerCase());
  }
}

/** `GET /mail`: the inbox of this machine as a page; `GET /mail/messages?to=` as JSON. */
export function mailApp(mails: Mails): Hono {
  const app = new Hono();
  app.get("/mail", (c) => c.html(inboxPage(mails.to(c.req.query("to")), c.req.query("to"))));
  app.get("/mail/messages", (c) => c.json({ messages: mails.to(c.req.query("to")) }));
  return app;
}
