import type { Adapter, Credentials } from "./adapter.ts";

interface Registered {
  /**
   * True only for a carrier that certainly collects the cash it is asked for and reports `delivered` for nothing else: its
   * report books the money as taken.
   */
  collectsCash: boolean;
  /** The credentials without which it cannot be enabled. */
  needs: readonly (keyof Credentials)[];
  /** The adapter, loaded when first asked for. */
  load(): Promise<Adapter>;
}

/** The external carriers, by their code. */
const carriers: Record<string, Registered> = {
  easypost: {
    // It hands `cod_amount` on where a carrier supports that, says neither which do nor in which currency, and no
    // shipment or tracker says that cash was taken.
    collectsCash: false,
    needs: ["initial_token"],
    load: async () => (await import("./easypost.ts")).easypost(),
  },
  simulated: {
    collectsCash: true,
    needs: [],
    load: async () => (await import("./simulated.ts")).simulated,
  },
};

const registered = (code: string): Registered | undefined =>
  Object.hasOwn(carriers, code) ? carriers[code] : undefined;

export async function adapterOf(code: string): Promise<Adapter | undefined> {
  return await registered(code)?.load();
}

/** Whether a carrier collects cash at the door; one without an adapter does not. */
export function collectsCash(code: string): boolean {
  return registered(code)?.collectsCash ?? false;
}

/** The credentials that a carrier needs and these are without, as the interface names them; one that is empty is missing. */
export function missingCredentials(code: string, credentials: Credentials): string[] {
  const needs = registered(code)?.needs ?? [];
  return needs.filter((name) => !credentials[name]?.trim()).map((name) => `credentials.${name}`);
}
