/** A row in every table of tenants themselves. */
import type { Added, Adding } from "./rows.ts";

export async function addTenancy({ tx, one, next }: Adding): Added {
  const [module] = await tx`select id from tenancy.modules order by position limit 1`;
  await one("tenancy.tenant_modules", { module_id: module.id, is_enabled: true }, "module_id");
  await one("tenancy.subscriptions", { type: "ANNUAL", amount: next(), note_internal: "Owes us" });
  await one("tenancy.erasures", {
    run_by: "Dana",
    row_counts: {},
    file_count: 0,
    ended_at: new Date(),
  });
  return { module: module.id };
}
