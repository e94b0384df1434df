/** The totals of the day's responses, compared with Barid's reports at the end. */

export interface OfDriver {
  name: string;
  /** Deliveries that ended with this driver; a parcel in legs counts with its last one. */
  ended: number;
  /** Legs of parcels that this driver carried. */
  legs: number;
  delivered: number;
  /** Fees and COD of what the driver brought to a door. */
  value: number;
  collections: number;
  collected: number;
  remitted: number;
  byWallet: number;
  /** The rest of the wallet's top-up. */
  wallet: number;
}

export interface Units {
  available: number;
  reserved: number;
  damaged: number;
}

/** Totals of one day; nothing in it depends on ids or on the clock. */
export class Count {
  readonly drivers = new Map<string, OfDriver>();
  readonly stock: Record<"main" | "second", Units> = {
    main: { available: 0, reserved: 0, damaged: 0 },
    second: { available: 0, reserved: 0, damaged: 0 },
  };
  readonly wallets = { institution: 0, merchant: 0, buyers: 0 };
  /** The merchant's COD that drivers keep till tomorrow, by its row of cash. */
  readonly held = new Map<string, number>();
  /** The net of payouts to the merchant. */
  paidOut = 0;
  /** Events that subscribers should hear of, by type. */
  readonly events: Record<string, number> = {};
  /** Parcels that this run ordered, legs left out. */
  readonly parcels = new Set<string>();
  readonly numbers = {
    manifests: 0,
    items: 0,
    scanned: 0,
    orders: 0,
    proofs: 0,
    assignments: 0,
    settlements: 0,
    purchases: 0,
    sold: 0,
    waybills: 0,
    sorted: 0,
    received: 0,
  };

  driver(id: string): OfDriver {
    const found = this.drivers.get(id);
    if (!found) throw new Error(`no driver ${id}`);
    return found;
  }

  hired(id: string, name: string): void {
    this.drivers.set(id, {
      name,
      ended: 0,
      legs: 0,
      delivered: 0,
      value: 0,
      collections: 0,
      collected: 0,
      remitted: 0,
      byWallet: 0,
      wallet: 0,
    });
  }

  ordered(parcel: string): void {
    this.parcels.add(parcel);
    this.heard("delivery.created");
  }

  heard(type: string, times = 1): void {
    this.events[type] = (this.events[type] ?? 0) + times;
  }

  /** Cash that a driver took; nothing is no collection. */
  took(id: string, amount: number): void {
    if (!amount) return;
    const driver = this.driver(id);
    driver.collections++;
    driver.collected += amount;
  }
}
