/** The storefront: people join, buy, and pay at the door, by wallet, or by card at the simulated gateway. */
import { setTimeout as sleep } from "node:timers/promises";
import { DemoFailure, done, type Person } from "./barid.ts";
import type { Count } from "./count.ts";
import { type Job, nothing } from "./drivers.ts";
import type { DemoOptions } from "./options.ts";
import { fund, type World } from "./people.ts";
import type { Plan, Purchase } from "./plan.ts";
import { each, type Progress } from "./progress.ts";

export interface Shop {
  market: string;
  name: string;
  /** On sale, by the number of the goods. */
  variants: string[];
  methods: Map<string, string>;
}

const host = "suq.demo.test";

/** Puts the day's goods on sale in the tenant's store. */
export async function openShop(world: World, plan: Plan, local: boolean): Promise<Shop> {
  const { barid } = world.admin;
  const { data: { market } } = await done(barid.GET("/storefront/market"));
  const variants = await each(plan.goods, async ({ price }, n) => {
    const { data } = await done(barid.POST("/storefront/products", {
      body: {
        name: { en: `Goods ${n + 1}`, ar: `بضاعة ${n + 1}`, ku: `کاڵای ${n + 1}` },
        variants: [{ sku: `G${n + 1}-${world.run}`, price, inventory_item_id: world.goods[n] }],
      },
    }));
    return data.variants[0].id;
  });
  if (local) {
    await done(barid.PUT("/tenants/{tenantId}/settings", {
      params: { path: { tenantId: world.tenant } },
      body: { general: { storefront: { settings: { return_hosts: [host] } } } },
    }));
    await done(barid.PUT("/payment/gateways/{gateway_code}", {
      params: { path: { gateway_code: "gatewayone" } },
      body: {
        is_active: true,
        settings: { terminal: "LOCAL001" },
        secrets: { username: "suq", password: "any" },
      },
    }));
  }
  const { data: methods } = await done(barid.GET("/storefront/payment-methods", {
    params: { query: { marketId: market.id } },
  }));
  return {
    market: market.id,
    name: market.store_name,
    variants,
    methods: new Map(methods.map(({ code, id }) => [code, id])),
  };
}

/** The buyers, and the deliveries of their orders. */
export interface Sold {
  buyers: Person[];
  jobs: Job[];
}

/** Every purchase by a customer of its own: ordered, paid, and approved or cancelled by the shop. */
export async function sell(
  world: World,
  shop: Shop,
  plan: Plan,
  options: DemoOptions,
  count: Count,
  progress: Progress,
): Promise<Sold> {
  const sold = await each(plan.purchases, async (purchase, n) => {
    const buyer = await join(
      world,
      shop,
      `buyer-${n + 1}.${world.run}@demo.test`,
      options.password,
    );
    const job = await buy(world, shop, buyer, purchase, count);
    progress.step();
    return { buyer, job };
  });
  return {
    buyers: sold.map(({ buyer }) => buyer),
    jobs: sold.flatMap(({ job }) => job ? [job] : []),
  };
}

async function join(world: World, shop: Shop, email: string, password: string): Promise<Person> {
  const full_name = "زهراء محمود";
  const buyer = world.system.visitor(full_name);
  const { data, error } = await buyer.supabase.auth.signUp({
    email,
    password,
    options: { data: { full_name } },
  });
  if (error || !data.user) throw new DemoFailure(`${email}: ${error?.message}`);
  if (!data.session) await confirm(world, buyer, email);
  await done(buyer.barid.POST("/storefront/public/markets/{store_name}/join", {
    params: { path: { store_name: shop.name } },
  }));
  // The token was made before its bearer belonged anywhere.
  await buyer.supabase.auth.refreshSession();
  return { ...buyer, id: data.user.id };
}

/** Follows the mail that confirms an address, which only a stack of this machine shows. */
async function confirm(world: World, buyer: Person, email: string): Promise<void> {
  const inbox = await fetch(`${world.system.url}/mail/messages?to=${encodeURIComponent(email)}`);
  const { messages: [mail] } = inbox.ok ? await inbox.json() : { messages: [] };
  if (!mail) throw new DemoFailure(`${email} has to be confirmed, and its mailbox is not here`);
  const { error } = await buyer.supabase.auth.verifyOtp({
    email,
    token: mail.token,
    type: "email",
  });
  if (error) throw new DemoFailure(`${email}: ${error.message}`);
}

