/** Prints receipts under Deno and says what that cost: CPU in milliseconds, peak memory in megabytes. */
import { readFileSync } from "node:fs";
import { renderReceipt } from "../../functions/delivery/cod/receipt-page.ts";
import { cpuMs } from "./cpu-on-deno.ts";

function receipt(count: number) {
  return {
    settlement_payment_id: "0d1f7c3e-1111-4222-8333-444455556666",
    language: "ar" as const,
    brand: "زاگروس إكسبريس",
    method: "remit" as const,
    driver: "مصطفى عبد الرحمن",
    receiver: "سارة",
    settled_at: "2026-11-21T11:12:00Z",
    reference: null,
    notes: null,
    historical: false,
    currency: "IQD",
    decimals: 0,
    timezone: "Asia/Baghdad",
    orders: Array.from({ length: count }, (_, i) => ({
      delivery_number: String(1_048_000 + i),
      customer_name: `محل Naz للأزياء ${i}`,
      collected_at: "2026-11-21T10:12:00Z",
      amount: 26_250,
      cod: 25_000,
      delivery_fee: 1_250,
    })),
    totals: { count, amount: 26_250 * count, cod: 25_000 * count, delivery_fee: 1_250 * count },
    verify_url: "https://x.test/verify?hash=0123456789abcdef0123456789abcdef",
  };
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = cpuMs();
  await work();
  return cpuMs() - before;
}

const cold = await cpuOf(() => renderReceipt(receipt(50)));
const warm = await cpuOf(() => renderReceipt(receipt(50)));
const large = await cpuOf(() => renderReceipt(receipt(500)));
const peak = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"));
console.log(JSON.stringify({ cold, warm, large, memory: Number(peak?.[1] ?? 0) / 1024 }));
