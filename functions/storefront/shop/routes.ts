import { anyone, open } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, status } from "../../../shared/api/endpoint.ts";
import { listStep, stepOf } from "../../../shared/api/cursor.ts";
import { answerOf, answerWhole } from "../../../shared/api/list.ts";
import {
  ByDomain,
  Joined,
  ShopCategories,
  ShopProductResponse,
  ShopProducts,
  shopProducts,
  ShopResponse,
  StoreName,
  StoreProduct,
} from "./schemas.ts";

const tenant = "none";

/** The open shop: what anybody finds of a live market, and the way in for those who want to buy. */
export const shop: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/public/markets",
    summary: "The live market of a connected domain",
    access: open(),
    tenant,
    query: ByDomain,
    response: ShopResponse,
    errors: ["market_not_found"],
    run: async ({ db, query }) => ({ market: await db.call("storefront.shop_get", query) }),
  }),
  endpoint({
    method: "get",
    path: "/public/markets/:store_name",
    summary: "A live market by its store name",
    access: open(),
    tenant,
    params: StoreName,
    response: ShopResponse,
    errors: ["market_not_found"],
    run: async ({ db, params }) => ({ market: await db.call("storefront.shop_get", params) }),
  }),
  endpoint({
    method: "get",
    path: "/public/markets/:store_name/categories",
    summary: "Categories of a live market",
    access: open(),
    tenant,
    params: StoreName,
    response: ShopCategories,
    errors: ["market_not_found"],
    run: async ({ db, params }) => answerWhole(await db.call("storefront.shop_categories", params)),
  }),
  endpoint({
    method: "get",
    path: "/public/markets/:store_name/products",
    summary: "List the products of a live market",
    access: open(),
    tenant,
    params: StoreName,
    query: shopProducts.query,
    response: ShopProducts,
    errors: ["market_not_found"],
    async run({ db, params, query }) {
      const { keyset, page, limit, filters, column_filters: _, times: __, ...asked } = query;
      const wanted = { ...params, ...asked, ...filters };
      if (keyset) {
        const step = { ...wanted, limit: keyset.size, after: keyset.after };
        const read = await db.call<{ rows: Record<string, unknown>[] }>(
          "storefront.shop_products",
          step,
        );
        const { rows, position, more } = stepOf(keyset, read.rows);
        return {
          ...answerOf({ rows, page, limit, total: rows.length }),
          [listStep]: { position, more },
        };
      }
      const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
      const found = await db.call<{ rows: Record<string, unknown>[]; total: number }>(
        "storefront.shop_products",
        { ...wanted, limit, offset },
      );
      return answerOf({ ...found, page, limit });
    },
  }),
  endpoint({
    method: "get",
    path: "/public/markets/:store_name/products/:product_id",
    summary: "A product on sale, with what buyers say",
    access: open(),
    tenant,
    params: StoreProduct,
    response: ShopProductResponse,
    errors: ["market_not_found", "product_not_found"],
    run: async ({ db, params }) => ({ product: await db.call("storefront.shop_product", params) }),
  }),
  endpoint({
    method: "post",
    path: "/public/markets/:store_name/join",
    summary: "Become a customer of the market's company; refresh the token afterwards",
    access: anyone(),
    tenant,
    params: StoreName,
    response: Joined,
    otherStatus: 201,
    message: "shop_joined",
    errors: ["market_not_found"],
    async run({ db, params }) {
      const data = await db.call<{ joined: boolean }>("storefront.shop_join", params);
      return { data, [status]: data.joined ? 201 : 200 };
    },
  }),
];
