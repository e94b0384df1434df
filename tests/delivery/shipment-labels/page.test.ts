import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { captions } from "../../../functions/delivery/shipment-labels/captions.ts";
import type { ShipmentLabel } from "../../../functions/delivery/shipment-labels/label.ts";
import { renderLabels } from "../../../functions/delivery/shipment-labels/label-page.ts";
import { size, some } from "../../prove/proof.ts";
import { overfull, samples, withManifest } from "../../support/labels.ts";
import { bytesOf, openPdf, type Raster, scan } from "../../support/pdf.ts";

const languages = ["en", "ar", "ku"] as const;
const brand = "Barid";

async function render(labels: ShipmentLabel[], language: typeof languages[number] = "en") {
  return await openPdf(await renderLabels(labels, { language, brand }));
}

/** Dark stretches along a line of pixels, as [start, length] in millimetres. */
function stretches(raster: Raster, from: number, to: number, dark: (at: number) => boolean) {
  const found: [number, number][] = [];
  let start = -1;
  for (let at = Math.round(from * raster.scale); at <= Math.round(to * raster.scale); at++) {
    if (dark(at) && start < 0) start = at;
    if (!dark(at) && start >= 0) {
      found.push([start / raster.scale, (at - start) / raster.scale]);
      start = -1;
    }
  }
  return found;
}

const isDark = ({ data, width }: Raster, x: number, y: number) => data[(y * width + x) * 4] < 128;

describe("order", () => {
  test("page n is the label of the n-th of 60 shuffled deliveries", async () => {
    let state = 11;
    const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
    const codes = Array.from({ length: 60 }, (_, index) => 1048000 + index)
      .map((code) => ({ code, place: random() })).sort((a, b) => a.place - b.place)
      .map(({ code }) => code);
    expect(codes).not.toEqual([...codes].sort());
    const pdf = await render(codes.map((code, index) => ({
      ...(index % 3 ? samples.ku : withManifest(samples.ar)),
      delivery_code: code,
      barcode: `DLV-${code}`,
    })));
    expect(pdf.pages).toBe(60);
    for (const [index, code] of codes.entries()) {
      if (size !== "brief" || index % 20 === 0) {
        expect(await scan(await pdf.raster(index + 1))).toEqual([`DLV-${code}`]);
      }
      expect(await pdf.text(index + 1)).toContain(String(code));
    }
    await pdf.close();
  }, 180_000);
});

describe("barcode", () => {
  const barcodes = ["DLV-1048213", "12345678901234", "a", "ABCDEFGH-1234567890-XY", 'A~ 1;{}"\\'];
  test.each(barcodes)(
    "%s is scanned back and keeps the measures of the standard",
    async (barcode) => {
      for (const language of some(languages, barcodes.indexOf(barcode))) {
        const pdf = await render([{ ...samples[language], barcode }], language);
        const raster = await pdf.raster(1, 600);
        expect(await scan(await pdf.raster(1))).toEqual([barcode]);

        const y = Math.round(127 * raster.scale);
        const bars = stretches(raster, 0, 104, (x) => isDark(raster, x, y));
        const module = Math.min(...bars.map(([, width]) => width));
        expect(module).toBeGreaterThanOrEqual(0.33 - 1 / raster.scale);
        const [first] = bars[0];
        const last = bars.at(-1)!;
        const [, bar_height] = stretches(
          raster,
          110,
          147,
          (at) => isDark(raster, Math.round((first + 0.2) * raster.scale), at),
        )
          .find(([, height]) => height > 5)!;
        expect(bar_height).toBeGreaterThanOrEqual(15);
        expect(raster.ink(first - 10 * module, 120, 10 * module - 0.1, 15)).toBe(0);
        expect(raster.ink(last[0] + last[1] + 0.1, 120, 10 * module - 0.1, 15)).toBe(0);
        await pdf.close();
      }
    },
  );

  test.each(["X".repeat(22), "1".repeat(44), `Ab_-${"x7".repeat(30)}`])(
    "%s is too long for bars, and is scanned back from a QR code",
    async (barcode) => {
      for (const language of some(languages, barcode.length)) {
        const pdf = await render([{ ...samples[language], barcode }], language);
        expect(await scan(await pdf.raster(1))).toEqual([barcode]);
        await pdf.close();
      }
    },
  );

  test("one that cannot be printed or scanned is refused by name", async () => {
    for (const barcode of ["", "باركود", "tab\t"]) {
      const labels = [samples.en, { ...samples.en, barcode }];
      const rendered = renderLabels(labels, { language: "en", brand });
      await expect(rendered).rejects.toThrow(RangeError);
      await expect(rendered).rejects.toThrow(JSON.stringify(barcode));
    }
  });
});

