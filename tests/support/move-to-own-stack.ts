import type { Stack, StackOptions } from "../../supabase/local/stack.ts";
import { moveTo } from "./db.ts";
import { startOwnStack } from "./own-stack.ts";

/** Starts a system of the test's own, and moves every builder to it until `leave`, which stops it. */
export async function moveToOwnStack(
  options?: StackOptions,
): Promise<{ own: Stack; leave: () => Promise<void> }> {
  const own = await startOwnStack(options);
  const moveBack = moveTo(own);
  return {
    own,
    async leave() {
      await moveBack();
      await own.stop();
    },
  };
}
