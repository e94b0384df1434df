import type { Adapter } from "./adapter.ts";

/** Adapters by the code of their carrier, loaded when first asked for. */
const adapters: Record<string, () => Promise<Adapter>> = {
  easypost: async () => (await import("./easypost.ts")).easypost(),
  simulated: async () => (await import("./simulated.ts")).simulated,
};

export async function adapterOf(code: string): Promise<Adapter | undefined> {
  return Object.hasOwn(adapters, code) ? await adapters[code]() : undefined;
}
