import * as harfbuzz from "harfbuzzjs";
import { inflateSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { fitBlock } from "../../shared/pdf/block.ts";
import { loadFaces } from "../../shared/pdf/faces.ts";
import { glyphsOf } from "../../shared/pdf/line.ts";
import { isolate, openDocument, type TextDocument } from "../../shared/pdf/text.ts";
import { inkBox, openPdf } from "../support/pdf.ts";

let document: TextDocument;

beforeAll(async () => {
  document = await openDocument({ title: "Test", language: "en" });
});

type Direction = "auto" | "ltr" | "rtl";
const glyphs = (text: string, direction: Direction = "auto") =>
  glyphsOf(document.line(text, { direction }));

/** The characters as the eye meets them, from left to right, by the place of their glyphs. */
function seen(text: string, direction: Direction = "auto"): string {
  const placed = glyphs(text, direction).filter((glyph) => glyph.advance > 0);
  const sorted = [...placed].sort((a, b) => a.x - b.x);
  expect(placed).toEqual(sorted);
  return sorted.map((glyph) => String.fromCodePoint(...glyph.codePoints)).join("");
}

const reversed = (text: string) => [...text].reverse().join("");

describe("order", () => {
  test("Arabic runs from right to left, digits of both sets within it from left to right", () => {
    expect(seen("بغداد")).toBe(reversed("بغداد"));
    expect(seen("دار 14 زقاق ٢٣")).toBe(`٢٣ ${reversed("زقاق")} 14 ${reversed("دار")}`);
    expect(seen("خانووی ۱۲۳")).toBe(`۱۲۳ ${reversed("خانووی")}`);
  });

  test("Latin inside Arabic and Arabic inside Latin each keep their own order", () => {
    expect(seen("متجر Naz Boutique قرب")).toBe(
      `${reversed("قرب")} Naz Boutique ${reversed("متجر")}`,
    );
    expect(seen("Shop متجر ناز 12")).toBe(`Shop 12 ${reversed("متجر ناز")}`);
    expect(seen("Shop متجر", "rtl")).toBe(`${reversed("متجر")} Shop`);
  });

  test("brackets in right-to-left text are mirrored", () => {
    expect(seen("محلة (الكرادة)")).toBe(`(${reversed("الكرادة")}) ${reversed("محلة")}`);
    expect(seen("[ڕێگا] «ب»")).toBe(`«ب» [${reversed("ڕێگا")}]`);
  });

  test("an isolated phone, date, code or amount is never turned around", () => {
    for (const value of ["+964 770 123 4567", "2026-11-21", "TM-000218", "-25,000.50 IQD"]) {
      expect(seen(`هاتف ${isolate(value)} قرب`)).toContain(value);
    }
    // The reason for the isolate: the bidi algorithm puts these groups in another order.
    expect(seen("هاتف +964 770 123 4567 قرب")).not.toContain("+964 770 123 4567");
  });

  test("a base direction is taken from the first letter, not from what is isolated", () => {
    expect(document.line(`${isolate("ABC")} بغداد`, {}).direction).toBe("rtl");
    expect(document.line("12 Baghdad بغداد", {}).direction).toBe("ltr");
  });

  test("overrides that make a code read backwards are dropped", () => {
    expect(seen("DLV-\u202e123\u202c")).toBe("DLV-123");
    expect(seen(isolate("A\u2069\u202eB"))).toBe("AB");
  });
});

describe("shaping", () => {
  test("letters take the form of their place in the word", () => {
    const [alone] = glyphs("ب");
    const [final, medial, initial] = glyphs("ببب");
    expect(new Set([alone, initial, medial, final].map((glyph) => glyph.id)).size).toBe(4);
  });

  test("Sorani letters are drawn and join like their kind", () => {
    for (const letter of "ڕڵێۆەگچپژڤکی") {
      const [glyph] = glyphs(letter);
      expect(glyph.id, letter).toBeGreaterThan(0);
      expect(glyph.codePoints).toEqual([letter.codePointAt(0)]);
      // After ب every one of them takes another form than alone.
      expect(glyphs(`ب${letter}`)[0].id, letter).not.toBe(glyph.id);
    }
    for (const letter of "ڕۆەژ") {
      // These never join onwards: the next letter stands as if it came first.
      expect(glyphs(`${letter}ب`)[0].id, letter).toBe(glyphs("ب")[0].id);
    }
  });

  test("lam and alef become one ligature", () => {
    const [ligature, ...rest] = glyphs("لا");
    expect(rest).toEqual([]);
    expect(ligature.codePoints).toEqual([0x644, 0x627]);
  });

  test("tashkil stands above or below its letter and takes no room", () => {
    for (const mark of ["\u064f", "\u064b", "\u0651"]) {
      const [bare] = glyphs("ب");
      const placed = glyphs(`ب${mark}`);
      const letter = placed.find((glyph) => glyph.id === bare.id)!;
      const sign = placed.find((glyph) => glyph.codePoints.includes(mark.codePointAt(0)!))!;
      expect(sign.advance).toBe(0);
      expect(sign.x).toBeGreaterThan(letter.x);
      expect(sign.x).toBeLessThan(letter.x + letter.advance);
    }
    expect(document.measure("مُحَمَّد", { size: 10 })).toBeCloseTo(
      document.measure("محمد", { size: 10 }),
    );
  });
});

test("digits and the signs among them stand beside each other as alone", async () => {
  const signs = [..."0123456789-:,."];
  for (const face of Object.values(await loadFaces())) {
    const width = (text: string) => face.shape(text, false).width;
    for (const one of signs) {
      for (const next of signs) {
        expect(width(one + next), one + next).toBeCloseTo(width(one) + width(next), 6);
      }
    }
  }
});

describe("characters the font lacks", () => {
  test("are written in Latin letters, or by their code point", () => {
    expect(seen("张伟")).toBe("ZhangWei");
    expect(seen("Привет")).toBe("Privet");
    expect(seen("ok 😀")).toBe("ok :grinning:");
    expect(seen("a\u{f0000}b")).toBe("a[U+F0000]b");
    expect(seen("ﻣﺤﻤﺪ")).toBe(reversed("محمد"));
  });

  test("control characters vanish, lone surrogates become a sign", () => {
    expect(seen("a\u0000b\u0007c\u0085d\u200bx")).toBe("abcdx");
    expect(seen("a\ud800b\udc00c")).toBe("a\ufffdb\ufffdc");
    expect(seen("a\tb\u2009c\u202fd")).toBe("a b c\u00a0d");
  });

  test("never reach the page as an empty box, whatever the input", () => {
    let state = 7;
    const random = (limit: number) => (state = (state * 48271) % 2147483647) % limit;
    for (let round = 0; round < 400; round++) {
      const text = Array.from(
        { length: 12 },
        () => String.fromCodePoint(random(round % 2 ? 0x20000 : 0x3000)),
      ).join("");
      for (const glyph of glyphs(text)) expect(glyph.id, JSON.stringify(text)).toBeGreaterThan(0);
    }
  });
});

describe("fitting", () => {
  const long = "الكرادة داخل محلة 905 زقاق 21 دار 14، قرب صيدلية الرحمة Al-Rahma pharmacy (الثاني)";
  const layout = (text: string) => document.line(text, { direction: "rtl" });
  const box = { width: 120, lines_max: 20, leading: 1.4, size: 10, size_min: 10 };

  test("lines break between words, keep the reading order and stay within the width", () => {
    for (let width = 60; width < 400; width += 7) {
      const { lines, truncated } = fitBlock(long, { ...box, width }, layout);
      expect(truncated).toBe(false);
      expect(lines.map((line) => line.text).join(" ")).toBe(long);
      for (const line of lines) expect(line.width * 10 / 1000).toBeLessThanOrEqual(width + 0.01);
    }
  });

  test("what has no room ends in an ellipsis at the end of reading, within the width", () => {
    for (const lines_max of [1, 2, 3]) {
      const { lines, truncated } = fitBlock(long, { ...box, lines_max }, layout);
      expect(truncated).toBe(true);
      expect(lines.length).toBe(lines_max);
      expect(long.startsWith(lines.map((line) => line.text).join(" ").slice(0, -1))).toBe(true);
      const [leftmost] = glyphsOf(lines.at(-1)!);
      expect(leftmost.codePoints).toEqual([0x2026]);
      for (const line of lines) expect(line.width * 10 / 1000).toBeLessThanOrEqual(120.01);
    }
  });

  test("a text is shrunk before it is cut, and never below the smallest size", () => {
    const shrunk = fitBlock(long, { ...box, lines_max: 3, size_min: 5 }, layout);
    expect(shrunk.truncated).toBe(false);
    expect(shrunk.size).toBeLessThan(10);
    const low = fitBlock("Baghdad", { ...box, width: 500, height: 9.8, size_min: 5 }, layout);
    expect(low.size).toBe(7);
    expect(fitBlock(long, { ...box, width: 30, lines_max: 1, size_min: 5 }, layout)).toMatchObject({
      size: 5,
      truncated: true,
    });
  });

  test("a word wider than the box is broken, after a separator where there is one", () => {
    const { lines } = fitBlock("Baghdad/Karrada/Street62", { ...box, width: 90 }, layout);
    expect(lines.map((line) => line.text)).toEqual(["Baghdad/Karrada/", "Street62"]);
    const unbroken = fitBlock("سليمانية".repeat(9), box, layout);
    expect(unbroken.lines.length).toBeGreaterThan(1);
    expect(unbroken.lines.map((line) => line.text).join("")).toBe("سليمانية".repeat(9));
  });

  test("a phone number stays in one piece while a line can hold it", () => {
    const text = `اتصل بالرقم ${isolate("+964 770 123 4567")} قبل الوصول`;
    const { lines } = fitBlock(text, { ...box, width: 110 }, layout);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.filter((line) => line.text.includes("+964 770 123 4567"))).toHaveLength(1);
  });
});