describe("templates", () => {
  test("only a manifest label names manifest, institution, branch and item", async () => {
    const manifest = withManifest(samples.en);
    const pdf = await render([manifest, { ...manifest, template: "shipment_label" }]);
    const [with_manifest, without] = [await pdf.text(1), await pdf.text(2)];
    for (
      const value of [
        "TM-000218",
        "General Post Company",
        "Erbil Central (EBL-01)",
        "40012345678905",
      ]
    ) {
      expect(with_manifest).toContain(value);
      expect(without).not.toContain(value);
    }
    await pdf.close();
  });

  test("every field is on the page, and cash only when there is any", async () => {
    const pdf = await render([samples.en, { ...samples.en, cod_amount: null, payer: "sender" }]);
    const [cod, none] = [await pdf.text(1), await pdf.text(2)];
    for (
      const value of [
        ...["Zagros Express", "Same day", "1048213", "DLV-1048213", "2026-11-21", "Medium", brand],
        ...["Mustafa Al-Jubouri", "+964 770 123 4567", "Karrada Inside, District 905", "Baghdad"],
        ...["Naz Boutique", "+964 750 111 2233", "Erbil, Bakhtiyari, 40 m Street, shop 12"],
        ...["25,000 IQD", "Receiver", "Notes: Call before arrival."],
      ]
    ) expect(cod).toContain(value);
    expect(none).not.toContain("IQD");
    expect(none).toContain("No cash on delivery");
    expect(none).toContain("Sender");
    await pdf.close();
  });

  test("pages are A6, mirrored for Arabic and Kurdish", async () => {
    for (const language of languages) {
      const pdf = await render([samples[language]], language);
      const { width, height } = await pdf.size(1);
      expect([Math.round(width * 10), Math.round(height * 10)]).toEqual([1050, 1480]);
      const raster = await pdf.raster(1);
      const [left, right] = [raster.ink(5, 8, 1, 3), raster.ink(99, 8, 1, 3)];
      // The service stands in a black box at the end of the first line.
      if (language === "en") expect(left).toBeLessThan(right / 2);
      else expect(right).toBeLessThan(left / 2);
      await pdf.close();
    }
  });

  test.each(languages)(
    "a parcel that goes nowhere is marked beside its city (%s)",
    async (language) => {
      const marks = ["draft", "cancelled", "delivered", "returned"] as const;
      const labels = marks.map((mark) => ({ ...samples[language], mark }));
      const pdf = await render([samples[language], ...labels], language);
      const plain = await pdf.raster(1);
      for (const [index, mark] of marks.entries()) {
        const words = (await pdf.text(index + 2)).normalize("NFKC");
        if (language === "en") expect(words).toContain(captions.en[mark]);
        const raster = await pdf.raster(index + 2);
        const x = language === "en" ? 57 : 6;
        expect(plain.ink(x, 16, 42, 3)).toBe(0);
        expect(raster.ink(x, 16, 42, 3)).toBeGreaterThan(0.9 * 42 * 3 * plain.scale ** 2);
      }
      await pdf.close();
    },
  );

  test("captions are translated", () => {
    for (const language of ["ar", "ku"] as const) {
      for (const [key, text] of Object.entries(captions[language])) {
        expect(text, key).not.toBe(captions.en[key as keyof typeof captions.en]);
        expect(text.trim(), key).toMatch(/^[\p{Script=Arabic}\u060c ]+$/u);
      }
    }
    expect(Object.keys(captions.ku)).toEqual(Object.keys(captions.en));
    expect(Object.keys(captions.ar)).toEqual(Object.keys(captions.en));
  });
});

