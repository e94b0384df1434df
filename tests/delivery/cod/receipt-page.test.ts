/** The page of a receipt of settled cash. */
import { describe, expect, test } from "vitest";
import { renderReceipt } from "../../../functions/delivery/cod/receipt-page.ts";
import { openPdf, scan } from "../../support/pdf.ts";

describe("the page", () => {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      delivery_number: String(1_048_000 + i),
      customer_name: ["سارة", "محل Naz للأزياء 24", "李小龍", "x".repeat(200)][i % 4],
      collected_at: "2026-11-21T10:12:00Z",
      amount: 26_250,
      cod: 25_000,
      delivery_fee: 1_250,
    }));
  const receipt = (count: number, language: "en" | "ar" | "ku") => ({
    settlement_payment_id: "0d1f7c3e-1111-4222-8333-444455556666",
    language,
    brand: "زاگروس إكسبريس Express",
    method: "remit" as const,
    driver: "ڕێبوار",
    receiver: "Naz",
    settled_at: "2026-11-21T11:12:00Z",
    reference: null,
    notes: null,
    historical: false,
    reversed_at: null,
    currency: "IQD",
    decimals: 0,
    timezone: "Asia/Baghdad",
    rows: rows(count),
    totals: { count, amount: 26_250 * count, cod: 25_000 * count, delivery_fee: 1_250 * count },
    verify_url: "https://x.test/verify?hash=0123456789abcdef0123456789abcdef",
  });

  test.each(["en", "ar", "ku"] as const)(
    "in %s shows every order once, totals, times of the tenant and page numbers",
    async (language) => {
      const pdf = await openPdf(await renderReceipt(receipt(500, language)));
      let text = "";
      for (let page = 1; page <= pdf.pages; page++) text += await pdf.text(page);
      for (const { delivery_number } of rows(500)) {
        expect(text.split(delivery_number).length - 1).toBe(1);
      }
      expect(text).toContain("13,125,000");
      expect(text).toContain("2026-11-21 13:12");
      expect(await pdf.text(pdf.pages)).toContain(String(pdf.pages));
      expect(await scan(await pdf.raster(1))).toEqual([receipt(1, language).verify_url]);
    },
  );

  test.each(["en", "ar"] as const)(
    "in %s small sums stand under the units of big ones",
    async (language) => {
      const page = receipt(2, language);
      page.rows[0].amount = 7;
      const raster = await (await openPdf(await renderReceipt(page))).raster(1);
      // The first row of the column of amounts, which is 22 mm wide.
      const left = language === "en" ? 210 - 15 - 22 : 15;
      expect(raster.ink(left + 18, 98, 4, 5)).toBeGreaterThan(0);
      expect(raster.ink(left, 98, 17, 5)).toBe(0);
    },
  );

  test("shows long notes whole, in every language, and the orders below them", async () => {
    for (const language of ["en", "ar", "ku"] as const) {
      const notes = Array.from({ length: 120 }, (_, i) => `Bag ${i + 1000} short by one note`);
      const pdf = await openPdf(
        await renderReceipt({ ...receipt(30, language), notes: notes.join(", ") }),
      );
      let text = "";
      for (let page = 1; page <= pdf.pages; page++) text += await pdf.text(page);
      for (let i = 0; i < 120; i++) expect(text).toContain(String(1000 + i));
      for (const { delivery_number } of rows(30)) {
        expect(text.split(delivery_number).length - 1).toBe(1);
      }
    }
  });

  test("has one page for one order and room for totals whatever the count", async () => {
    expect((await openPdf(await renderReceipt(receipt(1, "en")))).pages).toBe(1);
    for (const count of [24, 25, 26, 27, 28, 63, 64, 65]) {
      const pdf = await openPdf(await renderReceipt(receipt(count, "en")));
      expect(await pdf.text(pdf.pages)).toContain((26_250 * count).toLocaleString("en-US"));
    }
  });
});
