/** Renders labels under Deno: `{ labels, options }` as JSON on standard input, the PDF out. */
import { renderLabels } from "../../functions/delivery/shipment-labels/label-page.ts";

const { labels, options } = await new Response(Deno.stdin.readable).json();
const bytes = await renderLabels(labels, options);
await new Blob([bytes]).stream().pipeTo(Deno.stdout.writable);
