/**
 * A system of a proof's own: a stack with two function processes, tenants with people, drivers, money, stock, and a shop.
 * Optionally behind faulty wires: before Postgres, and before each function process.
 */
import { freePort } from "../../supabase/local/ports.ts";
import type { Stack, StackOptions } from "../../supabase/local/stack.ts";
import { Person } from "../support/api.ts";
import { newDriver } from "../support/assignments.ts";
import { enable } from "../support/carriers.ts";
import { sql } from "../support/db.ts";
import { type Ground, newGround } from "../support/deliveries.ts";
import { type FaultyWire, startFaultyWire } from "../support/faulty-wire.ts";
import { perDelivery, setRule } from "../support/driver-pay.ts";
import { newAddress, newBranch, newProcessingPoint } from "../support/make.ts";
import { fundWallet, newService } from "../support/money.ts";
import { newShop, type Shop } from "../support/orders.ts";
import { takeCards } from "../support/payments.ts";
import { moveToOwnStack } from "../support/move-to-own-stack.ts";
import { newPerson, type Tenant } from "../support/people.ts";
import { newBin, newItem, newWarehouse, stockIn } from "../support/warehouses.ts";
import type { Ports } from "./caller.ts";

/** Pay of a driver for each delivery. */
export const deliveryPay = 250;

/** Somebody with a token that is known. */
export interface Member {
  id: string;
  token: string;
}

export interface DriverOf extends Member {
  wallet: string;
}

/** One tenant and what the proofs use of it. */
export interface Place {
  id: string;
  tenant: Tenant;
  shop: Shop;
  ground: Ground;
  admin: Member;
  ops: Member;
  dispatcher: Member;
  institution: Member;
  customers: Member[];
  drivers: DriverOf[];
  /** All drivers whom a search may ask: those, and others who are given nothing by hand. */
  crew: Member[];
  /** An external carrier that collects cash, and what it signs its reports with. */
  carrier: { code: string; secret: string };
  /** Where the deliveries of manifests go. */
  branch: string;
  /** Two warehouses with one bin each, and items in both. */
  shelves: { warehouse: string; bin: string }[];
  items: string[];
  /** A second warehouse for parcels. */
  there: string;
  /** Owners of COD, whose wallets hold nothing else. */
  merchants: Member[];
  /** A service that costs by distance, and an address that is far away. */
  roads: { service: string; far: string };
}

export interface World {
  stack: Stack;
  places: Place[];
  /** Of the functions; through the wires where there are some. */
  ports: Ports;
  /** Before Postgres. */
  database?: FaultyWire;
  /** Before each function process. */
  functions: FaultyWire[];
  stop(): Promise<void>;
}

export interface WorldOptions extends StackOptions {
  tenants?: number;
  drivers?: number;
  customers?: number;
  /** The initial balance of each driver's wallet. */
  funds?: number;
  /** Units of each item in each shelf. */
  units?: number;
  /** Faulty wires everywhere. */
  wires?: boolean;
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const { tenants = 1, wires = false, env, ...stackOptions } = options;
  const database = wires ? await startFaultyWire() : undefined;
  const dbPort = await freePort();
  if (database) database.target = dbPort;
  const behind: Record<string, string> = database
    ? { BARID_DB_URL: `postgresql://barid_api:barid-local@127.0.0.1:${database.port}/postgres` }
    : {};
  const { own: stack, leave } = await moveToOwnStack({
    workers: 2,
    dbPort,
    env: { BARID_LOG_LEVEL: "silent", BARID_DB_POOL: "8", ...behind, ...env },
    ...stackOptions,
  });
  const world: World = {
    stack,
    places: [],
    ports: () => stack.workers.candidates(),
    database,
    functions: [],
    async stop() {
      await leave();
      for (const wire of [...world.functions, ...database ? [database] : []]) wire.close();
    },
  };
  try {
    for (let n = 0; n < tenants; n++) world.places.push(await newPlace(stack, options));
    if (wires) {
      for (const port of stack.workers.candidates()) {
        const wire = await startFaultyWire();
        wire.target = port;
        world.functions.push(wire);
      }
      world.ports = () => world.functions.map(({ port }) => port);
    }
    return world;
  } catch (error) {
    await world.stop();
    throw error;
  }
}

