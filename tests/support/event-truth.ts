/** At the end of each file: what Barid told since the last one ended is what its catalogue of events says. */
import { afterAll } from "vitest";
import { sharedSql } from "./db.ts";
import { untrueEvents } from "./event-watch.ts";

afterAll(async () => {
  const untrue = await untrueEvents(sharedSql);
  if (untrue.length) {
    throw new Error(
      `Events are not what sql/base/events/data.sql says of them:\n\n${untrue.join("\n\n")}`,
    );
  }
});
