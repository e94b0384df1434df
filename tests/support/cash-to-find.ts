/** Collected cash that differs in all that a list is searched by. */
import { expect } from "vitest";
import { newCash } from "./cod.ts";
import { newTenant, type Tenant } from "./people.ts";

/** A row of collected cash and its delivery. */
export interface Found {
  id: string;
  delivery: string;
  code: number;
}

/** Four rows of a tenant in Baghdad, the second of them remitted, and one of another tenant. */
export async function cashToFind(): Promise<{ a: Tenant; b: Tenant; cash: Found[] }> {
  const [a, b] = await Promise.all([
    newTenant({ settings: { "general.timezone": { name: "Asia/Baghdad" } } }),
    newTenant(),
  ]);
  const cash = [
    // 21:30 UTC is half past midnight of the next day in Baghdad.
    await newCash(a, {
      cod: 1000,
      fee: 100,
      collectedAt: "2026-03-09T21:30:00Z",
      customerName: "Ahmad 100%",
      externalReference: "EXT-1",
    }),
    await newCash(a, {
      cod: 2000,
      fee: 200,
      collectedAt: "2026-03-11T10:00:00Z",
      customerName: "Bashar",
      address: "Karrada 5",
    }),
    await newCash(a, {
      cod: 0,
      fee: 300,
      collectedAt: "2026-03-12T10:00:00Z",
      customerName: "سارة",
    }),
    await newCash(a, {
      cod: 4000,
      fee: 400,
      collectedAt: "2026-03-13T10:00:00Z",
      customerName: "=cmd()",
      driver: a.driver2.id,
    }),
  ];
  await newCash(b, { cod: 9999 });
  const settled = await a.dispatcher.post("/delivery/cod-collections/remit", {
    scope: "selected",
    cod_collection_ids: [cash[1].id],
  });
  expect(settled).toSucceed();
  return { a, b, cash };
}