/** One purchase up to what its driver has to do, if anything. */
async function buy(
  world: World,
  shop: Shop,
  buyer: Person,
  purchase: Purchase,
  count: Count,
): Promise<Job | undefined> {
  if (purchase.method === "wallet") {
    await fund(world, buyer, 1_000_000);
    count.wallets.buyers += 1_000_000;
  }
  const { order, instructions } = await place(world, shop, buyer, purchase);
  count.numbers.purchases++;
  if (purchase.method === "wallet") count.wallets.buyers -= order.totalPrice;
  if (typeof instructions === "object" && instructions) {
    await payByCard(buyer, order.id, instructions.redirect_url);
  }
  const at = { params: { path: { order_id: order.id } } };
  if (purchase.cancelled) {
    await done(world.admin.barid.PUT("/storefront/orders/{order_id}/cancel", {
      ...at,
      body: { reason: "out_of_stock" },
    }));
    if (purchase.method === "wallet") count.wallets.buyers += order.totalPrice;
    return undefined;
  }
  const { data } = await done(world.admin.barid.PUT("/storefront/orders/{order_id}/approve", {
    ...at,
    body: {},
  }));
  const delivery = data.delivery_assigned?.delivery_id;
  if (!delivery) throw new DemoFailure(`order ${order.order_number} has no delivery`);
  await pick(world, data.order.id, data.order.order_number);
  count.ordered(delivery);
  const units = purchase.lines.reduce((sum, { quantity }) => sum + quantity, 0);
  count.numbers.sold += units;
  count.stock.main.available -= units;
  const cod = purchase.method === "cash_on_delivery" ? order.totalPrice : 0;
  return {
    driver: purchase.driver,
    delivery,
    parcel: delivery,
    outcome: "delivered",
    evening: purchase.evening,
    cash: { pickup: nothing, door: { fee: false, cod } },
    isOfStore: true,
    handoff: false,
  };
}

/** The main warehouse has all of it and is told to fetch it; it waits there for its driver. */
async function pick(world: World, order: string, number: string): Promise<void> {
  const { orders } = await done(world.manager.barid.GET("/warehousing/picking-orders", {
    params: { query: { search: number, warehouse_id: world.main.id } },
  }));
  const task = orders.find(({ order_id }) => order_id === order);
  if (!task) throw new DemoFailure(`nobody is told to pick order ${number}`);
  await done(world.admin.barid.PUT("/warehousing/picking-orders/{picking_order_id}", {
    params: { path: { picking_order_id: task.id } },
    body: { status: "completed" },
  }));
}

async function place({ service }: World, shop: Shop, { barid }: Person, purchase: Purchase) {
  const { data: cart } = await done(barid.POST("/storefront/carts", {
    body: { marketId: shop.market },
  }));
  for (const { goods, quantity } of purchase.lines) {
    await done(barid.POST("/storefront/carts/{cart_id}/items", {
      params: { path: { cart_id: cart.id } },
      body: { variantId: shop.variants[goods], quantity },
    }));
  }
  return await done(barid.POST("/storefront/orders/confirm", {
    body: {
      cartId: cart.id,
      marketId: shop.market,
      deliveryServiceId: service,
      paymentMethodTypeId: shop.methods.get(purchase.method)!,
      address: {
        full_address: "الكرادة، شارع ٦٢، دار ٩",
        city: "Baghdad",
        country: "IQ",
        lat: 33.3001,
        long: 44.4252,
        contact_info: { phone: "+9647801112233" },
      },
      ...(purchase.method === "gatewayone" ? { backRef: `https://${host}/thanks` } : {}),
    },
  }));
}

/** Presses "pay" on the gateway's page, and waits until the gateway has told Barid. */
async function payByCard({ barid }: Person, order_id: string, page: string): Promise<void> {
  await fetch(page, { method: "POST", body: new URLSearchParams({ decision: "pay" }) });
  for (let tries = 0; tries < 300; tries++) {
    const { order } = await done(barid.GET("/storefront/orders/{order_id}/payment-status", {
      params: { path: { order_id } },
    }));
    if (order.paymentStatus === "paid") return;
    await sleep(100);
  }
  throw new DemoFailure(`the payment of order ${order_id} did not arrive`);
}
