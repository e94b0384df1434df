/** The people who ask for operations, and the records that the names of the model mean. */
import type { Asked } from "../../caller.ts";
import type { Place } from "../../world.ts";
import type { Of, Op, Place as Destination } from "../ops.ts";

/** The second warehouse of the shop. */
export interface Second {
  warehouse: string;
  bin: string;
}

/** The records that the names of the model mean. */
export interface Names {
  place: Place;
  second: Second;
  /** Where parcels wait, and goods are on sale that came back there. */
  third: Second;
  ids: Record<string, string>;
  places: Record<Destination, string>;
  owners: Record<string, string>;
}

type Ask = (path: string, body: unknown, method?: string) => Asked;

/** The names, and those who ask. */
export interface Asks extends Names {
  by(token: string, path: string, body: unknown, method?: string): Asked;
  admin: Ask;
  ops: Ask;
  desk: Ask;
  /** By operations, under `/warehousing`. */
  stock: Ask;
}

/** The request of each of these operations. */
export type Requests<T extends Op["type"]> = { [K in T]: (op: Of<K>, asks: Asks) => Asked };

export function asksOf({ place, second, third, ids, places, owners }: Names): Asks {
  const by: Asks["by"] = (token, path, body, method = "POST") => ({ token, method, path, body });
  const of = (token: string): Ask => (path, body, method) => by(token, path, body, method);
  const ops = of(place.ops.token);
  return {
    ...{ place, second, third, ids, places, owners, by, ops },
    admin: of(place.admin.token),
    desk: of(place.dispatcher.token),
    stock: (path, body, method) => ops(`/warehousing/${path}`, body, method),
  };
}

/** Where the shop's product lies in one of its warehouses. */
export function goodsAt({ place, second, third }: Asks, warehouse: number): Second {
  return [place.shop.shelf, second, third][warehouse];
}
