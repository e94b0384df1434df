/**
 * Documents with text in English, Arabic and Kurdish (Sorani), mixed as people write it.
 *
 * pdf-lib writes the file; bidi-js orders the characters, HarfBuzz shapes them, and this module
 * places every glyph itself: pdf-lib's own drawText ignores the offsets of dots and marks, and
 * turns Latin and digits inside right-to-left text around.
 *
 * Lengths are millimetres from the top left corner of the page, font sizes are points.
 */
import type { Bidi } from "bidi-js";
import { type Block, fitBlock } from "./block.ts";
import { isolate, readable } from "./characters.ts";
import { embedFace, embedStream } from "./embed.ts";
import { type Face, loadFaces, number, type Weight } from "./faces.ts";
import { type Direction, directionOf, layoutLine, type Line } from "./line.ts";

export { type Direction, isolate, type Weight };

export type TextStyle = {
  /** Points. */
  size: number;
  /** Default "regular". */
  weight?: Weight;
  /** Base direction; default "auto": of the first letter, else the document's. */
  direction?: Direction;
};

export type TextBox = TextStyle & {
  /** Left edge of the box and top of its first line; without `width`, x is the point of `align`. */
  x: number;
  y: number;
  width?: number;
  height?: number;
  /** Centres the lines in `height`. */
  middle?: boolean;
  /** "start" and "end" follow the text's direction. Default "start". */
  align?: "start" | "end" | "center" | "left" | "right";
  /** Most lines; default 1, or as many as `height` takes when that is given. */
  lines?: number;
  /** With it, a text that does not fit is first shrunk, down to this many points. */
  size_min?: number;
  /** Height of a line as a multiple of the size; default 1.4, which Arabic marks need. */
  leading?: number;
  /** 0 is black (default), 1 is white. */
  gray?: number;
};

/** The drawn text: size in points, width and height of the lines in millimetres. */
export type Drawn = {
  size: number;
  width: number;
  height: number;
  lines: number;
  truncated: boolean;
};

export type Rectangle = { x: number; y: number; width: number; height: number };

export type Page = {
  /** Draws text so that it never leaves its box: wraps, shrinks, then ends in an ellipsis. */
  text(text: string, box: TextBox): Drawn;
  /** Fills rectangles in one go; 0 is black (default), 1 is white. */
  fill(rectangles: Rectangle[], gray?: number): void;
};

export type TextDocument = {
  /** Width of the text on one line, in millimetres. */
  measure(text: string, style: TextStyle): number;
  /** One line as it would be drawn: runs and glyphs from left to right. */
  line(text: string, style: Omit<TextStyle, "size">): Line;
  /** Adds a page; sizes in millimetres. */
  addPage(width: number, height: number): Page;
  /** Ends the document. Call it once. */
  save(): Promise<Uint8Array>;
};

/** Points in a millimetre. */
export const millimetre = 72 / 25.4;
/**
 * Ink of the face around the baseline, as parts of the size: capitals, alef and its marks above;
 * the bowls of ی and ع below. A line's leading is shared out evenly around it.
 */
const ink = { above: 0.87, below: 0.34 };
/** Height of a line as a multiple of the size: what Arabic marks above and below need. */
const leading_default = 1.4;

/** The library in one file: its hundreds of modules take two and a half times as long to load. */
async function loadPdfLib(): Promise<typeof import("pdf-lib")> {
  // @ts-ignore: only the package's main module has types; this is the same.
  return await import("pdf-lib/dist/pdf-lib.js");
}

/**
 * Opens a document. `direction` is the one of texts without letters, `language` (BCP 47) and
 * `title` are what a reader program announces. The fonts are loaded once per process.
 */
