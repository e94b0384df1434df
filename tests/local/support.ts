import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@supabase/supabase-js";
import ws from "ws";
import { type Stack, type StackOptions, startStack } from "../../supabase/local/stack.ts";
import { templateCluster } from "../support/template.ts";

/** A stack on free ports and in its own folder; `close` leaves neither process nor file behind. */
export async function temporaryStack(options: Omit<StackOptions, "dataDir"> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), "barid-test-"));
  const lines: string[] = [];
  const stack = await startStack({
    dataDir,
    port: 0,
    dbPort: 0,
    durable: false,
    template: process.env.DATABASE_URL ? undefined : await templateCluster(),
    log: (line) => void lines.push(line),
    ...options,
  });
  return {
    stack,
    dataDir,
    lines,
    async close() {
      await stack.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The real client, as an application would make it. */
export function client(stack: Stack, key = stack.publishableKey) {
  return createClient(stack.url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    // Node 20 has no WebSocket of its own.
    realtime: { transport: ws as unknown as typeof WebSocket },
  });
}

/** Creates a user and signs it in. */
export async function signedIn(stack: Stack, email: string, password = "a good password") {
  const admin = client(stack, stack.secretKey);
  const created = await admin.auth.admin.createUser({ email, password, email_confirm: true });
  if (created.error) throw created.error;
  const app = client(stack);
  const { data, error } = await app.auth.signInWithPassword({ email, password });
  if (error) throw error;
  return { app, session: data.session, user: data.user };
}

/** Asks until the answer is there. */
export async function until<T>(
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  ms = 5_000,
) {
  const deadline = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`It did not happen within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
