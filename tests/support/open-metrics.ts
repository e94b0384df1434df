/** The answer of GET /system/metrics as tests read it. */
import { Buffer } from "node:buffer";

/** The text of an answer. */
export const textOf = (body: unknown) => Buffer.from(body as Uint8Array).toString();

/** Every sample of a text by its series: the name with its labels. */
export function samplesOf(text: string): Map<string, number> {
  return new Map(
    text.split("\n").filter((line) => line && !line.startsWith("#")).map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}
