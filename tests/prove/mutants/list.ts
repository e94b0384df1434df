/** Every seeded fault. A change to the source that makes one stale brings a new one in its place. */
import { carriers } from "./carriers.ts";
import { deliveries } from "./deliveries.ts";
import { desks } from "./desks.ts";
import { merchants } from "./merchants.ts";
import { money } from "./money.ts";
import type { Mutant } from "./mutant.ts";
import { orders } from "./orders.ts";
import { queues } from "./queues.ts";
import { returns } from "./returns.ts";
import { settlements } from "./settlements.ts";
import { stock } from "./stock.ts";
import { walls } from "./walls.ts";
import { webhooks } from "./webhooks.ts";

export const mutants: readonly Mutant[] = [
  ...carriers,
  ...deliveries,
  ...desks,
  ...merchants,
  ...money,
  ...orders,
  ...queues,
  ...returns,
  ...settlements,
  ...stock,
  ...walls,
  ...webhooks,
];
