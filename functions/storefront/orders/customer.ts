import type { z } from "zod";
import { AppError } from "../../../shared/errors/errors.ts";
import { type AnyEndpoint, endpoint, status } from "../../../shared/api/endpoint.ts";
import { translate } from "../../../shared/i18n/index.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { measureFirst } from "../../../shared/routing/measured.ts";
import { checkPayment, openPayment, returnTo } from "../../../shared/payment-gateways/checkout.ts";
import { isCustomer } from "../access.ts";
import { myOrders } from "./list.ts";
import { inEveryList } from "./listed.ts";
import {
  Confirm,
  ConfirmResponse,
  type CustomerOrder,
  MyOrdersResponse,
  PaymentStatusResponse,
} from "./schemas.ts";

type Order = z.output<typeof CustomerOrder>;

interface Confirmed extends Record<string, unknown> {
  order: Order;
  payment_type: "wallet" | "cash_on_delivery" | "gateway";
  payment_id: string | null;
  is_new?: true;
}

/** The customer's part in an order. */
export const customerOrders: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/orders/confirm",
    summary: "Order what is in my cart (201); asked again, the same order (200)",
    access: isCustomer,
    body: Confirm,
    response: ConfirmResponse,
    status: 201,
    otherStatus: 200,
    message: "order_placed",
    errors: [
      "cart_not_found",
      "cart_not_active",
      "cart_empty",
      "cart_item_unavailable",
      "market_not_found",
      "address_not_found",
      "address_required",
      "payment_method_not_found",
      "invalid_payment_method",
      "insufficient_wallet_balance",
      "insufficient_stock",
      "gateway_not_configured",
      "gateway_unavailable",
      "back_ref_required",
      "back_ref_not_allowed",
      "service_not_found",
      "delivery_service_not_available",
      "invalid_coordinates",
      "invalid_package",
      "unit_size_or_dimensions_required",
      "can_not_use_this_delivery_for_this_unit_size",
    ],
    async run({ db, body, language }) {
      const wish = {
        cart_id: body.cartId,
        market_id: body.marketId,
        delivery_service_id: body.deliveryServiceId,
        payment_method_type_id: body.paymentMethodTypeId,
        address_id: body.addressId ?? undefined,
        address: body.address ?? undefined,
        save_to_address_book: body.save_to_address_book ?? false,
        customer_notes: body.customer_notes ?? undefined,
        ...returnTo(body),
      };
      await measureFirst(db, wish, "storefront.order_road_distance_missing");
      const { order, payment_type, payment_id, is_new } = await db.call<Confirmed>(
        "storefront.order_confirm",
        wish,
      );
      const cash = { amount: order.totalPrice, currency: order.currency };
      const dueAtDoor = payment_type === "cash_on_delivery" && order.paymentStatus !== "paid" &&
        order.status !== "cancelled";
      const instructions = dueAtDoor
        ? translate(language(), "pay_at_the_door", cash)
        : payment_id
        ? await openPayment(payment_id)
        : null;
      return { paymentType: payment_type, order, instructions, [status]: is_new ? 201 : 200 };
    },
  }),
  endpoint({
    method: "get",
    path: "/orders/:order_id/payment-status",
    summary: "How the payment of my order stands",
    access: isCustomer,
    params: ids("order_id"),
    response: PaymentStatusResponse,
    errors: ["order_not_found"],
    async run({ db, params }) {
      const read = () =>
        db.call<{ order: Order; check: string | null }>("storefront.order_payment_status", params);
      const { order, check } = await read();
      if (!check || !await asked(check)) return { order };
      return { order: (await read()).order };
    },
  }),
  endpoint({
    method: "get",
    path: "/my/orders",
    summary: "My orders",
    access: isCustomer,
    query: myOrders.query,
    response: MyOrdersResponse,
    async run({ db, query }) {
      const { data, ...page } = await myOrders.answer(db, query);
      const orders = data.map((row) => ({
        ...inEveryList(row),
        totalPrice: row.total_price,
        currency: row.currency,
        market: { id: row.market_id, name: row.store_name },
      }));
      return { data: orders, ...page };
    },
  }),
];

/** Asks the gateway. If it is unavailable, the answer has what is known, and cron asks again. */
async function asked(payment: string): Promise<boolean> {
  try {
    return await checkPayment({ payment }, 10) === "asked";
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    log("warn", "payment_check_failed", describeError(error));
    return false;
  }
}
