/** Prints receipts under Deno and says what that cost: CPU in milliseconds, peak memory in megabytes. */
import { readFileSync } from "node:fs";
import process from "node:process";
import { cpuMs } from "./cpu.ts";

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
    reversed_at: null,
    currency: "IQD",
    decimals: 0,
    timezone: "Asia/Baghdad",
    rows: Array.from({ length: count }, (_, i) => ({
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

function memoryMb(name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync("/proc/self/status", "utf8");
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1024;
}

// A function that is up has its engine loaded; what a receipt needs besides comes with the first one.
await import("../../functions/delivery/index.ts");
const idle = memoryMb("VmRSS");
const { renderReceipt } = await import("../../functions/delivery/cod/receipt-page.ts");
const cold = await cpuOf(() => renderReceipt(receipt(50)));
const warm = await cpuOf(() => renderReceipt(receipt(50)));
const added = memoryMb("VmHWM") - idle;
const large = await cpuOf(() => renderReceipt(receipt(500)));
console.log(JSON.stringify({ cold, warm, large, added }));
process.exit();
