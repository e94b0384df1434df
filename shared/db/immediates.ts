/**
 * A clearImmediate that clears. Deno 2.1, which the edge runtime embeds, runs immediates that were
 * cleared; the database driver then writes to a connection that is already closed and the process
 * ends. Imported before the driver; it puts a working pair where npm packages look for theirs.
 */
import { setImmediate as soon } from "node:timers";

interface Ticket {
  cleared: boolean;
  ref(): Ticket;
  unref(): Ticket;
  hasRef(): boolean;
}

if ("Deno" in globalThis) {
  Object.assign(globalThis, {
    setImmediate(callback: (...values: unknown[]) => void, ...values: unknown[]): Ticket {
      const ticket: Ticket = {
        cleared: false,
        ref: () => ticket,
        unref: () => ticket,
        hasRef: () => true,
      };
      soon(() => {
        if (!ticket.cleared) callback(...values);
      });
      return ticket;
    },
    clearImmediate(ticket?: Ticket | null): void {
      if (ticket) ticket.cleared = true;
    },
  });
}
