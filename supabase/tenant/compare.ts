/** `npm run tenant -- compare`: whether a company is still as it was exported, while others may have written to it. */
import { Failure } from "../local/failure.ts";
import { differing, type Figures, figuresOf } from "./figures.ts";
import { readManifest } from "./folder.ts";
import type { CompareOptions } from "./options.ts";
import { collectPeople } from "./people.ts";
import { type Place, sessionSettings } from "./place.ts";
import { stepsSaidBy } from "./progress.ts";
import { tenantTables } from "./tables.ts";

/** Tables that change although nothing happens to a company, and why. */
const changeAlone: Readonly<Record<string, string>> = {
  "app.idempotency_keys": "forgotten after a day",
  "delivery.driver_positions": "forgotten after thirty days",
  "delivery.driver_performance": "figures of what changed before",
  "delivery.performance_changes": "figures of what changed before",
  "delivery.performance_deliveries": "figures of what changed before",
  "delivery.performance_state": "figures of what changed before",
  "integration.system_events":
    "marked when they are sent, forgotten later; what happened stands elsewhere",
  "integration.webhook_attempts": "what was waiting is sent",
  "integration.webhook_events": "what was waiting is sent",
};

/** Tables whose rows change alone, but do not come and go. */
const rowsChangeAlone: Readonly<Record<string, string>> = {
  "integration.webhook_subscriptions": "since when they fail, while what was waiting is sent",
  "storefront.custom_domains": "their records are looked up every day",
};

/**
 * Compares the company with an export of it. Fails with a line for each table and sum that is another now: what was
 * written since then is not in the export.
 */
export async function compareTenant(
  place: Place,
  { with: folder }: Omit<CompareOptions, "command">,
  print: (line: string) => void,
): Promise<void> {
  const { tenant: { id, slug }, exported_at, figures } = await readManifest(folder);
  await place.sql.begin("isolation level repeatable read", async (tx) => {
    await tx.unsafe(sessionSettings);
    const [tenant] = await tx`select from tenancy.tenants t where t.id = ${id}`;
    if (!tenant) throw new Failure(`This project has no company "${slug}".`);
    const tables = await tenantTables(tx, id);
    await collectPeople(tx, tables);
    const found = await figuresOf(tx, id, tables, stepsSaidBy(print));
    const lines = differing(lasting(figures), lasting(found));
    if (lines.length > 0) {
      throw new Failure([`Since ${exported_at} something was written:`, ...lines].join("\n"));
    }
    print(`${slug} is as it was exported at ${exported_at}.`);
  });
}

function lasting(figures: Figures): Figures {
  const tables = Object.entries(figures.tables).filter(([name]) => !(name in changeAlone))
    .map((
      [name, { rows, print }],
    ) => [name, { rows, print: name in rowsChangeAlone ? "" : print }]);
  return { ...figures, tables: Object.fromEntries(tables) };
}
