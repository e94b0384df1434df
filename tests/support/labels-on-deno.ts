/** Renders labels under Deno: `{ labels, options }` as JSON on standard input, the PDF out. */
import { renderLabels } from "../../functions/delivery/shipment-labels/label-page.ts";

const { labels, options } = await new Response(Deno.stdin.readable).json();
const bytes = await renderLabels(labels, options);
// fontkit needs this accessor while it loads; nothing else may ever see it.
if ("__proto__" in Object.prototype) throw new Error("Object.prototype.__proto__ was left behind");
await new Blob([bytes]).stream().pipeTo(Deno.stdout.writable);
