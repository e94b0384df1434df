/** The request that each operation of the model is. */
import { home, orderOf } from "../../support/orders.ts";
import type { Asked } from "../caller.ts";
import type { Place } from "../world.ts";
import type { Of, Op, Place as Destination } from "./state.ts";

/** The second warehouse of the shop. */
export interface Second {
  warehouse: string;
  bin: string;
}

/** The records that the names of the model mean. */
interface Names {
  place: Place;
  second: Second;
  ids: Record<string, string>;
  places: Record<Destination, string>;
  owners: Record<string, string>;
}

export function requestOf(op: Op, names: Names): Asked {
  const { place, ids } = names;
  const by = (token: string, path: string, body: unknown, method = "POST"): Asked => ({
    token,
    method,
    path,
    body,
  });
  const admin = (path: string, body: unknown, method?: string) =>
    by(place.admin.token, path, body, method);
  const desk = (path: string, body: unknown) => by(place.dispatcher.token, path, body);
  const stock = (path: string, body: unknown, method?: string) =>
    by(place.ops.token, `/warehousing/${path}`, body, method);
  const orders = "/storefront/orders";
  switch (op.type) {
    case "settle": {
      const driver = place.drivers[op.driver];
      return by(
        op.office ? place.dispatcher.token : driver.token,
        `/delivery/cod-collections/${op.way}`,
        op.rows === "all"
          ? { scope: "all", driver_id: driver.id }
          : { scope: "selected", cod_collection_ids: op.rows.map((name) => ids[name]) },
      );
    }
    case "unsettle":
      return admin(`/delivery/cod-settlements/${ids[op.settlement]}/reverse`, {
        reason: "model",
      });
    case "count":
      return desk("/delivery/cod-collections/handover", {
        driver_id: place.drivers[op.driver].id,
        amount: op.declared,
        counted_amount: op.counted,
      });
    case "resolve":
      return desk(`/delivery/cod-collections/handovers/${ids[op.name]}/resolve`, {
        resolution: op.way,
        ...(op.way === "recounted" ? { counted_amount: op.declared } : {}),
      });
    case "deposit":
      return desk("/delivery/cash-desks/transfers", { kind: "bank_deposit", amount: op.amount });
    case "bring":
      return admin("/delivery/cash-desks/transfers", {
        kind: "handover",
        from_owner_type: "driver",
        from_user_id: place.drivers[op.driver].id,
        to_user_id: place.dispatcher.id,
        amount: op.amount,
      });
    case "unbring":
      return admin(`/delivery/cash-desks/transfers/${ids[op.transfer]}/reverse`, {
        reason: "model",
      });
    case "payDue":
      return desk(`/delivery/cash-desks/refunds/${ids[`due ${op.name}`] ?? ids[op.name]}/pay`, {
        reference: op.id,
      });
    case "unpay":
      return desk(`/delivery/cash-desks/transfers/${ids[op.payment]}/reverse`, {
        reason: "model",
      });
    case "payOut": {
      const pay = {
        driver_id: place.drivers[op.driver].id,
        method: op.wallet ? "wallet" : "cash",
      };
      return (op.wallet ? admin : desk)("/delivery/driver-pay/payouts", pay);
    }
    case "unpayOut":
      return admin(`/delivery/driver-pay/payouts/${ids[op.payout]}/reverse`, { reason: "model" });
    case "adjust":
      return admin(`/delivery/wallets/${place.drivers[op.driver].wallet}/adjust`, {
        amount: op.amount,
        direction: op.credit ? "credit" : "debit",
        reason: "model",
      });
    case "step":
      return by(
        place.drivers[op.driver].token,
        `/delivery/deliveries/${ids[op.name]}/${op.what}`,
        op.what === "fail"
          ? { reason: "absent" }
          : op.what === "complete" && ids[`proof of ${op.name}`]
          ? { proof: { photo_urls: [ids[`proof of ${op.name}`]] } }
          : {},
      );
    case "outcome":
      return by(
        place.drivers[op.driver].token,
        `/delivery/deliveries/${ids[op.name]}/outcome`,
        { result: op.result, ...reported(op, ids) },
      );
    case "undo":
      return by(
        op.driver === null ? place.ops.token : place.drivers[op.driver].token,
        `/delivery/deliveries/${ids[op.name]}/outcome/undo`,
        { reason: "model" },
      );
    case "changeAmount":
      return by(
        op.byOwner ? names.owners[op.name] : place.ops.token,
        `/delivery/deliveries/${ids[op.name]}/amount-changes`,
        { cod_amount: op.cod, reason: "model" },
      );
    case "redirect":
      return by(place.ops.token, `/delivery/deliveries/${ids[op.name]}/redirect`, {
        dropoff_address_id: names.places[op.place],
        ...(op.charge ? { charge: "wallet" } : {}),
      });
    case "openStatement":
      return by(place.ops.token, "/delivery/merchant-statements", {
        owner_user_id: place.customers[op.customer].id,
      });
    case "payStatement":
      return (op.cash ? desk : admin)(`/delivery/merchant-statements/${ids[op.name]}/pay`, {
        method: op.cash ? "cash" : "bank",
      });
    case "reverseStatement":
      return admin(`/delivery/merchant-statements/${ids[op.name]}/reverse`, { reason: "model" });
    case "voidStatement":
      return admin(`/delivery/merchant-statements/${ids[op.name]}/void`, {});
    case "handOver":
      return by(
        place.ops.token,
        `/delivery/assignments/driver/${place.drivers[op.from].id}/hand-over`,
        { to_driver_id: place.drivers[op.to].id, delivery_ids: [ids[op.name]] },
      );
    case "confirm":
      return by(
        place.drivers[op.to].token,
        `/delivery/assignments/bulk/${ids[op.hand]}`,
        { status: op.accept ? "accepted" : "rejected" },
        "PUT",
      );
    case "receive":
    case "takeBack":
    case "writeOff":
      return stock(`inventory/${paths[op.type]}`, linesOf(op, place));
    case "correct": {
      const { warehouse, bin } = place.shelves[op.shelf];
      const where = { warehouse_id: warehouse, bin_id: bin, item_id: place.items[op.item] };
      return stock("inventory/adjustments", { ...where, delta: op.delta, reason: "model" });
    }
    case "transfer": {
      const [from, to] = [place.shelves[op.from], place.shelves[1 - op.from]];
      return stock("inventory-transfers", {
        source_warehouse_id: from.warehouse,
        destination_warehouse_id: to.warehouse,
        items: [{
          item_id: place.items[op.item],
          quantity: op.quantity,
          source_bin_id: from.bin,
          destination_bin_id: to.bin,
        }],
      });
    }
    case "restock": {
      const { warehouse, bin } = goodsAt(names, op.warehouse);
      return stock("inventory/receipts", {
        warehouse_id: warehouse,
        items: [{ item_id: place.shop.shelf.item, bin_id: bin, quantity: op.quantity }],
      });
    }
    case "pick": {
      const { warehouse, bin } = place.shelves[op.shelf];
      return stock("picking-orders", {
        warehouse_id: warehouse,
        order_type: "individual",
        status: "in_progress",
        item_details: [{ item_id: place.items[op.item], bin_id: bin, quantity: op.quantity }],
      });
    }
    case "move":
      return op.reported
        ? stock(`picking-orders/${ids[op.name]}/progress`, { status: op.to, items: [] })
        : stock(`picking-orders/${ids[op.name]}`, { status: op.to }, "PUT");
    case "report":
      return stock(`picking-orders/${ids[op.name]}/progress`, {
        status: op.to,
        items: [{
          item_id: place.items[op.item],
          bin_id: place.shelves[op.shelf].bin,
          picked_quantity: op.picked,
        }],
      });
    case "fetch":
      return stock(`picking-orders/${ids[`pick of ${op.name}`]}/progress`, {
        status: "completed",
        items: [{
          item_id: place.shop.shelf.item,
          bin_id: goodsAt(names, op.warehouse).bin,
          picked_quantity: op.found,
        }],
      });
    case "order":
      return by(
        place.customers[op.customer].token,
        `${orders}/confirm`,
        {
          ...orderOf(place.shop, ids[`cart ${op.name}`], op.wallet ? "wallet" : "cash"),
          // As far from one of the shop's warehouses as from the other.
          address: { ...home, lat: 33.31, long: 44.37 },
        },
      );
    case "approve":
      return admin(`${orders}/${ids[op.name]}/approve`, {}, "PUT");
    case "cancel":
      return admin(`${orders}/${ids[op.name]}/cancel`, { reason: "other" }, "PUT");
    case "acceptShort":
      return admin(`${orders}/${ids[op.name]}/accept-short`, undefined);
    case "putBack":
      return stock(
        `receiving-orders/${ids[`back ${op.name}`] ?? ids[op.name]}`,
        { status: "received", item_details: [{ bin_id: goodsAt(names, op.warehouse).bin }] },
        "PUT",
      );
  }
}

/** The fields of a result at the door. */
function reported({ name, result }: Of<"outcome">, ids: Names["ids"]) {
  switch (result) {
    case "partial":
      return { items: [{ delivery_item_id: ids[`item of ${name}`], quantity: 1 }] };
    case "exchanged":
      return { taken_back: [{ name: "Other thing", quantity: 1 }] };
    case "refused":
      return { reason_code: "refused" };
    case "postponed":
      return {
        reason_code: "postponed",
        postponed_to: new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10),
      };
  }
}

/** Where the shop's product lies in one of its two warehouses. */
function goodsAt({ place, second }: Names, warehouse: number): Second {
  return warehouse ? second : place.shop.shelf;
}

function linesOf(op: Of<"receive" | "takeBack" | "writeOff">, place: Place) {
  const { warehouse, bin } = place.shelves[op.shelf];
  return {
    warehouse_id: warehouse,
    ...(op.type === "receive" ? {} : { reason: "model" }),
    items: [{ item_id: place.items[op.item], bin_id: bin, quantity: op.quantity }],
  };
}

const paths = { receive: "receipts", takeBack: "returns", writeOff: "write-offs" } as const;
