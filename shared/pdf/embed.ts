/** A face as a PDF font: the whole file once, widths and characters of the used glyphs only. */
import type { PDFContext, PDFRef } from "pdf-lib";
import { type Face, number } from "./faces.ts";
import { deflate } from "./zlib.ts";

/**
 * Registers `face` in the document and returns the font's reference. Glyphs are addressed by their
 * number (Identity-H); `characters` lists those that were used and what they stand for. The file goes in as it lies in font-data.ts, already compressed: taking only
 * the used glyphs would save some 50 KB and cost more time than all the text of twenty labels.
 */
export async function embedFace(
  pdf: typeof import("pdf-lib"),
  context: PDFContext,
  face: Face,
  characters: Map<number, number[]>,
): Promise<PDFRef> {
  const { name, metrics } = face;
  const { zlib, length } = face.file;
  const file = context.register(
    pdf.PDFRawStream.of(
      context.obj({ Length: zlib.length, Length1: length, Filter: "FlateDecode" }),
      zlib,
    ),
  );
  const descriptor = context.register(context.obj({
    Type: "FontDescriptor",
    FontName: name,
    Flags: 4, // symbolic: glyphs by number, no built-in encoding
    FontBBox: metrics.box.map(Math.round),
    ItalicAngle: 0,
    Ascent: Math.round(metrics.ascent),
    Descent: Math.round(metrics.descent),
    CapHeight: Math.round(metrics.capHeight),
    StemV: face.weight === "bold" ? 140 : 80,
    FontFile2: file,
  }));
  const ids = [...characters.keys()].sort((a, b) => a - b);
  const widths = ids.flatMap((id) => [
    pdf.PDFNumber.of(id),
    context.obj([Number(number(face.advance(id)))]),
  ]);
  const descendant = context.register(context.obj({
    Type: "Font",
    Subtype: "CIDFontType2",
    BaseFont: name,
    CIDToGIDMap: "Identity",
    CIDSystemInfo: {
      Registry: pdf.PDFString.of("Adobe"),
      Ordering: pdf.PDFString.of("Identity"),
      Supplement: 0,
    },
    FontDescriptor: descriptor,
    DW: 0,
    W: context.obj(widths),
  }));
  return context.register(context.obj({
    Type: "Font",
    Subtype: "Type0",
    BaseFont: name,
    Encoding: "Identity-H",
    DescendantFonts: [descendant],
    ToUnicode: await embedStream(pdf, context, toUnicode(ids, characters)),
  }));
}

/** Registers a compressed stream. */
export async function embedStream(
  pdf: typeof import("pdf-lib"),
  context: PDFContext,
  text: string,
): Promise<PDFRef> {
  const packed = await deflate(text);
  const dictionary = context.obj({ Length: packed.length, Filter: "FlateDecode" });
  return context.register(pdf.PDFRawStream.of(dictionary, packed));
}

/** The CMap that lets a reader copy and search: glyph number → characters in UTF-16BE. */
function toUnicode(used: number[], characters: Map<number, number[]>): string {
  const ids = used.filter((id) => characters.get(id)!.length > 0);
  const lines = [
    "/CIDInit /ProcSet findresource begin",
    "12 dict begin begincmap",
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
    "/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
    "1 begincodespacerange <0000> <ffff> endcodespacerange",
  ];
  // A section of a CMap holds at most 100 entries (Adobe Technical Note 5014).
  for (let start = 0; start < ids.length; start += 100) {
    const section = ids.slice(start, start + 100);
    lines.push(`${section.length} beginbfchar`);
    for (const id of section) lines.push(`<${hex(id)}> <${utf16(characters.get(id)!)}>`);
    lines.push("endbfchar");
  }
  lines.push("endcmap CMapName currentdict /CMap defineresource pop end end");
  return lines.join("\n");
}

function utf16(codePoints: number[]): string {
  const text = String.fromCodePoint(...codePoints);
  return Array.from({ length: text.length }, (_, index) => hex(text.charCodeAt(index))).join("");
}

function hex(value: number): string {
  return value.toString(16).padStart(4, "0");
}