describe("on the page", () => {
  test.each(["regular", "bold"] as const)(
    "each glyph of a line lies where it was laid out (%s)",
    async (weight) => {
      const { file } = (await loadFaces())[weight];
      const source = new harfbuzz.Face(new harfbuzz.Blob(inflateSync(file.zlib)));
      const font = new harfbuzz.Font(source);
      const own = await openDocument({ title: "Glyphs", language: "ar", direction: "rtl" });
      const texts = [
        "AVATAR To. 1048213 (x)",
        "مُحَمَّدٍ",
        "بِجٍ",
        "گەڕەکی ڵ ێ ۆ پێنجەم",
        "شارع Naz 12 (قرب)",
      ];
      const page = own.addPage(105, 148);
      texts.forEach((text, index) =>
        page.text(text, { x: 10, y: 10 + 25 * index, size: 24, weight, align: "left" })
      );
      const pdf = await openPdf(await own.save());
      const raster = await pdf.raster(1, 600);
      texts.forEach((text, index) => {
        const em = 24 / 72 * 25.4;
        const top = 10 + 25 * index;
        // The baseline lies so that the ink of 0.87 above and 0.34 below is centred in 1.4.
        const baseline = top + em * (1.4 + 0.87 - 0.34) / 2;
        const unit = em / source.upem;
        const boxes = glyphsOf(own.line(text, { weight })).flatMap((glyph) => {
          const { xBearing, yBearing, width, height } = font.glyphExtents(glyph.id)!;
          const left = 10 + glyph.x * em / 1000 + xBearing * unit;
          const top = baseline - glyph.y * em / 1000 - yBearing * unit;
          // Heights count upwards. A space has no ink.
          return width > 0
            ? [{ left, right: left + width * unit, top, bottom: top - height * unit }]
            : [];
        });
        const drawn = inkBox(raster, 0, top - 5, 105, 23)!;
        expect(drawn.left, text).toBeCloseTo(Math.min(...boxes.map((box) => box.left)), 0.9);
        expect(drawn.right, text).toBeCloseTo(Math.max(...boxes.map((box) => box.right)), 0.9);
        expect(drawn.top, text).toBeCloseTo(Math.min(...boxes.map((box) => box.top)), 0.9);
        expect(drawn.bottom, text).toBeCloseTo(Math.max(...boxes.map((box) => box.bottom)), 0.9);
        // And each one is there: its own place has ink.
        for (const { left, right, top, bottom } of boxes) {
          expect(raster.ink(left, top, right - left, bottom - top), text).toBeGreaterThan(0);
        }
      });
      await pdf.close();
    },
  );

  test("a text stays inside its box, at the side asked for", async () => {
    const own = await openDocument({ title: "Boxes", language: "ar", direction: "rtl" });
    const page = own.addPage(105, 148);
    page.text("بغداد ".repeat(200), { x: 20, y: 10, width: 60, height: 20, size: 12 });
    const sides = ["start", "end", "left", "right", "center"] as const;
    sides.forEach((align, index) =>
      page.text("بغداد", { x: 20, y: 50 + index * 10, width: 60, size: 12, align })
    );
    const pdf = await openPdf(await own.save());
    const raster = await pdf.raster(1, 300);
    const full = inkBox(raster, 0, 0, 105, 45)!;
    expect(full.left).toBeGreaterThanOrEqual(19.9);
    expect(full.left).toBeLessThan(25);
    expect(full.right).toBeLessThanOrEqual(80.1);
    expect(full.top).toBeGreaterThanOrEqual(10);
    expect(full.bottom).toBeLessThanOrEqual(30);
    expect(full.bottom).toBeGreaterThan(20);
    const [start, end, left, right, center] = sides.map((_, index) => {
      const box = inkBox(raster, 0, 50 + index * 10, 105, 9)!;
      return [box.left - 20, 80 - box.right].map((gap) => gap < 1);
    });
    expect([start, end, left, right, center]).toEqual([
      [false, true],
      [true, false],
      [true, false],
      [false, true],
      [false, false],
    ]);
    await pdf.close();
  });

  test("the text can be copied out again", async () => {
    const own = await openDocument({ title: "Copy", language: "en" });
    own.addPage(105, 148).text("Zażółć 12", { x: 5, y: 5, size: 12 });
    const pdf = await openPdf(await own.save());
    expect(await pdf.text(1)).toBe("Zażółć 12");
    await pdf.close();
  });
});
