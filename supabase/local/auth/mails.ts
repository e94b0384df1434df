import { Hono } from "hono";

/** A mail that the hosted service would send. */
export interface Mail {
  to: string;
  subject: string;
  /** What the mail is for, as `verifyOtp` names it. */
  type: "invite";
  /** For `verifyOtp({ token_hash, type })`, as links of mails carry it. */
  token_hash: string;
  /** For `verifyOtp({ email, token, type })`. */
  token: string;
  sent_at: string;
}

const keptMax = 500;

/** The mails that Auth sent since the stack started, the newest first: nothing leaves this machine. */
export class Mails {
  #sent: Mail[] = [];

  send(mail: Omit<Mail, "sent_at">): void {
    this.#sent = [{ ...mail, sent_at: new Date().toISOString() }, ...this.#sent].slice(0, keptMax);
  }

  to(address?: string): Mail[] {
    return this.#sent.filter(({ to }) => !address || to === address.toLowerCase());
  }
}

/** `GET /mail/messages?to=`: what is in the mailboxes of this machine. */
export function mailApp(mails: Mails): Hono {
  const app = new Hono();
  app.get("/mail/messages", (c) => c.json({ messages: mails.to(c.req.query("to")) }));
  return app;
}