/** A proof may last longer than a token of an ordinary sign-in, or its functions live two days ahead. */
export const lastingToken = (stack: Stack, id: string, tenant: string): Promise<string> =>
  stack.jwtSign({
    sub: id,
    app_metadata: { tenant_id: tenant },
    exp: Math.floor(Date.now() / 1000) + 4 * 86_400,
  });

/** A tenant with a shop, a warehouse for parcels, drivers with large vans, and two shelves of goods. */
export async function newPlace(
  stack: Stack,
  { drivers = 6, customers = 8, funds = 1_000_000, units = 1_000_000 }: WorldOptions = {},
): Promise<Place> {
  const made = await newShop({ stock: units });
  const lasting = await lastingToken(stack, made.tenant.admin.id, made.tenant.id);
  const tenant: Tenant = {
    ...made.tenant,
    admin: new Person(made.tenant.admin.id, made.tenant.id, () => Promise.resolve(lasting)),
  };
  const shop: Shop = { ...made, tenant };
  await takeCards(shop);
  const ground = await newGround(tenant);
  await setRule(tenant, perDelivery(deliveryPay));
  // Whatever comes back to its sender gives them their fee back.
  const roads = {
    service: await newService(tenant, { price_per_km: 100 }),
    far: await newAddress(tenant, { latitude: 33.41 }),
  };
  await newProcessingPoint(tenant, roads.far);
  await sql`update delivery.delivery_services set policy_mode = 'custom', allow_returns = true,
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}'
    where id in (${ground.service}, ${roads.service})`;
  const there = await newWarehouse(tenant);
  await newBin(tenant, there, { location_type: "RECEIVING", is_default_receiving: true });
  const member = async ({ id }: Person | { id: string }): Promise<Member> => ({
    id,
    token: await lastingToken(stack, id, tenant.id),
  });
  const crew: DriverOf[] = [];
  for (let n = 0; n < drivers; n++) {
    const { id } = await newDriver(tenant, { capacity: 10_000_000 });
    const wallet = await fundWallet(tenant, "driver", id, funds);
    crew.push({ ...await member({ id }), wallet });
  }
  const buyers: Member[] = [];
  for (let n = 0; n < customers; n++) {
    buyers.push(await member(await newPerson(tenant.id, "customer", "customer")));
  }
  const merchants = [await member(tenant.customer)];
  for (let n = 0; n < 3; n++) {
    merchants.push(await member(await newPerson(tenant.id, "customer", "customer")));
  }
  for (const { id } of buyers) await fundWallet(tenant, "customer", id, funds);
  await fundWallet(tenant, "institution", tenant.institution.id, 100_000_000);
  const shelves: Place["shelves"] = [];
  for (let n = 0; n < 2; n++) {
    const warehouse = await newWarehouse(tenant);
    shelves.push({ warehouse, bin: await newBin(tenant, warehouse) });
  }
  const items: string[] = [];
  for (let n = 0; n < 4; n++) {
    const item = await newItem(tenant);
    items.push(item);
    for (const { warehouse, bin } of units > 0 ? shelves : []) {
      await stockIn(tenant, {
        item_id: item,
        warehouse_id: warehouse,
        bin_id: bin,
        quantity: units,
      });
    }
  }
  return {
    id: tenant.id,
    tenant,
    shop,
    ground,
    admin: await member(tenant.admin),
    ops: await member(tenant.ops),
    dispatcher: await member(tenant.dispatcher),
    institution: await member(tenant.institution),
    customers: buyers,
    drivers: crew,
    crew: [...crew, await member(tenant.driver), await member(tenant.driver2)],
    carrier: { code: "simulated", secret: (await enable(tenant)).secret },
    branch: await newBranch(tenant),
    shelves,
    items,
    there,
    merchants,
    roads,
  };
}

/** A question to the database that is asked again while Postgres is away. Only for what may be repeated. */
export async function steadily<T>(question: () => Promise<T>, patienceMs = 60_000): Promise<T> {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      return await question();
    } catch (error) {
      const { code = "" } = error as { code?: string };
      const gone = /^(57P0|08|CONNECTION|CONNECT_TIMEOUT|ECONN|EPIPE)/.test(code);
      if (!gone || Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Deadlocks that the server has seen in the database so far. */
export async function deadlocks(): Promise<number> {
  const [row] = await sql`select pg_stat_clear_snapshot(), deadlocks from pg_stat_database
    where datname = current_database()`;
  return Number(row.deadlocks);
}