describe("room", () => {
  test.each(languages)("texts far too long never leave their place (%s)", async (language) => {
    for (const separator of some([" ", ""], languages.indexOf(language))) {
      const label = overfull(samples[language], separator);
      const labels = [label, { ...label, template: "manifest_shipment_label" as const }];
      const pdf = await render(labels, language);
      for (const number of [1, 2]) {
        const raster = await pdf.raster(number, 300);
        expect(raster.ink(0, 0, 3.8, 148)).toBe(0);
        expect(raster.ink(101.2, 0, 3.8, 148)).toBe(0);
        expect(raster.ink(0, 0, 105, 3.8)).toBe(0);
        // Nothing touches the bars, and the small print below them is the last thing on the page.
        expect(raster.ink(0, 118.2, 105, 0.7)).toBe(0);
        expect(raster.ink(0, 146, 105, 2)).toBe(0);
        expect(await scan(raster)).toEqual([label.barcode]);

        const rules = stretches(raster, 4, 118, (y) => {
          let dark = 0;
          for (let x = 0; x < raster.width; x++) if (isDark(raster, x, y)) dark++;
          return dark > 0.95 * 97 * raster.scale;
        });
        expect(rules.length).toBe(number === 1 ? 6 : 7);
        for (const [y, thickness] of rules) {
          // Only the lines between columns may come near a rule: three of 0.25 mm at the most.
          const columns = 3 * 0.4 * 0.25 * raster.scale ** 2;
          expect(raster.ink(0, y - 0.3, 105, 0.2)).toBeLessThanOrEqual(columns);
          expect(raster.ink(0, y + thickness + 0.1, 105, 0.2)).toBeLessThanOrEqual(columns);
        }
      }
      await pdf.close();
    }
  }, 180_000);

  test("missing values and strange names still give a label", async () => {
    const nobody = { name: "张伟 😀 \u0000\ud800", phone: null, address: null, city: null };
    const pdf = await render([{
      ...withManifest(samples.ku),
      sender: { ...nobody, name: "" },
      recipient: nobody,
      service_name: null,
      unit_size: null,
      notes: null,
      manifest: null,
    }], "ku");
    expect(await pdf.text(1)).toContain("ZhangWei :grinning: \ufffd");
    expect(await scan(await pdf.raster(1))).toEqual(["12345678901234"]);
    await pdf.close();
  });

  test("no labels are refused", async () => {
    await expect(renderLabels([], { language: "en", brand })).rejects.toThrow(RangeError);
  });
});

test("Deno, which the functions run on, renders the same pages", async () => {
  const labels = [samples.en, withManifest(samples.ar), samples.ku, overfull(samples.ku, " ")];
  const options = { language: "ku", brand } as const;
  const run = spawnSync(
    "node_modules/.bin/deno",
    [
      "run",
      "--config",
      "deno.json",
      "--allow-read",
      "--allow-env",
      "tests/support/labels-on-deno.ts",
    ],
    {
      input: JSON.stringify({ labels, options }),
      maxBuffer: 2 ** 26,
      env: { ...process.env, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    },
  );
  expect(run.stderr.toString()).toBe("");
  const [there, here] = [await openPdf(bytesOf(run.stdout)), await render(labels, "ku")];
  expect(there.pages).toBe(labels.length);
  for (let number = 1; number <= labels.length; number++) {
    const [a, b] = [await there.raster(number), await here.raster(number)];
    expect(a.data.length).toBe(b.data.length);
    expect(a.data.findIndex((value, index) => value !== b.data[index])).toBe(-1);
  }
  await Promise.all([there.close(), here.close()]);
}, 180_000);
