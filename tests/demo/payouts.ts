/** The merchant's money: COD is released when its cash is in, and paid out by statements. */
import { done } from "./barid.ts";
import type { Count } from "./count.ts";
import type { World } from "./people.ts";
import type { Progress } from "./progress.ts";

/** The rule of the day: COD that drivers have not handed in is held. */
export async function releaseWithCash({ admin, tenant }: World): Promise<void> {
  await done(admin.barid.PUT("/tenants/{tenantId}/settings", {
    params: { path: { tenantId: tenant } },
    body: { delivery: { payouts: { settings: { release: "on_remit", cycle: "weekly" } } } },
  }));
}

/** States what is due to the merchant; undefined: nothing is. */
export async function stateMerchant(
  { admin, merchant }: World,
): Promise<{ id: string; net: number } | undefined> {
  const call = await admin.barid.POST("/delivery/merchant-statements", {
    body: { owner_user_id: merchant.id },
  });
  if (call.error && "code" in call.error && call.error.code === "statement_below_minimum") return;
  const { data } = await done(Promise.resolve(call));
  return data.statement;
}

/** A statement that was made too early and is void; another one that is paid, and that the merchant confirms. */
export async function payMerchant(world: World, count: Count, progress: Progress): Promise<void> {
  const early = await stateMerchant(world);
  if (early) {
    await done(world.admin.barid.POST("/delivery/merchant-statements/{id}/void", {
      params: { path: { id: early.id } },
      body: { reason: "Before the last cash was counted" },
    }));
  }
  const statement = await stateMerchant(world);
  if (statement) {
    const at = { params: { path: { id: statement.id } } };
    await done(world.admin.barid.POST("/delivery/merchant-statements/{id}/pay", {
      ...at,
      body: { method: "bank", reference: `Transfer ${world.run}` },
    }));
    await done(world.merchant.barid.POST("/delivery/merchant-statements/{id}/confirm", at));
    count.paidOut += statement.net;
  }
  progress.step();
}
