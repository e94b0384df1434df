/** Refresh tokens are used once, and a client that lost the answer stays signed in. */
import { createClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import ws from "ws";
import { client, signedIn, temporaryStack } from "./support.ts";

let rig: Awaited<ReturnType<typeof temporaryStack>>;
beforeAll(async () => rig = await temporaryStack());
afterAll(() => rig.close());

/** The used tokens of a session are older than the reuse interval. */
const age = (userId: string) =>
  rig.stack.sql`update auth.refresh_tokens set updated_at = updated_at - interval '1 minute'
    where user_id = ${userId} and revoked`;

test("a refresh token works once; used again after others it ends the session", async () => {
  const { session, user } = await signedIn(rig.stack, "refresh@example.com");
  const app = client(rig.stack);
  const refresh = (refresh_token: string) => app.auth.refreshSession({ refresh_token });
  const first = await refresh(session!.refresh_token);
  expect(first.data.session?.refresh_token).not.toBe(session!.refresh_token);
  const second = await refresh(first.data.session!.refresh_token);
  const soon = await refresh(session!.refresh_token);
  expect(soon.data.session?.refresh_token).toBe(second.data.session!.refresh_token);
  await age(user!.id);
  const reused = await refresh(session!.refresh_token);
  expect(reused.error).toMatchObject({ status: 400, code: "refresh_token_already_used" });
  const next = await refresh(second.data.session!.refresh_token);
  expect(next.error).toMatchObject({ code: "refresh_token_not_found" });
});

test("a client that lost the answer to its refresh stays signed in, however late it asks again", async () => {
  const { session, user } = await signedIn(rig.stack, "weak@example.com");
  let lost = 0;
  const app = createClient(rig.stack.url, rig.stack.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: {
      fetch: async (input, init) => {
        const answer = await fetch(input, init);
        if (!String(input).includes("grant_type=refresh_token") || lost++ > 0) return answer;
        await age(user!.id);
        throw new TypeError("network");
      },
    },
    realtime: { transport: ws as unknown as typeof WebSocket },
  });
  const again = await app.auth.refreshSession({ refresh_token: session!.refresh_token });
  expect(again.error).toBeNull();
  expect(lost).toBe(2);
  expect((await app.auth.getUser()).data.user?.id).toBe(user!.id);
  expect((await app.auth.refreshSession()).error).toBeNull();
});

test("refreshes at the same moment give one new token", async () => {
  const { session } = await signedIn(rig.stack, "race@example.com");
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() =>
      client(rig.stack).auth.refreshSession({ refresh_token: session!.refresh_token })
    ),
  );
  expect(answers.map(({ error }) => error)).toEqual([null, null, null, null]);
  expect(new Set(answers.map(({ data }) => data.session!.refresh_token)).size).toBe(1);
});
