import { z } from "zod";
import { needBoth } from "../../../shared/schemas/address.ts";
import {
  Id,
  JsonObject,
  Latitude,
  listResponse,
  Longitude,
  LongText,
  Person,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { backRefs } from "../../../shared/payment-gateways/back-ref.ts";
import { maxBytes, maxContactBytes } from "../../../shared/schemas/sizes.ts";
import { StoredLocalizedText } from "../schemas.ts";

export const methods = ["wallet", "cash_on_delivery", "gateway"] as const;
export const Method = z.enum(methods);
export const statuses = [
  "pending",
  "awaiting_approval",
  "approved",
  "confirmed",
  "shipped",
  "delivered",
  "completed",
  "cancelled",
] as const;
/** The share of the order that reached its customer. */
export const fulfilments = ["none", "partial", "full", "returned"] as const;
const Fulfilment = z.enum(fulfilments);
const PaymentStatus = z.enum(["pending", "paid", "failed"]);
export const reasons = [
  "customer_request",
  "out_of_stock",
  "fraud",
  "payment_failed",
  "other",
] as const;

const Contact = maxBytes(
  maxContactBytes,
  z.looseObject({
    name: z.string().trim().max(200).nullish().meta({
      description: "Who receives the order: its customer unless said",
    }),
    phone: z.string().trim().max(40).nullish(),
    email: z.string().trim().max(320).nullish(),
  }),
);

const Address = z.object({
  full_address: LongText.min(1),
  city: Text.nullish(),
  country: Text.nullish(),
  lat: Latitude.nullish(),
  long: Longitude.nullish(),
  contact_info: Contact.nullish(),
}).transform(({ lat, long, ...address }, context) => {
  needBoth(lat ?? null, long ?? null, context, ["lat", "long"]);
  return { ...address, latitude: lat ?? null, longitude: long ?? null };
}).meta({ id: "OrderAddress" });

export const Confirm = z.object({
  cartId: Id,
  marketId: Id,
  deliveryServiceId: Id,
  paymentMethodTypeId: Id,
  addressId: Id.nullish(),
  address: Address.nullish(),
  save_to_address_book: z.boolean().nullish(),
  ...backRefs,
  customer_notes: LongText.nullish(),
}).superRefine((body, context) => {
  if (!body.addressId && !body.address) {
    context.addIssue({ code: "custom", path: ["addressId"], message: "address_required" });
  }
}).meta({ id: "ConfirmOrder" });

/** Where a parcel goes. */
const DeliveryAddress = z.object({
  full_address: z.string(),
  city: z.string().nullable(),
  country: z.string().nullable(),
  latitude: z.number().nullable(),
  longitude: z.number().nullable(),
  contact_info: JsonObject,
}).describe(
  "Where the parcel goes, as it was last redirected; the order's own address stays as agreed",
)
  .meta({ id: "OrderDeliveryAddress" });

const Payment = z.object({
  id: Id,
  type: z.string(),
  status: z.enum(["pending", "SUCCESS", "FAILED", "CANCELLED"]),
  payment_method: Method,
  amount: z.number(),
  gateway_transaction_id: z.string().nullable(),
  created_at: Timestamp,
  processed_at: Timestamp.nullable(),
}).meta({ id: "OrderPayment" });

/** As its customer sees it. */
export const CustomerOrder = z.object({
  id: Id,
  order_number: z.string(),
  status: z.enum(["pending", "approved", "shipped", "delivered", "cancelled"]),
  paymentStatus: PaymentStatus,
  paymentMethod: Method,
  subtotal: z.number(),
  taxAmount: z.number(),
  deliveryFee: z.number(),
  discountAmount: z.number(),
  totalPrice: z.number(),
  currency: z.string(),
  totalItems: z.int(),
  fulfilment: Fulfilment,
  customerNotes: z.string().nullable(),
  shippingAddress: JsonObject,
  deliveryAddresses: z.array(DeliveryAddress).describe(
    "Where its parcels go, each address once: another than `shippingAddress` once the store redirected one",
  ),
  refund_due: z.boolean().describe(
    "Money is owed to the customer: the store's wallet was short when the order ended, or money came that fits no payment of it and is not settled yet",
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  items: z.array(z.object({
    id: Id,
    variantId: Id,
    productId: Id,
    productName: StoredLocalizedText,
    sku: z.string(),
    attributes: JsonObject,
    images: z.array(z.string()),
    quantity: z.int(),
    unitPrice: z.number(),
    total: z.number(),
    short: z.int().describe(
      "How many of it the shop had not, and left out of the order and its price; `quantity` and `total` stay as ordered",
    ),
  })),
  market: z.object({
    id: Id,
    name: z.string(),
    settings: z.object({ currency: z.string(), deliveryFee: z.number() }),
  }).nullable(),
  payments: z.array(Payment),
}).meta({ id: "CustomerOrder" });

export const Instructions = z.object({
  redirect_url: z.string(),
  gateway_order_id: z.string(),
  expires_at: Timestamp,
}).meta({ id: "DeliveryInstructions" });
export const ConfirmResponse = z.object({
  paymentType: Method,
  order: CustomerOrder,
  instructions: z.union([Instructions, z.string(), z.null()]),
});
export const PaymentStatusResponse = z.object({ order: CustomerOrder });

const Listed = {
  id: Id,
  order_number: z.string(),
  paymentMethod: Method,
  paymentStatus: PaymentStatus,
  fulfilment: Fulfilment,
  totalItems: z.int(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};
export const OrdersResponse = z.object({
  orders: z.array(z.object({
    ...Listed,
    status: z.enum(statuses),
    shippingAddress: z.object({ city: z.string().nullable() }),
    deliveryFee: z.number(),
    discountAmount: z.number(),
    finalAmount: z.number(),
  })),
  pagination: z.object({
    page: z.int(),
    limit: z.int(),
    total: z.int(),
    totalPages: z.int(),
  }),
  stats: z.object({
    totalOrders: z.int(),
    pendingOrders: z.int(),
    outForDelivery: z.int(),
    deliveredToday: z.int(),
  }),
});
export const MyOrdersResponse = listResponse(z.object({
  ...Listed,
  status: z.string(),
  totalPrice: z.number(),
  currency: z.string(),
  market: z.object({ id: Id, name: z.string() }),
}));

/** One for each warehouse that an order leaves. */
export const Deliveries = z.array(z.object({
  delivery_id: Id,
  warehouse_id: Id,
  tracking_number: z.string(),
  status: z.string(),
  delivery_address: DeliveryAddress,
  items: z.array(z.object({
    id: Id,
    product_name: StoredLocalizedText,
    sku: z.string(),
    quantity: z.int(),
  })),
}));

/** As administrators see one. */
export const Order = z.object({
  id: Id,
  order_number: z.string(),
  user_id: Id,
  market_id: Id,
  status: z.enum(statuses),
  payment_method: Method,
  payment_status: PaymentStatus,
  subtotal: z.number(),
  tax_amount: z.number(),
  shipping_cost: z.number(),
  discount_amount: z.number(),
  total_price: z.number(),
  total_items: z.int(),
  currency: z.string(),
  delivery_service_id: Id,
  address_id: Id.nullable(),
  customer_notes: z.string().nullable(),
  admin_notes: z.string().nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  approved_at: Timestamp.nullable(),
  approved_by: Id.nullable(),
  shipped_at: Timestamp.nullable(),
  delivered_at: Timestamp.nullable(),
  cancelled_at: Timestamp.nullable(),
  cancel_reason: z.enum(reasons).nullable(),
  estimated_delivery: Timestamp.nullable(),
  customer: z.object({
    id: Id,
    full_name: z.string().nullable(),
    email: z.string().nullable(),
    phone: z.string().nullable(),
  }).nullable(),
  shipping_address: JsonObject,
  items: z.array(z.object({
    id: Id,
    product_id: Id,
    product_name: StoredLocalizedText,
    images: z.array(z.string()),
    quantity: z.int(),
    unit_price: z.number(),
    total: z.number(),
    variant: z.object({ id: Id, sku: z.string(), attributes: JsonObject }),
    warehouse_item: z.object({ id: Id, name: z.string(), sku: z.string() }).nullable(),
  })),
  payments: z.array(Payment.extend({ gateway_code: z.string().nullable() })),
  refunded_amount: z.number().describe(
    "What of the payment went back, to the customer's wallet or at the gateway; the order stays `paid`",
  ),
  refund_due_amount: z.number().describe(
    "The amount that should have gone back when the order ended, and is still owed since the store's wallet was short; `refund` gives it",
  ),
  status_history: z.array(z.object({
    status: z.string(),
    timestamp: Timestamp,
    note: z.string().nullable(),
    updated_by: Id.nullable(),
  })),
  delivery_assignment: z.object({
    delivery_id: Id,
    delivery_code: z.int(),
    tracking_number: z.string(),
    status: z.string(),
    delivery_address: DeliveryAddress,
    driver_assigned: z.boolean(),
    driver: Person.nullable(),
  }).nullable(),
  fulfilment: Fulfilment,
  deliveries: Deliveries,
  short: z.array(z.object({
    item: z.object({ id: Id, product_name: StoredLocalizedText, sku: z.string() }),
    ordered: z.int(),
    picked: z.int(),
    accepted: z.boolean(),
  })).describe(
    "The goods not found during picking. `picked`: recorded as picked so far, in every warehouse; `accepted`: the order is sent without",
  ),
}).meta({ id: "StoreOrder" });
export const OrderResponse = z.object({ data: z.object({ order: Order }) });
