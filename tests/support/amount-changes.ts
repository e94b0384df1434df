/** Changes of the amount that a parcel owes at the door. */
import type { Person } from "./api.ts";
import { path } from "./deliveries.ts";

export const amountChanges = (delivery: string) => `${path}/${delivery}/amount-changes`;

export const change = (
  by: Person,
  delivery: string,
  cod_amount: number,
  more: Record<string, unknown> = {},
) => by.post(amountChanges(delivery), { cod_amount, reason: "Agreed by telephone", ...more });
