/** The pages of a statement's document: every row once, in three languages, whatever their number. */
import { expect, test } from "vitest";
import type {
  StatementDocument,
  StatementRow,
} from "../../../functions/delivery/merchant-statements/document-head.ts";
import { renderStatement } from "../../../functions/delivery/merchant-statements/document-page.ts";
import { size, tries } from "../../prove/proof.ts";
import { openPdf, scan } from "../../support/pdf.ts";

const none = {
  delivery_code: null,
  external_reference_id: null,
  cod: 0,
  delivery_fee: 0,
  refund: 0,
  adjustment: 0,
};
const references = ["ORDER-1", "طلب زهراء ١٢", "ژمارە 24 Naz", "x".repeat(200), null];

const row = (index: number): StatementRow => ({
  kind: "delivery",
  delivery_code: 30_000_000 + index,
  external_reference_id: references[index % references.length],
  collected_at: "2026-11-21T10:12:00Z",
  released_at: "2026-11-22T10:12:00Z",
  cod: 25_000,
  delivery_fee: 1_250,
  refund: 0,
  adjustment: 0,
  net: 23_750,
  description: null,
});

function statement(count: number, more: Partial<StatementDocument> = {}): StatementDocument {
  return {
    number: "MS-000123",
    brand: "زاگروس إكسبريس Express",
    owner: `متجر بغداد Baghdad ${"ژ".repeat(150)}`,
    currency: "IQD",
    decimals: 0,
    timezone: "Asia/Baghdad",
    opened_at: "2026-11-25T09:00:00Z",
    period: { from: "2026-11-18T00:00:00Z", to: "2026-11-25T09:00:00Z" },
    gross_cod: 25_000 * count,
    fees: 1_250 * count,
    refunds: 0,
    adjustments: 0,
    net: 23_750 * count,
    payout: null,
    confirmed_at: null,
    voided_at: null,
    void_reason: null,
    rows: Array.from({ length: count }, (_, index) => row(index)),
    verify_url: "https://x.test/verify?hash=0123456789abcdef0123456789abcdef",
    ...more,
  };
}

async function pagesOf(document: StatementDocument, language: "en" | "ar" | "ku") {
  const pdf = await openPdf(await renderStatement(document, language));
  const pages: string[] = [];
  for (let page = 1; page <= pdf.pages; page++) pages.push(await pdf.text(page));
  return { pdf, pages };
}

test.each([["en", 2_000], ["ar", tries(2_000, 200)], ["ku", tries(2_000, 200)]] as const)(
  "in %s %i rows stand once each, every page with its number and the statement's",
  async (language, count) => {
    const document = statement(count);
    const total = (23_750 * count).toLocaleString("en");
    const { pdf, pages } = await pagesOf(document, language);
    const text = pages.join("");
    for (const { delivery_code } of document.rows) {
      expect(text.split(String(delivery_code)).length - 1).toBe(1);
    }
    expect(text.split("2026-11-21 13:12").length - 1).toBe(count);
    for (const [index, page] of pages.entries()) {
      expect(page).toContain("MS-000123");
      expect(page).toContain(String(index + 1));
      expect(page).toContain(String(pages.length));
    }
    expect(pages.at(-1)).toContain(total);
    expect(pages[0]).toContain(total);
    expect(await scan(await pdf.raster(1))).toEqual([document.verify_url]);
  },
);

test("repeats the headings, and keeps room for the totals whatever the number of rows", async () => {
  for (
    const count of size === "brief"
      ? [1, 26, 27, 62, 63]
      : [1, 24, 25, 26, 27, 28, 60, 61, 62, 63, 64]
  ) {
    const { pages } = await pagesOf(statement(count), "en");
    expect(pages.length, String(count)).toBe(count < 27 ? 1 : count < 63 ? 2 : pages.length);
    for (const page of pages) expect(page).toContain("Your reference");
    expect(pages.at(-1)).toContain("Total (IQD)");
    expect(pages.filter((page) => page.includes("Total (IQD)"))).toHaveLength(1);
  }
});

test("writes a minus before the digits in every language, and no cost as 0", async () => {
  const kept = { ...none, kind: "kept", adjustment: -2_500, net: -2_500 } as const;
  const rows = [{ ...row(0), delivery_fee: 0, net: 25_000 }, { ...row(1), ...kept }];
  const document = statement(1, { rows, fees: 0, adjustments: -2_500, net: 22_500 });
  for (const language of ["en", "ar", "ku"] as const) {
    const { pages: [text] } = await pagesOf(document, language);
    expect(text.split("-2,500").length - 1).toBe(4);
    expect(text).not.toMatch(/-0(?!\d)/);
  }
});

test("small sums stand under the units of big ones, on the side where the language ends", async () => {
  for (const language of ["en", "ar"] as const) {
    const document = statement(2);
    document.rows[0].net = 7;
    const { pdf } = await pagesOf(document, language);
    const raster = await pdf.raster(1);
    // The first row of the column of amounts, which is 22 mm wide.
    const left = language === "en" ? 210 - 15 - 22 : 15;
    expect(raster.ink(left + 18, 101, 4, 5)).toBeGreaterThan(0);
    expect(raster.ink(left, 101, 17, 5)).toBe(0);
  }
});

test("says on every page that it is void", async () => {
  const document = statement(80, {
    voided_at: "2026-11-25T10:00:00Z",
    void_reason: "أُعدّ للأسبوع الخطأ, wrong week",
  });
  const { pages } = await pagesOf(document, "en");
  expect(pages.length).toBeGreaterThan(1);
  for (const page of pages) expect(page).toContain("VOID");
  expect(pages[0]).toContain("2026-11-25 13:00");
  expect(pages[0]).toContain("wrong week");
});

test("says beside an adjustment why it was made, and the name of what has no reason in full", async () => {
  const adjusted = { ...row(4), ...none, kind: "adjustment", adjustment: 500, net: 500 } as const;
  const rows = ["Bonus of October", "مكافأة الشهر", null].map((description) => ({
    ...adjusted,
    description,
  }));
  const opening = { ...adjusted, kind: "opening", description: null } as const;
  const { pages: [text] } = await pagesOf(statement(4, { rows: [...rows, opening] }), "en");
  for (const said of ["Bonus of October", "Balance before the first statement"]) {
    expect(text).toContain(said);
  }
  expect(text.match(/Adjustment(?!s)/g)).toHaveLength(3);
});

test("names rows without a delivery by their kind, and a payout with its time, way and reference", async () => {
  const kinds = ["kept", "kept_before", "opening", "refund", "adjustment"] as const;
  const rows = kinds.map((kind) => ({ ...row(0), ...none, kind, adjustment: 500, net: 500 }));
  const payout = {
    method: "gateway_transfer",
    reference: "Transfer 2291",
    paid_at: "2026-11-25T10:00:00Z",
  } as const;
  const { pages: [text] } = await pagesOf(
    statement(5, { rows, payout, confirmed_at: "2026-11-25T12:00:00Z" }),
    "en",
  );
  for (
    const said of [
      "Stays in the wallet",
      "Stayed in the wallet before",
      "Balance before the first statement",
      "Refund",
      "Adjustment",
      "Paid out on 2026-11-25 13:00",
      "Transfer by a payment service",
      "Transfer 2291",
      "2026-11-25 15:00",
    ]
  ) expect(text).toContain(said);
});
