/** How a call is made that becomes an example in the API reference. */
import type { Person } from "../../support/api.ts";
import { type Everything, newEverything, type Things } from "../../support/everything.ts";
import { newSystemAdmin, type Part } from "../../support/people.ts";

/** Somewhere to call: a tenant with everything once, and the administrator of the system. */
export interface World extends Everything {
  system: Person;
}

/** The world's part of a call that was made for it alone. */
export interface Prepared extends Partial<Omit<World, "things">> {
  caller?: Person;
  things?: Partial<Things>;
}

export interface Call {
  /** The tenant's administrator unless said. */
  by?: Part | "system" | "nobody";
  /** In a world of its own: what was done before would be in its way, or what it does in that of the others. */
  alone?: "draft" | "received";
  /** Prepares the call, and answers what it names instead of what the world has. */
  before?: (world: World) => Promise<Prepared>;
  body?: (things: Things, world: World) => unknown;
  /** Parameters of the path that are no ids of the world. */
  params?: (things: Things) => Record<string, string>;
  query?: (things: Things) => Record<string, string>;
  headers?: (things: Things, body: string) => Record<string, string>;
  /** Puts back what others of the system would notice. */
  after?: (world: World) => Promise<unknown>;
}

/** The calls of an area, by the names of their operations. */
export type Calls = Readonly<Record<string, Call>>;

export async function newWorld(manifest: "draft" | "received"): Promise<World> {
  const [everything, system] = await Promise.all([newEverything(manifest), newSystemAdmin()]);
  return { ...everything, system };
}