export async function openDocument(
  { title, language, direction = "ltr" }: {
    title: string;
    language: string;
    direction?: "ltr" | "rtl";
  },
): Promise<TextDocument> {
  const [faces, pdf, bidiModule, { default: transliterate }] = await Promise.all([
    loadFaces(),
    loadPdfLib(),
    import("bidi-js"),
    import("any-ascii"),
  ]);
  // The package is CommonJS without an `exports` field, which type checkers read as a namespace.
  const bidi = (bidiModule.default as unknown as () => Bidi)();
  const file = await pdf.PDFDocument.create({ updateMetadata: false });
  file.setTitle(title, { showInWindowTitleBar: true });
  file.setLanguage(language);
  file.setProducer("Barid");
  const used: Record<Weight, Map<number, number[]>> = { regular: new Map(), bold: new Map() };
  const pages: { operators: string[]; width: number; height: number }[] = [];

  const clean = (face: Face, text: string) => readable(text, face.has, transliterate);
  const layoutFor = (face: Face, text: string, wished: Direction = "auto") => {
    const chosen = wished === "auto" ? directionOf(text, direction) : wished;
    return (part: string) => layoutLine(bidi, face, part, chosen);
  };
  const oneLine = (text: string, { weight = "regular", direction }: Omit<TextStyle, "size">) => {
    const cleaned = clean(faces[weight], text).replace(/\s*\n\s*/g, " ");
    return layoutFor(faces[weight], cleaned, direction)(cleaned);
  };

  const fit = (text: string, box: TextBox): Block => {
    const face = faces[box.weight ?? "regular"];
    const cleaned = clean(face, text);
    return fitBlock(cleaned, {
      width: box.width === undefined ? Infinity : box.width * millimetre,
      height: box.height === undefined ? undefined : box.height * millimetre,
      lines_max: box.lines ?? (box.height === undefined ? 1 : Infinity),
      leading: box.leading ?? leading_default,
      size: box.size,
      size_min: box.size_min ?? box.size,
    }, layoutFor(face, cleaned, box.direction));
  };

  const drawText = (page: typeof pages[number], text: string, box: TextBox): Drawn => {
    const { weight = "regular", leading = leading_default, gray = 0 } = box;
    const block = fit(text, box);
    const { size } = block;
    const result = drawn(block, leading);
    const spare = box.middle && box.height !== undefined ? box.height - result.height : 0;
    const first = (box.y + Math.max(0, spare / 2)) * millimetre;
    const commands = [`BT ${number(gray)} g /${weight} 1 Tf`];
    block.lines.forEach((line, index) => {
      for (const run of line.runs) {
        for (const { id, codePoints } of run.glyphs) {
          if (codePoints.length > 0 || !used[weight].has(id)) used[weight].set(id, codePoints);
        }
      }
      const x = box.x * millimetre + indent(line, box, size);
      const top = first + (index * leading + (leading + ink.above - ink.below) / 2) * size;
      const y = page.height * millimetre - top;
      const scale = number(size);
      const operands = line.runs.map((run) => run.operands).join("").replaceAll("><", "");
      commands.push(`${scale} 0 0 ${scale} ${number(x)} ${number(y)} Tm[${operands}]TJ`);
    });
    commands.push("ET");
    if (block.lines.length > 0) page.operators.push(commands.join("\n"));
    return result;
  };

  return {
    measure: (text, style) => oneLine(text, style).width * style.size / 1000 / millimetre,
    line: oneLine,
    addPage(width, height) {
      const page = { operators: [] as string[], width, height };
      pages.push(page);
      return {
        text: (text, box) => drawText(page, text, box),
        fill(rectangles, gray = 0) {
          const paths = rectangles.map((rectangle) => path(rectangle, height));
          page.operators.push(`${number(gray)} g\n${paths.join("\n")}\nf`);
        },
      };
    },
    async save() {
      const { context } = file;
      const fonts: Record<string, unknown> = {};
      for (const weight of ["regular", "bold"] as const) {
        if (used[weight].size === 0) continue;
        fonts[weight] = await embedFace(pdf, context, faces[weight], used[weight]);
      }
      // One dictionary for all pages: a page then costs its own drawing and a few words.
      const resources = context.register(context.obj({ Font: fonts as never }));
      for (const { operators, width, height } of pages) {
        const page = file.addPage([width * millimetre, height * millimetre]);
        page.node.set(pdf.PDFName.of("Resources"), resources);
        const content = await embedStream(pdf, context, operators.join("\n"));
        page.node.set(pdf.PDFName.of("Contents"), content);
      }
      return await file.save({ addDefaultPage: false });
    },
  };
}

/** Points from the box's left edge (or, without a width, from x) to where the line begins. */
function indent(line: Line, { align = "start", width }: TextBox, size: number): number {
  const room = (width === undefined ? 0 : width * millimetre) - line.width * size / 1000;
  if (align === "center") return room / 2;
  const right = align === "right" || align === (line.direction === "rtl" ? "start" : "end");
  return right ? room : 0;
}

function path({ x, y, width, height }: Rectangle, page_height: number): string {
  const bottom = (page_height - y - height) * millimetre;
  const numbers = [x * millimetre, bottom, width * millimetre, height * millimetre];
  return `${numbers.map(number).join(" ")} re`;
}

function drawn({ lines, size, truncated }: Block, leading: number): Drawn {
  const widest = Math.max(0, ...lines.map((line) => line.width));
  return {
    size,
    width: widest * size / 1000 / millimetre,
    height: lines.length * size * leading / millimetre,
    lines: lines.length,
    truncated,
  };
}
